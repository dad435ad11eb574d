"""From embeddings to classes, and to answers: what exports and the classifier compute.

N classes, n labelled images, B images to classify, U unlabelled images, D numbers in an
embedding. What is not known of a model is NaN: its temperature if it is uncalibrated,
and how to tell strangers if there were too few classes to learn that from.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from prwn_tf.evaluation import curves
from prwn_tf.evaluation.calibration import Calibration
from prwn_tf.evaluation.curves import LogisticCurve
from prwn_tf.heads import gate
from prwn_tf.heads import prototypes as heads
from prwn_tf.heads.classes import Classes, stranger_distance
from prwn_tf.walk import statistics


class Labeled(NamedTuple):
    """Images that somebody has labelled, any number of each class."""

    points: tf.Tensor  # [n, D]
    labels: tf.Tensor  # [n, N] one-hot

    @property
    def counts(self) -> tf.Tensor:
        """The images of each class: [N]."""
        return tf.reduce_sum(self.labels, axis=0)


class ServedClasses(NamedTuple):
    """All that images need to be classified."""

    prototypes: tf.Tensor  # [N, D]
    offsets: tf.Tensor  # [N] subtracted from squared distances to them
    stranger: tf.Tensor  # [] squared distance of a stranger, by the support
    temperature: tf.Tensor  # [] divides the scores
    novelty: tf.Tensor  # [4] two weights, bias and threshold, as in `Novelty`


class NamedClasses(NamedTuple):
    """Classes with what people call them."""

    names: list[str]  # [N]
    served: ServedClasses


class Answered(NamedTuple):
    """What is made of some images."""

    labels: tf.Tensor  # [B]
    probabilities: tf.Tensor  # [B, N]
    scores: tf.Tensor  # [B, N] log-odds, up to a number for each image
    none_of_these: tf.Tensor  # [B] how likely it belongs to none of the classes


def labeled(embeddings: tf.Tensor, labels: tf.Tensor) -> Labeled:
    """Returns embeddings [n, D] with their labels 0..N-1 [n], if none is left out."""
    counts = tf.math.bincount(labels)  # [N]
    message = "every label from 0 to the highest needs an image"
    with tf.control_dependencies([tf.debugging.assert_positive(counts, message)]):
        return Labeled(
            tf.convert_to_tensor(embeddings),
            tf.one_hot(labels, tf.size(counts), dtype=embeddings.dtype),
        )


def learn(
    adapt: str, support: Labeled, unlabeled: tf.Tensor, calibration: Calibration | None
) -> tuple[ServedClasses, tf.Tensor]:
    """Returns classes, and how far unlabelled images [U, D] moved them: [U]."""
    classes, belongs = moved(adapt, support, unlabeled)
    # As many shots as each class has, on the scale of ratios.
    shots = tf.reduce_mean(tf.math.log(support.counts))
    numbers = interpolated(shots, *_knots(calibration, adapt))
    served = ServedClasses(
        prototypes=classes.prototypes,
        offsets=classes.offsets,
        stranger=stranger_distance(*support, classes),
        temperature=tf.exp(numbers[0]),
        novelty=numbers[1:],
    )
    return served, belongs


def moved(
    adapt: str, support: Labeled, unlabeled: tf.Tensor
) -> tuple[Classes, tf.Tensor]:
    """Returns classes that unlabelled images have moved, and how far: [U] in 0..1."""
    if adapt == "gate":
        classes, weights = gate.gate(*support, unlabeled)
        return classes, tf.reduce_sum(weights, axis=-1)
    means = tf.linalg.matmul(support.labels, support.points, transpose_a=True)
    means /= support.counts[:, None]  # [N, D]
    weights = WEIGHTS[adapt](means, unlabeled)  # [U]
    share = heads.shares(means, unlabeled) * weights[:, None]  # [U, N]
    counts = support.counts[:, None]  # [N, 1]
    means = heads.moved_sums(means * counts, counts, unlabeled, share)
    return Classes(means, tf.zeros_like(support.counts)), weights


def trust(means: tf.Tensor, unlabeled: tf.Tensor) -> tf.Tensor:
    """Returns 1 for the points [U, D] that the walk's filter keeps, else 0: [U]."""
    return statistics.keep_above_median(statistics.log_success(means, unlabeled))


# Adaptation -> means [N, D] and unlabelled points [U, D] -> weights of these [U].
WEIGHTS: dict[str, Callable[[tf.Tensor, tf.Tensor], tf.Tensor]] = {
    "none": lambda _, unlabeled: tf.zeros_like(unlabeled[:, 0]),
    "refine": lambda _, unlabeled: tf.ones_like(unlabeled[:, 0]),
    "filter": trust,
}


def classify(classes: ServedClasses, embeddings: tf.Tensor) -> Answered:
    """Returns what is made of images that were embedded already: [B, D]."""
    prototypes, offsets, stranger, temperature, novelty = classes
    distances = Classes(prototypes, offsets).distances(embeddings)  # [B, N]
    divisor = tf.where(tf.math.is_nan(temperature), 1.0, temperature)
    scores = -distances / divisor
    stranger = tf.maximum(stranger, curves.TINY)
    nearest = tf.maximum(tf.reduce_min(distances, axis=-1), curves.TINY * stranger)
    to_nearest, to_stranger, bias, _ = tf.unstack(tf.convert_to_tensor(novelty))
    unlike = to_nearest * tf.math.log(nearest) + to_stranger * tf.math.log(stranger)
    return Answered(
        labels=tf.argmax(scores, axis=-1, output_type=tf.int32),
        probabilities=tf.nn.softmax(scores),
        scores=scores,
        none_of_these=tf.sigmoid(unlike + bias),
    )


def classify_by_name(
    classes: NamedClasses, embeddings: tf.Tensor
) -> dict[str, tf.Tensor]:
    """Returns what is made of images, in words, a row for each: [B, D].

    Answers that all have a row for each image are what a server can send as a list. Of
    strangers nothing is said if nothing is known: JSON has no NaN.
    """
    answered = classify(classes.served, embeddings)
    names = tf.constant(classes.names)  # [N]
    answer = {
        "label": tf.gather(names, answered.labels),  # [B]
        "names": tf.repeat(names[None], tf.shape(embeddings)[0], axis=0),  # [B, N]
        "probabilities": answered.probabilities,  # [B, N]
    }
    if not np.isnan(classes.served.novelty).any():
        answer["none_of_these"] = answered.none_of_these  # [B]
    return answer


def interpolated(place: tf.Tensor, knots: np.ndarray, values: np.ndarray) -> tf.Tensor:
    """Returns values [K, M] between knots [K] that ascend, at a place []: [M]."""
    if len(knots) == 1:
        return tf.constant(values[0])
    place = tf.clip_by_value(place, knots[0], knots[-1])
    after = 1 + tf.reduce_sum(tf.cast(place >= knots[1:-1], tf.int32))
    low, high = tf.gather(knots, after - 1), tf.gather(knots, after)
    share = (place - low) / (high - low)
    return (1 - share) * tf.gather(values, after - 1) + share * tf.gather(values, after)


def _knots(
    calibration: Calibration | None, adapt: str
) -> tuple[np.ndarray, np.ndarray]:
    """Returns logarithms of shots [K], and what was fitted there [K, 5].

    That is the logarithm of the temperature, then the four numbers of `novelty`.
    """
    shots = sorted({fit.shot for fit in calibration.fits}) if calibration else [1]
    values = np.full((len(shots), 5), np.nan, np.float32)
    for row, shot in zip(values, shots, strict=True):
        # Without assignments in conditions, of which AutoGraph warns.
        temperature = calibration and calibration.temperature(adapt, shot)
        if temperature:
            row[0] = math.log(temperature)
        novelty = calibration and calibration.novelty(adapt, shot)
        if novelty:
            row[1:] = [getattr(novelty, name) for name in LogisticCurve._fields]
    return np.log(shots).astype(np.float32), values
