"""Accuracy against the number of classes to tell apart."""

import dataclasses
import itertools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from prwn_tf.analysis import figures
from prwn_tf.analysis.findings import Finding, Row
from prwn_tf.analysis.settings import Settings
from prwn_tf.analysis.styles import Style, styles, title
from prwn_tf.analysis.subject import Subject
from prwn_tf.config import EpisodeSpec
from prwn_tf.evaluation import report
from prwn_tf.evaluation.evaluate import Evaluation, Evaluator
from prwn_tf.evaluation.intervals import half_width, plus_minus

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WAYS = (5, 10, 15, 20, 50, 100, 200, 400, 800)  # the paper: mini to 20, Omniglot to 800
MAX_CLASSES = 60_000  # over all episodes: one of many ways has many queries
MIN_EPISODES = 20


def analyze(subjects: Sequence[Subject], settings: Settings) -> Finding:
    """Measures the accuracy of every run as trained, and its gain on those before."""
    ways = settings.ways or default_ways(len(subjects[0].pools.names))
    by_run = {
        subject.label: accuracy_by_way(subject, settings.test, ways, settings.episodes)
        for subject in subjects
    }
    rows = [
        {"run": label, **evaluation.row()}
        for label, evaluations in by_run.items()
        for evaluation in evaluations
    ]
    gains = [
        {"run": after, "base": before, **row}
        for before, after in itertools.combinations(by_run, 2)
        for row in _gain_rows(by_run[before], by_run[after])
    ]
    return Finding(
        name="ways",
        lines=[*_table(by_run), *_gain_lines(gains)],
        numbers={"rows": rows, "relative_gain": gains},
        tables={"ways": rows} | ({"ways_gain": gains} if gains else {}),
        figures={"ways": figures.render(draw, by_run, gains)},
    )


def _table(by_run: Mapping[str, Sequence[Evaluation]]) -> list[str]:
    """Returns a line for each way, with a column for each run."""
    rows = [
        [str(evaluations[0].spec.way), str(len(evaluations[0].accuracies))]
        + [evaluation.percent for evaluation in evaluations]
        for evaluations in zip(*by_run.values(), strict=True)
    ]
    table = report.align([["way", "episodes", *by_run], *rows])
    return ["accuracy (%) ± 95 % interval", *table.splitlines()]


def _gain_lines(gains: Sequence[Row]) -> list[str]:
    """Returns what each run gains on those before it, where ways are the most."""
    most = max((row["way"] for row in gains), default=0)
    return [
        f"{row['run']} over {row['base']}: {100 * row['gain']:+.1f}"
        f"{plus_minus(100 * row['interval'], 1)} % relative at {most} ways"
        for row in gains
        if row["way"] == most
    ]


def default_ways(classes: int) -> list[int]:
    """Returns the published numbers of ways that a split has classes for."""
    return [way for way in WAYS if way <= classes] or [classes]


def episodes_for(way: int, episodes: int) -> int:
    """Returns how many episodes to score: fewer where each has more classes."""
    return min(episodes, max(MIN_EPISODES, MAX_CLASSES // way))


def accuracy_by_way(
    subject: Subject, base: EpisodeSpec, ways: Sequence[int], episodes: int
) -> list[Evaluation]:
    """Returns the accuracy for each number of ways, of episodes else as `base`."""
    evaluator = Evaluator(subject.pools, subject.model.head, subject.seed)
    evaluations = []
    for way in ways:
        spec = dataclasses.replace(base, way=way)
        evaluations += evaluator(
            subject.embeddings, spec, ["none"], episodes_for(way, episodes)
        )
    return evaluations


def relative_gain(before: Evaluation, after: Evaluation) -> tuple[float, float]:
    """Returns the gain of `after` as a share of `before`, with its 95 % interval.

    Both score the same episodes, so the interval is of the ratio of paired means.
    """
    ratio = after.accuracy / before.accuracy
    residual = after.accuracies - ratio * before.accuracies  # mean 0
    return ratio - 1, half_width(residual) / before.accuracy


def _gain_rows(
    base: Sequence[Evaluation], other: Sequence[Evaluation]
) -> list[dict[str, float | int]]:
    """Returns the relative gain for each number of ways."""
    rows = []
    for before, after in zip(base, other, strict=True):
        if before.accuracy == 0:
            continue  # no share of nothing
        gain, interval = relative_gain(before, after)
        rows.append({"way": before.spec.way, "gain": gain, "interval": interval})
    return rows


def draw(by_run: Mapping[str, Sequence[Evaluation]], gains: Sequence[Row]) -> "Figure":
    """Draws accuracy against ways, and beside it the gains on the first run."""
    panels = 2 if gains else 1
    figure = figures.new_figure(figures.PAGE if gains else figures.COLUMN, 2.7)
    axes = figure.subplots(1, panels, squeeze=False)[0]
    looks = styles(list(by_run))
    for label, evaluations in by_run.items():
        ways = [each.spec.way for each in evaluations]
        accuracy = np.array([100 * each.accuracy for each in evaluations])
        interval = np.array([100 * each.interval for each in evaluations])
        look = looks[label]
        figures.draw_curve(axes[0], look, title(label), ways, accuracy, interval)
    axes[0].set(ylabel=f"{evaluations[0].spec.shot}-shot accuracy (%)")
    axes[0].legend()
    if gains:
        base = next(iter(by_run))
        _draw_gains(axes[1], looks, [row for row in gains if row["base"] == base])
        axes[1].set(ylabel=f"gain over {title(base)} (%)")
    for each in axes:
        _set_ways(each, ways)
        each.set(xlabel="ways (classes to tell apart)")
    return figure


def _draw_gains(axes: "Axes", looks: Mapping[str, Style], gains: Sequence[Row]) -> None:
    """Draws relative gains against ways, and writes the last one at its end."""
    for label in dict.fromkeys(row["run"] for row in gains):
        own = [row for row in gains if row["run"] == label]
        way, gain, interval = (
            np.array([row[name] for row in own]) for name in ("way", "gain", "interval")
        )
        look = looks[label]
        figures.draw_curve(axes, look, title(label), way, 100 * gain, 100 * interval)
        axes.annotate(
            f"{100 * gain[-1]:+.1f} %",
            (way[-1], 100 * gain[-1]),
            xytext=(6, 0),
            textcoords="offset points",
            va="center",
            color=look.color,
            fontsize=figures.STYLE["legend.fontsize"],
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.5},
        )
    axes.margins(x=0.16)  # room for the numbers
    axes.axhline(0, color="0.45", lw=1)


def _set_ways(axes: "Axes", ways: Sequence[int]) -> None:
    """Sets a logarithmic axis with a tick at every number of ways."""
    axes.set_xscale("log")
    axes.minorticks_off()
    crowded = len(ways) > 6
    axes.set_xticks(ways, [str(way) for way in ways], rotation=45 if crowded else 0)
