"""Classes that are added to those of a classifier, whose images are gone."""

from typing import Any

import numpy as np

from prwn_tf.heads.classes import Classes, stranger_distance
from prwn_tf.serving import answers
from prwn_tf.serving.answers import ServedClasses
from prwn_tf.serving.classifier import FewShotClassifier
from prwn_tf.serving.folders import as_read
from prwn_tf.serving.inputs import InputError


def add_classes(
    classifier: FewShotClassifier, embeddings: np.ndarray, labels: list[Any]
) -> None:
    """Teaches a classifier further classes, from embeddings [n, D] and labels [n].

    What it knows of the others stays: their prototypes and counts, temperature and
    novelty. How far a stranger is becomes the mean over all images, as far as it can
    be told without the old ones.
    """
    old, names = classifier.served_, sorted(set(labels))
    known = {as_read(str(name)): str(name) for name in classifier.classes_}
    if twice := [name for name in names if as_read(str(name)) in known]:
        spelled = known[as_read(str(twice[0]))]
        other = f", as {spelled!r}" if spelled != str(twice[0]) else ""
        raise InputError(
            f"the class {twice[0]!r} is there already{other}; a class is added whole: "
            "give it another name, or learn all classes anew from their images"
        )
    count = len(classifier.classes_)  # N
    codes = np.array([names.index(label) for label in labels], np.int32)  # [n]
    support = answers.labeled(embeddings, codes)
    counts = support.counts.numpy()  # [M]
    means = support.labels.numpy().T @ embeddings / counts[:, None]  # [M, D]
    offsets = _spread(old.offsets, classifier.counts_) / counts  # [M]
    prototypes = np.concatenate([old.prototypes, means])  # [N + M, D]
    offsets = np.concatenate([old.offsets, offsets])  # [N + M]

    mine = np.zeros((len(embeddings), len(prototypes)), np.float32)  # [n, N + M]
    mine[:, count:] = support.labels
    stranger = stranger_distance(embeddings, mine, Classes(prototypes, offsets))
    # Of the old images prototypes are left, which may have a new neighbour.
    new = Classes(means, offsets[count:])
    near = np.min(new.distances(old.prototypes), axis=-1)  # [N]
    strangers = np.append(np.minimum(old.stranger, near), stranger)
    weights = np.append(classifier.counts_, counts.sum())

    every = np.concatenate([classifier.classes_, np.array(names)])
    order = np.argsort(every, kind="stable")
    classifier.classes_ = every[order]
    classifier.counts_ = np.concatenate([classifier.counts_, counts])[order]
    classifier.served_ = ServedClasses(
        prototypes=prototypes[order],
        offsets=offsets[order].astype(np.float32),
        stranger=np.float32(np.average(strangers, weights=weights)),
        temperature=old.temperature,
        novelty=old.novelty,
    )


def _spread(offsets: np.ndarray, counts: np.ndarray) -> np.float32:
    """Returns how far images are from their class, read off the noise of prototypes.

    That noise is the spread divided by the number of images. Unlabelled ones, which
    moved a class, are not among the counts, so it is the least that it can be. Without
    noise, nothing is known of the spread, and new prototypes have none either.
    """
    return np.max(offsets * counts)  # [N], [N]
