"""Folders of images -> what the model makes of each, in memory that stays the same.

Only embeddings of the examples and of the unlabelled images are held; all others pass
through.
"""

import dataclasses
import math
import pathlib
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import tqdm

from prwn_tf import files
from prwn_tf.data import tree
from prwn_tf.errors import UserError
from prwn_tf.serving import inputs
from prwn_tf.serving.classifier import FewShotClassifier
from prwn_tf.serving.folders import ImageFolder
from prwn_tf.serving.models import ServedModel

CLASSES_FILE = "classes.npz"
UNCALIBRATED = "uncalibrated"  # in the place of a probability
HEADER = (
    "file",
    "label",
    "probability",
    "runner_up",
    "margin",
    "none_of_these",
    "problem",
)


@dataclasses.dataclass(frozen=True, slots=True)
class Prediction:
    """What the model makes of an image, or the problem that kept it from looking.

    Attributes:
        probability: of the label; NaN if the model is uncalibrated.
        margin: log-odds of the label against the runner-up.
        none_of_these: the probability that it is of none of the classes, NaN if the
            model does not know strangers.
        novel: whether that is above the threshold.
    """

    path: str
    file: str
    label: str = ""
    probability: float = np.nan
    runner_up: str = ""
    margin: float = np.nan
    none_of_these: float = np.nan
    novel: bool = False
    problem: str = ""

    def row(self) -> list[str]:
        """Returns the cells of a table under `HEADER`."""
        numbers = [self.probability, self.margin, self.none_of_these]
        likely, margin, none = ("" if n != n else f"{n:.6g}" for n in numbers)
        if self.label and not likely:
            likely = UNCALIBRATED
        return [
            *(self.file, self.label, likely, self.runner_up, margin, none),
            self.problem,
        ]

    def line(self) -> str:
        """Returns the answer as text: "a.jpg: cat 0.63, dog 0.21, none of these 0.10".

        The last number is not a share of what the others leave: it says how likely the
        image is of none of the classes, and they which of the classes it would be.
        """
        if math.isnan(self.probability):
            return f"{self.file}: {self.label}, then {self.runner_up} ({UNCALIBRATED})"
        likely = {
            self.label: self.probability,
            self.runner_up: self.probability * math.exp(-self.margin),
        }
        if not math.isnan(self.none_of_these):
            likely["none of these"] = self.none_of_these
        shares = ", ".join(f"{name} {share:.2f}" for name, share in likely.items())
        return f"{self.file}: {shares}"


@dataclasses.dataclass(frozen=True)
class Predictions:
    """Everything that came of a call of `predict`.

    Attributes:
        classifier: what was learned, to be used again.
        support: class -> paths of its examples; none if it was learned before.
        queries, unlabeled: a prediction for each image, in order.
        trusted: paths of the unlabelled images that moved the classes.
        adapt: what the unlabelled images did; "before" if classes were learned before.
    """

    classifier: FewShotClassifier
    support: dict[str, list[str]]
    queries: list[Prediction]
    unlabeled: list[Prediction]
    trusted: frozenset[str]
    adapt: str

    def write(self, folder: pathlib.Path) -> None:
        """Writes classes and tables; none of an earlier call stays beside them."""
        self.classifier.save(folder / CLASSES_FILE)
        rows = (prediction.row() for prediction in self.queries)
        files.write_csv(folder / "predictions.csv", HEADER, rows)
        crowd = folder / "unlabeled.csv"
        if not self.unlabeled:
            files.remove(crowd)
        else:
            files.write_csv(
                crowd,
                ("trusted", *HEADER),
                (
                    ["yes" if each.path in self.trusted else "no", *each.row()]
                    for each in self.unlabeled
                ),
            )

    @property
    def problems(self) -> list[Prediction]:
        """Images that could not be looked at."""
        return [each for each in (*self.queries, *self.unlabeled) if each.problem]


def predict(
    model: ServedModel,
    support: dict[str, list[str]],
    query: ImageFolder,
    unlabeled: ImageFolder | None = None,
    adapt: str | None = None,
) -> Predictions:
    """Learns classes from examples and unlabelled images, and labels the queries."""
    paths, labels = _flat(support)
    embeddings = inputs.embeddings(paths, model)
    crowd, points = [], None
    if unlabeled is not None:
        crowd = list(_embed(unlabeled.paths, model, "learning"))
        if not any(batch.places for batch in crowd):
            raise _none_usable(unlabeled, "unlabeled", crowd[0].problems[0])
        points = np.concatenate([batch.embeddings for batch in crowd])  # [U, D]
    classifier = FewShotClassifier(model).fit_embeddings(
        embeddings, labels, points, adapt
    )
    queries = _label_folder(classifier, model, query)
    others = [] if unlabeled is None else list(_label(classifier, unlabeled, crowd))
    usable = [each.path for each in others if not each.problem]
    verdicts = zip(usable, classifier.belongs_ if usable else (), strict=True)
    return Predictions(
        classifier=classifier,
        support=support,
        queries=queries,
        unlabeled=others,
        trusted=frozenset(path for path, belongs in verdicts if belongs >= 0.5),
        adapt=classifier.adapt_,
    )


def predict_again(
    path: pathlib.Path,
    model: ServedModel,
    query: ImageFolder,
    support: dict[str, list[str]] | None = None,
) -> Predictions:
    """Labels the queries by classes that an earlier `predict` wrote.

    Args:
        support: examples of further classes, which are added to those.
    """
    classifier = FewShotClassifier.load(path, model)
    if support:
        from prwn_tf.serving import adding

        paths, labels = _flat(support)
        adding.add_classes(classifier, inputs.embeddings(paths, model), labels)
    examples = support or {}
    return Predictions(
        classifier=classifier,
        support={
            tree.plain(str(name)): examples.get(str(name), [])
            for name in classifier.classes_
        },
        queries=_label_folder(classifier, model, query),
        unlabeled=[],
        trusted=frozenset(),
        adapt="before",
    )


def _flat(support: dict[str, list[str]]) -> tuple[list[str], list[str]]:
    """Returns the paths of all examples, and the class of each."""
    labels = [name for name, examples in support.items() for _ in examples]
    return [path for examples in support.values() for path in examples], labels


def _label_folder(
    classifier: FewShotClassifier, model: ServedModel, images: ImageFolder
) -> list[Prediction]:
    """Labels all images of a folder, with a progress bar."""
    batches = _embed(images.paths, model, "classifying")
    labelled = list(_label(classifier, images, batches))
    if all(each.problem for each in labelled):
        raise _none_usable(images, "query", labelled[0].problem)
    return labelled


class _EmbeddedBatch(NamedTuple):
    """Some of the images of a folder, in order."""

    embeddings: np.ndarray  # [B, D] of those that can be used
    places: list[int]  # [B] where each of them is
    problems: dict[int, str]  # place -> why it is not among them


def _embed(
    paths: Sequence[str], model: ServedModel, progress: str
) -> Iterator[_EmbeddedBatch]:
    """Embeds images a batch at a time, with a progress bar of that name."""
    total = len(paths)
    with tqdm.tqdm(desc=progress, total=total, unit=" images", disable=None) as bar:
        for loaded in inputs.batches(paths, model):
            embeddings = model.embed(loaded.pixels)
            yield _EmbeddedBatch(embeddings, loaded.places, loaded.problems)
            bar.update(len(loaded.places) + len(loaded.problems))


def _none_usable(images: ImageFolder, flag: str, problem: str) -> UserError:
    """Returns what to say of images of which none can be used."""
    if len(images.paths) == 1:
        return UserError(f"--{flag}={images.paths[0]} {problem}")
    return UserError(
        f"none of the {len(images.paths)} images in --{flag}={images.root} can be "
        f"used: {images.paths[0]} {problem}"
    )


def _label(
    classifier: FewShotClassifier,
    images: ImageFolder,
    batches: Iterable[_EmbeddedBatch],
) -> Iterator[Prediction]:
    """Labels the images of a folder in their order, a batch at a time."""
    names = classifier.classes_
    for batch in batches:
        answers = classifier.answer(batch.embeddings)
        likely = answers.probabilities.max(axis=-1, initial=0)  # [B]
        likely = likely if classifier.calibrated_ else np.full_like(likely, np.nan)
        by_place = {
            place: Prediction(path, images.name(path), problem=reason)
            for place, reason in batch.problems.items()
            for path in [images.paths[place]]
        }
        for row, place in enumerate(batch.places):
            path, best = images.paths[place], answers.best[row]
            by_place[place] = Prediction(
                path=path,
                file=images.name(path),
                label=tree.plain(str(names[best])),
                probability=float(likely[row]),
                runner_up=tree.plain(str(names[answers.runner_up[row]])),
                margin=float(answers.margin[row]),
                none_of_these=float(answers.none_of_these[row]),
                novel=bool(answers.none_of_these[row] > classifier.threshold_),
            )
        yield from (prediction for _, prediction in sorted(by_place.items()))
