"""How far an accuracy can be relied on: intervals of 95 %.

Episodes of many classes are nearly independent of one another, and the interval is over
them. Episodes of few classes ask the same few images again and again: more of them make
the number no surer, so there the interval is over classes.
"""

import math
from typing import NamedTuple

import numpy as np

FEW_CLASSES = 20  # from here on the interval is over episodes, as published
RESAMPLES = 2000  # of the bootstrap over classes
Z = 1.96  # half of the 95 % interval of a normal distribution, in deviations


class Tested(NamedTuple):
    """What episodes were drawn from, and how well each of the classes was told."""

    classes: int
    images: int
    by_class: np.ndarray  # [classes that were asked] share of their queries


def tested(images: int, classes: int, asked: np.ndarray, correct: np.ndarray) -> Tested:
    """Returns what is known of a split of so many images and classes.

    Args:
        asked: [E, N] the classes of each episode.
        correct: [E, Q] whether each query was right; they come class by class.
    """
    shares = correct.reshape(*asked.shape, -1).mean(axis=-1)  # [E, N]
    counts = np.bincount(asked.ravel(), minlength=classes)
    sums = np.bincount(asked.ravel(), shares.ravel(), minlength=classes)
    return Tested(classes, images, sums[counts > 0] / counts[counts > 0])


def half_width(values: np.ndarray) -> float:
    """Returns half the width of the 95 % interval of a mean over episodes: [E].

    A single episode has none, which is NaN, and null in JSON.
    """
    if len(values) < 2:
        return math.nan
    return float(Z * np.std(values) / np.sqrt(len(values)))


def interval(accuracies: np.ndarray, test: Tested) -> float:
    """Returns half the width of the interval of a mean accuracy over episodes: [E].

    Where classes are few it is theirs, and no smaller than that of as many images,
    each asked once. It is never 0.
    """
    over_episodes = half_width(accuracies)
    if math.isnan(over_episodes) or (over_episodes > 0 and not is_over_classes(test)):
        return over_episodes
    least = _of_images(float(np.mean(accuracies)), test.images)
    return max(least, _over_classes(test.by_class)) if is_over_classes(test) else least


def is_over_classes(test: Tested) -> bool:
    """Returns whether classes are so few that the interval is over them."""
    return test.classes < FEW_CLASSES


def plus_minus(interval: float, digits: int) -> str:
    """Returns an interval as it follows its mean in print, if there is one."""
    if math.isnan(interval):
        return ""
    smallest = 10**-digits
    if interval < smallest / 2:
        return f" ± <{smallest:.{digits}f}"
    return f" ± {interval:.{digits}f}"


def _over_classes(by_class: np.ndarray) -> float:
    """Returns half the width of the bootstrap interval of a mean over classes."""
    number = len(by_class)
    random = np.random.Generator(np.random.Philox(0)).random((RESAMPLES, number))
    means = by_class[(random * number).astype(int)].mean(axis=1)  # [RESAMPLES]
    low, high = np.quantile(means, [0.025, 0.975])
    return float(high - low) / 2


def _of_images(share: float, images: int) -> float:
    """Returns half the width of Wilson's interval of a share of some images."""
    spread = share * (1 - share) / images + Z**2 / (4 * images**2)
    return Z * math.sqrt(spread) / (1 + Z**2 / images)
