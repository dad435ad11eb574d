"""How often the walker comes home, by the number of its inner steps.

Four views, each a panel: as published; at the common scale (`scale.py`), which is what
models can be compared at; there without smoothing, under which no ceiling hides
differences; and there with four times the classes, where it is harder to come home.
"""

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from prwn_tf.analysis import figures, scale
from prwn_tf.analysis.findings import Finding, Row, format_mean, mean_and_interval
from prwn_tf.analysis.settings import Settings
from prwn_tf.analysis.styles import styles, title
from prwn_tf.analysis.subject import Subject
from prwn_tf.config import EpisodeSpec
from prwn_tf.errors import UserError
from prwn_tf.evaluation import report
from prwn_tf.walk import losses

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MORE_WAYS = 4  # times as many


class View(NamedTuple):
    """Walks of one kind."""

    spec: EpisodeSpec
    smoothing: float
    scale: str  # "own" or "common"

    @property
    def title(self) -> str:
        """The view in words, as tables and figures have it."""
        smoothing = f"smoothing {self.smoothing:g}" if self.smoothing else "unsmoothed"
        return f"{self.spec.way}-way, {self.scale} scale, {smoothing}"

    @property
    def ceiling(self) -> float:
        """The landing probability of a walker that never leaves its class by choice.

        Smoothing alone sends it to points of others on its way out, and to other
        prototypes on its way back. Distractors have no class to choose, but each
        comes back to one of the prototypes, on average over these as to any.
        """
        sent, way, points = self.smoothing, self.spec.way, self.spec.unlabeled_points
        own = self.spec.unlabeled / points
        strange = 1 - way * own  # share of the points that are distractors
        out = 1 - sent + sent * own
        others = sent * (1 - own - strange)
        back = 1 - sent + sent / way
        return out * back + others * sent / way + sent * strange / way


@dataclasses.dataclass(frozen=True)
class Landing:
    """The landing probability in each episode after 0, 1, ... inner steps."""

    label: str
    view: View
    probability: np.ndarray  # [E, steps + 1]

    def rows(self) -> list[Row]:
        """Returns a row for each number of steps, averaged over episodes."""
        about = {
            "run": self.label,
            "way": self.view.spec.way,
            "scale": self.view.scale,
            "smoothing": self.view.smoothing,
            "ceiling": self.view.ceiling,
        }
        means = [mean_and_interval(values) for values in self.probability.T]
        return [
            {**about, "steps": steps, "landing": mean, "interval": interval}
            for steps, (mean, interval) in enumerate(means)
        ]


def analyze(subjects: Sequence[Subject], settings: Settings) -> Finding:
    """Measures the landing curves of every run in all views."""
    rescaled = [scale.at_common_scale(subject) for subject in subjects]
    landings = []
    for view in views(settings, len(subjects[0].pools.names)):
        for subject in rescaled if view.scale == "common" else subjects:
            landings.append(
                measure_landing(subject, view, settings.episodes, settings.steps)
            )
    rows = [row for each in landings for row in each.rows()]
    return Finding(
        name="landing",
        lines=_table(landings),
        numbers={
            **settings.about("smoothing"),
            "common_between": scale.BETWEEN,
            "rows": rows,
        },
        tables={"landing": rows},
        figures={"landing": figures.render(draw, landings)},
    )


def views(settings: Settings, classes: int) -> list[View]:
    """Returns the views that a split has classes for."""
    spec, smoothing = settings.spec, settings.smoothing
    wide = dataclasses.replace(spec, way=MORE_WAYS * spec.way)
    wanted = [View(spec, smoothing, "own"), View(spec, smoothing, "common")]
    wanted.append(View(spec, 0.0, "common"))
    if wide.classes <= classes:
        wanted.append(View(wide, 0.0, "common"))
    return list(dict.fromkeys(wanted))


def measure_landing(
    subject: Subject, view: View, episodes: int, steps: int = 10
) -> Landing:
    """Averages T(t)_jj over prototypes, for t = 0..steps (trace / N in the paper)."""
    if view.spec.unlabeled_points < 2:
        raise UserError(
            "a walk needs at least 2 unlabelled points in an episode, found "
            f"{view.spec.unlabeled_points}; raise --unlabeled"
        )
    parts = []
    for batch in subject.episodes(view.spec, episodes):
        walked = losses.walk_losses(*batch, steps, smoothing=view.smoothing)
        parts.append(walked.landing.numpy())  # [E, steps + 1]
    return Landing(subject.label, view, np.concatenate(parts))


def _table(landings: Sequence[Landing]) -> list[str]:
    """Returns lines with the landing probabilities at both ends of the curves."""
    last = landings[0].probability.shape[1] - 1
    lines = []
    for view in dict.fromkeys(each.view for each in landings):
        header = [view.title, "after 0 inner steps", f"after {last}"]
        rows = [
            [each.label, *(format_mean(each.probability[:, at]) for at in (0, last))]
            for each in landings
            if each.view == view
        ]
        lines += report.align([header, *rows]).splitlines()
    return lines


def draw(landings: Sequence[Landing]) -> "Figure":
    """Draws landing probability against inner steps, a panel for each view."""
    seen = list(dict.fromkeys(each.view for each in landings))
    rows = -(-len(seen) // 2)
    figure = figures.new_figure(figures.PAGE, 0.4 + 2.2 * rows)
    panels = figure.subplots(rows, 2, squeeze=False, sharex=True).ravel()
    for axes, view in zip(panels, seen, strict=False):
        _draw_view(axes, view, [each for each in landings if each.view == view])
    for axes in panels[len(seen) :]:
        axes.set_axis_off()
    for axes in panels[-2:]:
        axes.set(xlabel="inner steps of the walk")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4)
    return figure


def _draw_view(axes: "Axes", view: View, landings: Sequence[Landing]) -> None:
    """Draws the curves of one view under their ceiling, as near as they are."""
    looks = styles([each.label for each in landings])
    for each in landings:
        steps, mean, interval = (
            np.array([row[name] for row in each.rows()])
            for name in ("steps", "landing", "interval")
        )
        look = looks[each.label]
        figures.draw_curve(axes, look, title(each.label), steps, mean, interval)
    figures.draw_bound(axes, view.ceiling, "ceiling")
    axes.set_title(f"{view.title} (ceiling {view.ceiling:.3f})", loc="left")
    axes.set(ylabel="landing probability", xticks=np.arange(0, len(steps), 2))
