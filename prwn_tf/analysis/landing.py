"""How often the walker comes home, by the number of its inner steps."""

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from prwn_tf.analysis import figures
from prwn_tf.analysis.findings import Finding, Row, format_mean, mean_and_interval
from prwn_tf.analysis.settings import Settings
from prwn_tf.analysis.subject import Subject
from prwn_tf.config import EpisodeSpec
from prwn_tf.errors import UserError
from prwn_tf.evaluation import report
from prwn_tf.heads.prototypes import mean_prototypes
from prwn_tf.walk import losses

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclasses.dataclass(frozen=True)
class Landing:
    """The landing probability in each episode after 0, 1, ... inner steps."""

    label: str
    probability: np.ndarray  # [E, steps + 1]

    def rows(self) -> list[Row]:
        """Returns a row for each number of steps, averaged over episodes."""
        means = [mean_and_interval(values) for values in self.probability.T]
        return [
            {"run": self.label, "steps": steps, "landing": mean, "interval": interval}
            for steps, (mean, interval) in enumerate(means)
        ]


def analyze(subjects: Sequence[Subject], settings: Settings) -> Finding:
    """Measures the landing curve of every run."""
    landings = [
        measure_landing(
            subject,
            settings.spec,
            settings.episodes,
            settings.steps,
            settings.smoothing,
        )
        for subject in subjects
    ]
    rows = [row for each in landings for row in each.rows()]
    return Finding(
        name="landing",
        lines=_table(landings),
        numbers={**settings.about("smoothing"), "rows": rows},
        tables={"landing": rows},
        figures={"landing": figures.render(draw, landings, settings.spec.way)},
    )


def _table(landings: Sequence[Landing]) -> list[str]:
    """Returns lines with the landing probabilities at both ends of the curves."""
    last = landings[0].probability.shape[1] - 1
    header = ["", "after 0 inner steps", f"after {last}"]
    rows = [
        [each.label, *(format_mean(each.probability[:, step]) for step in (0, last))]
        for each in landings
    ]
    return report.align([header, *rows]).splitlines()


def measure_landing(
    subject: Subject,
    spec: EpisodeSpec,
    episodes: int,
    steps: int = 10,
    smoothing: float = 0.1,
) -> Landing:
    """Averages T(t)_jj over prototypes, for t = 0..steps (trace / N in the paper)."""
    if spec.unlabeled_points < 2:
        raise UserError(
            "a walk needs at least 2 unlabelled points in an episode, found "
            f"{spec.unlabeled_points}; raise --unlabeled"
        )
    parts = []
    for batch in subject.episodes(spec, episodes):
        walked = losses.walk_losses(
            mean_prototypes(batch.support), batch.unlabeled, steps, smoothing=smoothing
        )
        parts.append(walked.landing.numpy())  # [E, steps + 1]
    return Landing(subject.label, np.concatenate(parts))


def draw(landings: Sequence[Landing], way: int) -> "Figure":
    """Draws landing probability against inner steps, a curve for each run."""
    figure = figures.new_figure(figures.COLUMN, 2.5)
    axes = figure.subplots()
    for index, each in enumerate(landings):
        rows = each.rows()
        steps, mean, interval = (
            np.array([row[name] for row in rows])
            for name in ("steps", "landing", "interval")
        )
        figures.draw_curve(axes, index, each.label, steps, mean, interval)
    axes.axhline(1 / way, color="0.45", lw=1, ls=(0, (1, 2)), label="chance")
    axes.set(
        xlabel="inner steps of the walk",
        ylabel="landing probability",
        ylim=(0, 1),
        xticks=np.arange(0, landings[0].probability.shape[1], 2),
    )
    axes.legend(ncols=2)
    return figure
