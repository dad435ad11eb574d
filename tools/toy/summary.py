"""Means over seeds, paired gains, and what may be said of them."""

import dataclasses
from collections.abc import Sequence

import numpy as np
from toy.study import Outcome

# Two-sided 95 % points of Student's distribution, by the number of values.
STUDENT = {2: 12.71, 3: 4.303, 4: 3.182, 5: 2.776, 6: 2.571, 7: 2.447, 8: 2.365}
STUDENT |= {9: 2.306, 10: 2.262, 15: 2.145, 20: 2.093, 30: 2.045}


@dataclasses.dataclass(frozen=True)
class Gain:
    """What the walk adds in points, over seeds that share labels and weights."""

    mean: float
    interval: float  # half the width of the 95 % interval of the mean
    better: int  # seeds on which the walk is above
    seeds: int

    @property
    def verdict(self) -> str:
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
    """The outcomes of one model, by seed."""
    chosen = [each for each in outcomes if each.model == model]
    return sorted(chosen, key=lambda each: each.seed)


def mean_and_spread(values: Sequence[float]) -> str:
    """Mean and standard deviation over seeds, in per cent."""
    return f"{100 * np.mean(values):.1f} ± {100 * np.std(values, ddof=1):.1f}"


def last(outcomes: Sequence[Outcome], split: str) -> list[float]:
    """1-shot accuracy at the end of training, by seed."""
    return [each.one_shot[split] for each in outcomes]


def stopped(outcomes: Sequence[Outcome], split: str) -> list[float]:
    """1-shot accuracy at each seed's best step on validation, of those looked at.

    The end of training is one of them, whether or not its curve has a point there.
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
    """The paired difference in points, seed by seed."""
    difference = 100 * (np.array(walk) - np.array(few))
    count = len(difference)
    known = max(number for number in STUDENT if number <= count)
    spread = np.std(difference, ddof=1)
    return Gain(
        mean=float(np.mean(difference)),
        interval=float(STUDENT[known] * spread / np.sqrt(count)),
        better=int(np.sum(difference > 0)),
        seeds=count,
    )
