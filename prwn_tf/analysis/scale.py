"""How far apart classes are, and embeddings at a common scale.

Landing probabilities, p_clean and VAT losses are made of softmaxes of squared
distances. A network learns any unit of length, so two of them can differ in these
numbers because one stretches the same picture. At the common scale the embeddings are
multiplied by one number, so that the mean squared distance between the centres of two
classes of the split is `BETWEEN`, whatever the network.
"""

import dataclasses
import math
from collections.abc import Sequence

import numpy as np

from prwn_tf.analysis.findings import Finding, Row
from prwn_tf.analysis.settings import Settings
from prwn_tf.analysis.subject import Subject
from prwn_tf.evaluation import report

BETWEEN = 16.0  # about what the published settings lead to on Omniglot


@dataclasses.dataclass(frozen=True)
class Spread:
    """Mean squared distances in a split that is embedded."""

    between: float  # the centres of two classes
    within: float  # an image and the centre of its class

    @property
    def ratio(self) -> float:
        """How far apart classes are for their size; no unit of length changes it."""
        return self.between / max(self.within, 1e-12)  # all alike: 0

    @property
    def factor(self) -> float:
        """What leads to the common scale; 1 for a network that embeds all alike."""
        return math.sqrt(BETWEEN / self.between) if self.between else 1.0


def measure(subject: Subject) -> Spread:
    """Returns the spread of a subject's split, at the scale that it learned."""
    centres, within = [], []
    for index in range(len(subject.store.names)):
        rows = np.array(subject.store.rows(index))
        vectors = subject.embeddings.gather(rows).numpy().astype(np.float64)
        centres.append(vectors.mean(axis=0))
        within.append(np.sum((vectors - centres[-1]) ** 2, axis=1))
    # The mean over pairs of centres is twice their variance, over one class less.
    between = 2 * np.sum(np.var(centres, axis=0, ddof=1))
    return Spread(float(between), float(np.mean(np.concatenate(within))))


def at_common_scale(subject: Subject) -> Subject:
    """Returns the same subject, whose walks go by the common scale."""
    return dataclasses.replace(subject, scale=measure(subject).factor)


def analyze(subjects: Sequence[Subject], settings: Settings) -> Finding:
    """Measures how far apart the classes of every run are."""
    del settings  # it is about the whole split
    rows = [_row(subject.label, measure(subject)) for subject in subjects]
    header = ["", "between classes", "within a class", "ratio", "factor to 16"]
    cells = [
        [row["run"], *(f"{row[name]:.2f}" for name in list(row)[1:])] for row in rows
    ]
    return Finding(
        name="scale",
        lines=report.align([header, *cells]).splitlines(),
        numbers={"common_between": BETWEEN, "rows": rows},
        tables={"scale": rows},
        figures={},
    )


def _row(label: str, spread: Spread) -> Row:
    """Returns a spread as it is stored."""
    return {
        "run": label,
        "between": spread.between,
        "within": spread.within,
        "ratio": spread.ratio,
        "factor": spread.factor,
    }
