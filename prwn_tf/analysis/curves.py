"""Accuracy on validation classes while a run was trained."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from prwn_tf.analysis import figures
from prwn_tf.analysis.findings import Finding
from prwn_tf.analysis.settings import Settings
from prwn_tf.analysis.styles import styles, title
from prwn_tf.analysis.subject import Subject
from prwn_tf.evaluation.intervals import plus_minus

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LONGER = 5  # times a short run's episodes


def analyze(subjects: Sequence[Subject], settings: Settings) -> Finding:
    """Draws the validations of every run that has kept them."""
    del settings  # they were made when the run was trained
    validated = [subject for subject in subjects if subject.validations]
    rows = [
        {"run": subject.label, **each._asdict()}
        for subject in validated
        for each in subject.validations
    ]
    return Finding(
        name="training",
        lines=[_line(subject) for subject in subjects],
        numbers={"rows": rows},
        tables={"training": rows} if rows else {},
        figures={"training": figures.render(draw, validated)} if rows else {},
    )


def _line(subject: Subject) -> str:
    """Returns where a run's curve ends."""
    if not subject.validations:
        return f"{subject.label:12} has no validation.csv in its folder"
    last = subject.validations[-1]
    accuracy = f"{100 * last.accuracy:.2f}{plus_minus(100 * last.interval, 2)}"
    return f"{subject.label:12} {accuracy} % on validation classes at step {last.step}"


def draw(subjects: Sequence[Subject]) -> "Figure":
    """Draws accuracy on validation classes against training episodes."""
    figure = figures.new_figure(figures.COLUMN, 2.7)
    axes = figure.subplots()
    looks = styles([subject.label for subject in subjects])
    for subject in subjects:
        steps, accuracy, interval, _ = np.array(subject.validations).T
        look = looks[subject.label]
        figures.draw_curve(
            axes, look, title(subject.label), steps, 100 * accuracy, 100 * interval
        )
    lengths = [subject.validations[-1].step for subject in subjects]
    if max(lengths) > LONGER * min(lengths):
        axes.set_xscale("log")  # or a short run would be a line
    axes.set(xlabel="training episodes", ylabel="accuracy on validation classes (%)")
    axes.legend()
    return figure
