"""Local consistency: how much an answer moves when the image is moved a little.

How little, is a share of the median norm of the split's images, several of them: as
long as an image itself, a change is not local any more.
"""

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np
import tensorflow as tf
import tqdm

from prwn_tf.analysis import figures, scale
from prwn_tf.analysis.findings import Finding, Row, format_mean, mean_and_interval
from prwn_tf.analysis.settings import Settings
from prwn_tf.analysis.styles import styles, title
from prwn_tf.analysis.subject import Subject
from prwn_tf.config import EpisodeSpec
from prwn_tf.errors import UserError
from prwn_tf.evaluation import report
from prwn_tf.heads.base import EmbeddedEpisode
from prwn_tf.regularizers import vat

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MAX_IMAGES = 10_000  # whose norms are measured


@dataclasses.dataclass(frozen=True)
class Losses:
    """The mean VAT loss in each episode, for several lengths of the change."""

    label: str
    scale: str  # "own" or "common"
    epsilons: dict[float, float]  # share of the median norm of an image -> length
    losses: np.ndarray  # [E, epsilons]

    def rows(self) -> list[Row]:
        """Returns a row for each length, averaged over episodes."""
        rows = []
        for (share, epsilon), values in zip(
            self.epsilons.items(), self.losses.T, strict=True
        ):
            mean, interval = mean_and_interval(values)
            about = {"run": self.label, "scale": self.scale, "share": share}
            rows.append(
                {**about, "epsilon": epsilon, "vat_loss": mean, "interval": interval}
            )
        return rows


def analyze(subjects: Sequence[Subject], settings: Settings) -> Finding:
    """Measures the average VAT loss of every run, at its own and the common scale.

    A head with weights has learned the scale of its embeddings, and has no other.
    """
    norm = median_norm(subjects[0])
    epsilons = {share: share * norm for share in settings.epsilons}
    measured = []
    for subject in subjects:
        looked_at = {"own": subject}
        if not subject.model.head.trainable_variables:
            looked_at["common"] = scale.at_common_scale(subject)
        for name, each in looked_at.items():
            losses = adversarial_losses(
                each, settings.spec, settings.episodes, list(epsilons.values())
            )
            measured.append(Losses(subject.label, name, epsilons, losses))
    rows = [row for each in measured for row in each.rows()]
    about = {"median_norm": norm, "common_between": scale.BETWEEN}
    return Finding(
        name="consistency",
        lines=_table(measured),
        numbers={**settings.about("epsilons"), **about, "rows": rows},
        tables={"consistency": rows},
        figures={"consistency": figures.render(draw, measured)},
    )


def median_norm(subject: Subject) -> float:
    """Returns the median length of an image, as the network sees it."""
    count = len(subject.store)
    images = subject.store.read(np.arange(0, count, -(-count // MAX_IMAGES)))
    pixels = tf.image.convert_image_dtype(images, tf.float32)
    return float(np.median(tf.norm(tf.reshape(pixels, [len(images), -1]), axis=1)))


def adversarial_losses(
    subject: Subject, spec: EpisodeSpec, episodes: int, epsilons: Sequence[float]
) -> np.ndarray:
    """Returns the mean VAT losses of the unlabelled points: [E, epsilons].

    Batch norm uses its moving averages, as in every test.
    """
    if spec.unlabeled_points == 0:
        raise UserError(
            "local consistency is measured on unlabelled images, got --unlabeled=0"
        )
    losses = _compile_losses(subject, epsilons)
    progress = tqdm.tqdm(
        enumerate(subject.plans(spec, episodes)),
        desc=f"consistency of {subject.label}",
        total=episodes,
        disable=None,
        leave=False,
    )
    measured = []
    for index, plan in progress:
        images = tf.image.convert_image_dtype(
            subject.store.read(plan.unlabeled.numpy()), tf.float32
        )
        noise = tf.random.stateless_normal(images.shape, [subject.seed, index])
        measured.append(losses(subject.embedded(plan), images, noise).numpy())
    return np.array(measured)


def _compile_losses(subject: Subject, epsilons: Iterable[float]) -> Callable:
    """Returns a function of an episode, its images [U, H, W, C] and their noise."""

    @tf.function(autograph=False)
    def losses(
        episode: EmbeddedEpisode, images: tf.Tensor, noise: tf.Tensor
    ) -> tf.Tensor:
        episode = EmbeddedEpisode(*(subject.scale * part for part in episode))

        def classify(images: tf.Tensor) -> tf.Tensor:
            points = subject.scale * subject.model(images, training=False)
            return subject.model.head.classify(episode, points)

        logits = classify(images)
        # Which way is worst does not depend on how far one goes.
        worst = vat.perturbation(images, logits, classify, noise, epsilon=1.0)
        moved = (classify(images + epsilon * worst) for epsilon in epsilons)
        return tf.stack(
            [tf.reduce_mean(vat.divergence(logits, each)) for each in moved]
        )

    return losses


def _table(measured: Sequence[Losses]) -> list[str]:
    """Returns lines with the losses of all runs, a column for each length."""
    shares = [f"{share:g}" for share in measured[0].epsilons]
    header = ["average VAT loss, by length of the change", "scale", *shares]
    rows = [
        [each.label, each.scale, *(format_mean(values) for values in each.losses.T)]
        for each in measured
    ]
    return report.align([header, *rows]).splitlines()


def draw(measured: Sequence[Losses]) -> "Figure":
    """Draws loss against length of the change; the lower, the smoother its answers."""
    scales = list(dict.fromkeys(each.scale for each in measured))
    figure = figures.new_figure(figures.PAGE, 2.9)
    panels = figure.subplots(1, 2, sharey=True)
    looks = styles([each.label for each in measured])
    for axes, name in zip(panels, scales, strict=False):
        for each in (each for each in measured if each.scale == name):
            shares = list(each.epsilons)
            mean, interval = np.array([mean_and_interval(v) for v in each.losses.T]).T
            look = looks[each.label]
            figures.draw_curve(axes, look, title(each.label), shares, mean, interval)
        axes.set(xscale="log", yscale="log")
        axes.minorticks_off()
        axes.set_xticks(shares, [f"{share:.3g}" for share in shares])
        norm = each.epsilons[shares[0]] / shares[0]
        axes.set(xlabel=f"length of the change / median norm ({norm:.2f})")
        axes.set_title(f"{name} scale", loc="left")
    for axes in panels[len(scales) :]:
        axes.set_axis_off()
    panels[0].set(ylabel="average VAT loss (nats)")
    panels[0].legend()
    return figure
