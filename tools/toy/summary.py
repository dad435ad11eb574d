"""Means over seeds, paired gains, and what may be said of them."""

import dataclasses
from collections.abc import Sequence

import numpy as np
import scipy.stats
from toy.study import Outcome


@dataclasses.dataclass(frozen=True)
class Gain:
    """What the walk adds in points, over seeds that share labels and weights."""

    mean: float
    interval: float  # half-width of the 95 % interval of the mean
    better: int  # seeds on which the walk is above
    seeds: int

    @property
    def verdict(self) -> str:
        """What may be said of the walk."""
        if self.mean - self.interval > 0:
            return "helps"
        if self.mean + self.interval < 0:
            return "hurts"
        return "no clear difference"

    def __str__(self) -> str:
        return (
            f"{self.mean:+.1f} ± {self.interval:.1f} ({self.better} of {self.seeds} "
            f"seeds): {self.verdict}"
        )


def of(outcomes: Sequence[Outcome], model: str) -> list[Outcome]:
    """Returns the outcomes of one model, by seed."""
    chosen = [each for each in outcomes if each.model == model]
    return sorted(chosen, key=lambda each: each.seed)


def mean_and_spread(values: Sequence[float]) -> str:
    """Returns mean and standard deviation over seeds, in per cent."""
    return f"{100 * np.mean(values):.1f} ± {100 * np.std(values, ddof=1):.1f}"


def last(outcomes: Sequence[Outcome], split: str) -> list[float]:
    """Returns the 1-shot accuracy at the end of training, by seed."""
    return [each.one_shot[split] for each in outcomes]


def stopped(outcomes: Sequence[Outcome], split: str) -> list[float]:
    """Returns the 1-shot accuracy at each seed's best step on validation.

    The steps are those of its curve, and the end of training.
    """
    best = (
        max(
            [*each.curve.values(), each.one_shot],
            key=lambda accuracies: accuracies["val"],
        )
        for each in outcomes
    )
    return [accuracies[split] for accuracies in best]


def gain(few: Sequence[float], walk: Sequence[float]) -> Gain:
    """Returns the mean difference in points, paired seed by seed."""
    difference = 100 * (np.array(walk) - np.array(few))
    count = len(difference)
    quantile = scipy.stats.t.ppf(0.975, count - 1)  # 95 %, both sides
    spread = np.std(difference, ddof=1)
    return Gain(
        mean=float(np.mean(difference)),
        interval=float(quantile * spread / np.sqrt(count)),
        better=int(np.sum(difference > 0)),
        seeds=count,
    )
