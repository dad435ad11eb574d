"""Curves between what a model says and what is so, from answers to validation episodes.

Nothing here loads TensorFlow.
"""

import math
from typing import NamedTuple

import numpy as np

FALSE_ALARMS = 0.05  # share of a class's own images that count as none of the classes
TINY = 1e-6  # share of a stranger's distance that is as good as none
BINS = 15  # of confidence, for the calibration error


class LogisticCurve(NamedTuple):
    """sigmoid(nearest log d + stranger log r + bias), and where few own images are."""

    nearest: float
    stranger: float
    bias: float
    threshold: float


def fitted_temperature(scores: np.ndarray, labels: np.ndarray) -> float:
    """Returns the temperature of the greatest likelihood: [n, C], [n].

    The negative log-likelihood is convex in the inverse of the temperature, so thirds
    of an interval are left out until it is small enough.
    """
    scores = scores - scores.max(axis=-1, keepdims=True)
    right = scores[np.arange(len(labels)), labels]
    low, high = math.log(1e-4), math.log(1e4)  # of the inverse, about the scale below
    scale = max(float(np.mean(-scores)), 1e-12)

    def loss(log_inverse: float) -> float:
        inverse = math.exp(log_inverse) / scale
        total = np.log(np.exp(scores * inverse).sum(axis=-1))
        return float(np.mean(total - right * inverse))

    while high - low > 1e-3:
        third = (high - low) / 3
        if loss(low + third) < loss(high - third):
            high -= third
        else:
            low += third
    return scale / math.exp((low + high) / 2)


def fitted_curve(own: np.ndarray, strangers: np.ndarray) -> LogisticCurve:
    """Returns the logistic curve between features of own images and of strangers.

    [n, 2], [m, 2] as `log_distances` has them; both count half, whatever their numbers.
    Above its threshold are 5 % of the own images.
    """
    x = np.concatenate([own, strangers])
    design = np.concatenate([x, np.ones((len(x), 1))], axis=1)  # [n + m, 3]
    y = np.repeat([0.0, 1.0], [len(own), len(strangers)])
    weights = np.where(y > 0, 0.5 / len(strangers), 0.5 / len(own))
    beta, ridge = np.zeros(3), 1e-6 * np.eye(3)  # which bounds what is told at once
    for _ in range(50):  # Newton's steps
        p = sigmoid(design @ beta)
        gradient = design.T @ (weights * (p - y)) + ridge @ beta
        hessian = (design.T * (weights * p * (1 - p))) @ design + ridge
        step = np.linalg.solve(hessian, gradient)
        beta -= step * min(1.0, 5.0 / max(np.abs(step).max(), 1e-12))
    likely = sigmoid(design[: len(own)] @ beta)
    return LogisticCurve(
        *map(float, beta), float(np.quantile(likely, 1 - FALSE_ALARMS))
    )


def area(own: np.ndarray, strangers: np.ndarray) -> float:
    """Returns the chance that a stranger's number is above an own image's: [n], [m]."""
    ordered = np.sort(own)
    below = np.searchsorted(ordered, strangers, side="left")
    upto = np.searchsorted(ordered, strangers, side="right")
    return float(np.mean(below + upto) / (2 * len(own)))


def log_distances(distances: np.ndarray, stranger: np.ndarray) -> np.ndarray:
    """Returns the logarithms of distances to the nearest class and to a stranger.

    [...], and one that fits it -> [..., 2]. Offsets may leave a distance below 0.
    """
    stranger = np.maximum(np.asarray(stranger, np.float64), TINY)
    stranger = np.broadcast_to(stranger, np.shape(distances))
    distances = np.maximum(np.asarray(distances, np.float64), TINY * stranger)
    return np.stack([np.log(distances), np.log(stranger)], axis=-1)


def calibration_error(confidences: np.ndarray, correct: np.ndarray) -> float:
    """Returns the mean gap between confidence and accuracy over bins of confidence."""
    gaps = [
        abs(np.mean(right) - np.mean(sure)) * len(sure)
        for sure, right in binned(confidences, correct)
    ]
    return float(sum(gaps) / np.size(confidences))


def binned(
    confidences: np.ndarray, correct: np.ndarray, bins: int = BINS
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Returns the confidences and outcomes of each bin that has any."""
    sure, right = np.ravel(confidences), np.ravel(correct)
    places = np.minimum((sure * bins).astype(int), bins - 1)
    filled = np.unique(places)
    return [(sure[places == place], right[places == place]) for place in filled]


def sigmoid(values: np.ndarray) -> np.ndarray:
    """Returns 1 / (1 + exp(-v)) of values of any size."""
    return np.exp(-np.logaddexp(0, -values))
