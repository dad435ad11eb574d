"""How often answers are right, against how likely the model says they are."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from prwn_tf.analysis import figures
from prwn_tf.analysis.findings import Finding, Row
from prwn_tf.analysis.settings import Settings
from prwn_tf.analysis.styles import title
from prwn_tf.analysis.subject import Subject
from prwn_tf.evaluation import curves, report
from prwn_tf.evaluation.evaluate import Evaluation, Evaluator

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Shade and marker of the curves that are drawn, for more would hide each other. Colours
# are those of methods.
DRAWN = {"none": ("0.1", "o"), "gate": ("0.55", "s")}
MIN_DRAWN = 30  # answers of a point that is drawn; fewer are chance


def analyze(subjects: Sequence[Subject], settings: Settings) -> Finding:
    """Measures the calibration of every run, with and without its temperatures."""
    by_run = {subject.label: _evaluate(subject, settings) for subject in subjects}
    rows = [
        {"run": label, "adapt": each.adapt, "accuracy": each.accuracy}
        | {k: "" if v is None else v for k, v in each.confidence.errors().items()}
        for label, evaluations in by_run.items()
        for each in evaluations
    ]
    bins = [
        {"run": label, "adapt": each.adapt, **row}
        for label, evaluations in by_run.items()
        for each in evaluations
        for row in _bins(each)
    ]
    return Finding(
        name="calibration",
        lines=[
            line
            for label, evaluations in by_run.items()
            for line in (label, *report.calibration_lines(evaluations))
        ],
        numbers={"rows": rows, "bins": bins},
        tables={"calibration": rows, "calibration_bins": bins},
        figures={"calibration": figures.render(draw, by_run)},
    )


def _evaluate(subject: Subject, settings: Settings) -> list[Evaluation]:
    """Tests a run with all of its adaptations."""
    head, spec = subject.model.head, settings.test
    names = head.adaptations if spec.unlabeled else ("none",)
    evaluate = Evaluator(subject.pools, head, subject.seed)
    return evaluate(
        subject.embeddings, spec, names, settings.episodes, subject.calibration
    )


def _bins(evaluation: Evaluation) -> list[Row]:
    """Returns the points of a reliability diagram, before and after temperature."""
    confidence, rows = evaluation.confidence, []
    for when in ("before", "after"):
        sure = getattr(confidence, when)
        rows += [
            {
                "when": when,
                "confidence": float(np.mean(said)),
                "accuracy": float(np.mean(right)),
                "queries": len(said),
            }
            for said, right in curves.binned(sure, confidence.correct)
        ]
    return rows


def draw(by_run: Mapping[str, Sequence[Evaluation]]) -> "Figure":
    """Draws a reliability diagram for each run, before and after temperature."""
    width = figures.PAGE if len(by_run) > 1 else figures.COLUMN
    columns = 2 if len(by_run) == 4 else min(3, len(by_run))
    rows = -(-len(by_run) // columns)
    figure = figures.new_figure(width, 0.5 + 2.6 * rows)
    grid = figure.subplots(rows, columns, squeeze=False)
    for axes, (label, evaluations) in zip(grid.flat, by_run.items(), strict=False):
        _draw_run(axes, label, [each for each in evaluations if each.adapt in DRAWN])
    for axes in grid.flat[len(by_run) :]:
        axes.set_axis_off()
    handles, labels = grid[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=2)
    return figure


def _draw_run(axes: "Axes", label: str, evaluations: Sequence[Evaluation]) -> None:
    """Draws the curves of one run; a point of few answers is small."""
    axes.plot([0, 100], [0, 100], color="0.6", lw=1)
    for each in evaluations:
        calibrated = each.confidence.temperature is not None
        for when in ("before", "after") if calibrated else ("before",):
            points = [
                row
                for row in _bins(each)
                if row["when"] == when and row["queries"] >= MIN_DRAWN
            ]
            said, right = (
                [100 * row[name] for row in points]
                for name in ("confidence", "accuracy")
            )
            shares = np.array([row["queries"] for row in points])
            (shade, marker), after = DRAWN[each.adapt], when == "after"
            axes.plot(said, right, color=shade, ls="-" if after else ":", lw=1)
            axes.scatter(
                said,
                right,
                s=4 + 36 * np.sqrt(shares / shares.sum()),
                color=shade if after else "white",
                edgecolors=shade,
                marker=marker,
                zorder=3,
                label=f"{each.adapt}, {when} temperature",
            )
    axes.set(
        title=title(label),
        xlabel="predicted probability (%)",
        ylabel="answers that are right (%)",
        xlim=(0, 102),
        ylim=(0, 102),
    )
