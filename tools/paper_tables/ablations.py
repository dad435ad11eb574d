"""One setting changed at a time, measured on validation classes.

What is released of such a training are its settings and its validations. A released row
that others are compared with is measured in the same way.
"""

import pathlib
import shutil
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from paper_tables import markdown, programs
from paper_tables.description import Ablation, DatasetTables, Factor

from prwn_tf import files
from prwn_tf.analysis import figures
from prwn_tf.analysis.styles import METHODS, Style, title
from prwn_tf.precision import PRECISIONS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FOLDER = "ablations"
MEASURED = "evaluation.json"
FEW = 3  # values of a setting, which have a tick each
ADAPTATIONS = ("none", "refine")
KEPT = ("config.json", "versions.json", "validation.csv", MEASURED)


class Point(NamedTuple):
    """A setting's value and the accuracy with it."""

    value: float
    accuracy: float
    interval: float


def release(run: pathlib.Path, output: pathlib.Path, data_dir: pathlib.Path) -> None:
    """Measures a run on validation classes, and releases what it was and found."""
    measured = output.with_name(f".{output.name}.tmp")
    shutil.rmtree(measured, ignore_errors=True)
    programs.run(
        "evaluate",
        f"--workdir={run}",
        "--split=val",
        f"--adapt={','.join(ADAPTATIONS)}",
        f"--output={measured}",
        data_dir=data_dir,
    )
    for path in measured.iterdir():
        if path.name not in KEPT:
            path.unlink()
    for name in KEPT:
        if (run / name).exists() and name != MEASURED:
            shutil.copyfile(run / name, measured / name)
    measured.rename(output)


def missing(tables: DatasetTables, output: pathlib.Path) -> Iterator[str]:
    """Yields the released rows that trainings are there to be compared with."""
    for ablation in tables.ablations:
        trained = [
            name
            for name in ablation.trainings()
            if (output / FOLDER / name / MEASURED).exists()
        ]
        compared = output / FOLDER / ablation.base / MEASURED
        if trained and not compared.exists() and (output / ablation.base).exists():
            yield ablation.base


def sections(tables: DatasetTables, output: pathlib.Path, link: str) -> list[str]:
    """Returns a title, a table and a figure for each ablation that has been begun.

    Args:
        link: the way from the page to the folder of ablations.
    """
    parts = []
    for ablation in tables.ablations:
        factors = [
            list(_lines(ablation, factor, output)) for factor in ablation.factors
        ]
        # The row's own value alone says nothing.
        lines = [line for of_factor in factors if of_factor[1:] for line in of_factor]
        if lines:
            length = f", {ablation.episodes} episodes" if ablation.episodes else ""
            header = ("setting", "value", *ADAPTATIONS, "training")
            about = f"{ablation.label}, one setting changed (validation{length})"
            parts += [
                f"## {about}",
                markdown.table(header, lines),
                f"Numbers: a folder for each training in [{FOLDER}]({link}).",
                f"![{about}]({link}/{ablation.base}.png)",
            ]
    return parts


def _lines(
    ablation: Ablation, factor: Factor, output: pathlib.Path
) -> Iterator[tuple[Any, ...]]:
    """Yields a line for each value of a setting that was trained."""
    for value in sorted((factor.own, *factor.others)):
        name = ablation.name(factor, value)
        tests = _tests(output, name)
        if tests:
            cells = (markdown.measured(tests.get(adapt)) for adapt in ADAPTATIONS)
            training = f"`{name}`{_precision(output / FOLDER / name)}"
            yield (f"`--{factor.flag}`", factor.written(value), *cells, training)


def _precision(training: pathlib.Path) -> str:
    """Returns what to say of a training's numbers, nothing if they are float32."""
    # Rows from before there was a choice do not say.
    config = files.read_json(training / "config.json")
    precision = config.get("precision", PRECISIONS[0])
    return "" if precision == PRECISIONS[0] else f", {precision}"


def _tests(output: pathlib.Path, name: str) -> dict[str, dict[str, Any]]:
    """Returns the tests of a training by how they adapt, none if it is not there."""
    path = output / FOLDER / name / MEASURED
    return (
        {test["adapt"]: test for test in files.read_json(path)} if path.exists() else {}
    )


def draw_all(tables: DatasetTables, output: pathlib.Path) -> None:
    """Draws a figure for each ablation that has been begun."""
    for ablation in tables.ablations:
        curves = {
            factor: points
            for factor in ablation.factors
            if len((points := _points(ablation, factor, output))["none"]) > 1
        }
        if curves:
            drawing = figures.render(draw, ablation, curves)
            figures.write(output / FOLDER, ablation.base, drawing)


def _points(
    ablation: Ablation, factor: Factor, output: pathlib.Path
) -> dict[str, list[Point]]:
    """Returns the accuracies (%) of a setting's values, by how they adapt."""
    points: dict[str, list[Point]] = {adapt: [] for adapt in ADAPTATIONS}
    for value in sorted((factor.own, *factor.others)):
        tests = _tests(output, ablation.name(factor, value))
        for adapt, test in tests.items():
            accuracy, interval = 100 * test["accuracy"], 100 * test["interval"]
            points[adapt].append(Point(value, accuracy, interval))
    return points


def draw(ablation: Ablation, curves: dict[Factor, dict[str, list[Point]]]) -> "Figure":
    """Draws accuracy against each setting; the value that the row has gets a line."""
    columns = min(4, len(curves))
    rows = -(-len(curves) // columns)
    width = figures.PAGE if columns > 1 else figures.COLUMN
    figure = figures.new_figure(width, 0.7 + 1.7 * rows)
    panels = figure.subplots(rows, columns, squeeze=False, sharey=True)
    own = METHODS[ablation.label]
    looks = {"none": own, "refine": own._replace(dashes=":")}
    for axes, (factor, points) in zip(panels.ravel(), curves.items(), strict=False):
        for adapt, style in looks.items():
            _draw_points(axes, style, f"--adapt={adapt}", points[adapt])
        axes.axvline(factor.own, color="0.4", lw=1, label="as in the tables")
        axes.set(xlabel=factor.title)
        values = [point.value for point in points["none"]]
        if len(values) <= FEW:
            axes.set_xticks(values)
        else:
            axes.locator_params(axis="x", nbins=4)  # more run into one another
    for axes in panels.ravel()[len(curves) :]:
        axes.set_axis_off()
    for axes in panels[:, 0]:
        axes.set(ylabel="accuracy (%)")
    drawn = panels[0, 0].get_legend_handles_labels()
    figure.legend(*drawn, loc="outside lower center", ncols=len(ADAPTATIONS) + 1)
    length = f", {ablation.episodes} episodes" if ablation.episodes else ""
    text = f"{title(ablation.label)}{length}: one setting changed, validation classes"
    figure.suptitle(text, fontsize=8)
    return figure


def _draw_points(axes: Any, style: Style, label: str, points: list[Point]) -> None:
    """Draws the accuracies of one kind of inference."""
    if points:
        value, accuracy, interval = np.array(points).T
        figures.draw_curve(axes, style, label, value, accuracy, interval)
