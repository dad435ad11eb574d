"""Local consistency: how much an answer moves when the image is moved a little."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import tensorflow as tf
import tqdm

from prwn_tf.analysis import figures
from prwn_tf.analysis.findings import Finding, format_mean, mean_and_interval
from prwn_tf.analysis.settings import Settings
from prwn_tf.analysis.subject import Subject
from prwn_tf.config import EpisodeSpec
from prwn_tf.episodes.plan import Plan
from prwn_tf.errors import UserError
from prwn_tf.heads.prototypes import mean_prototypes, nearest_scores
from prwn_tf.regularizers import vat

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def analyze(subjects: Sequence[Subject], settings: Settings) -> Finding:
    """Measures the average VAT loss of every run."""
    losses = {
        subject.label: adversarial_loss(
            subject, settings.spec, settings.episodes, settings.epsilon
        )
        for subject in subjects
    }
    rows = []
    for label, values in losses.items():
        mean, interval = mean_and_interval(values)
        rows.append({"run": label, "vat_loss": mean, "interval": interval})
    return Finding(
        name="consistency",
        lines=[
            f"{label:12} average VAT loss {format_mean(values)}"
            for label, values in losses.items()
        ],
        numbers={**settings.about("epsilon"), "rows": rows},
        tables={"consistency": rows},
        figures={"consistency": figures.render(draw, losses)},
    )


def adversarial_loss(
    subject: Subject, spec: EpisodeSpec, episodes: int, epsilon: float = 8.0
) -> np.ndarray:
    """Returns the mean VAT loss of the unlabelled points of each episode: [E].

    Batch norm uses its moving averages, as in every test.
    """
    if spec.unlabeled_points == 0:
        raise UserError(
            "local consistency is measured on unlabelled images, got --unlabeled=0"
        )
    loss = _compile_loss(subject, epsilon)
    progress = tqdm.tqdm(
        enumerate(subject.plans(spec, episodes)),
        desc=f"consistency of {subject.label}",
        total=episodes,
        disable=None,
        leave=False,
    )
    losses = [_episode_loss(subject, loss, plan, index) for index, plan in progress]
    return np.array(losses)


def _episode_loss(subject: Subject, loss: Callable, plan: Plan, index: int) -> float:
    """Returns the mean loss of one episode."""
    prototypes = mean_prototypes(subject.embeddings.gather(plan.support))  # [N, D]
    images = tf.image.convert_image_dtype(
        subject.store.read(plan.unlabeled.numpy()), tf.float32
    )
    noise = tf.random.stateless_normal(images.shape, [subject.seed, index])
    return float(loss(prototypes, images, noise))


def _compile_loss(subject: Subject, epsilon: float) -> Callable:
    """Returns a function of prototypes [N, D], images [U, H, W, C] and their noise."""

    @tf.function(autograph=False)
    def loss(prototypes: tf.Tensor, images: tf.Tensor, noise: tf.Tensor) -> tf.Tensor:
        def classify(images: tf.Tensor) -> tf.Tensor:
            return nearest_scores(prototypes, subject.model(images, training=False))

        return tf.reduce_mean(
            vat.adversarial_loss(images, classify(images), classify, noise, epsilon)
        )

    return loss


def draw(losses: Mapping[str, np.ndarray]) -> "Figure":
    """Draws a bar for each run; the lower, the smoother its answers."""
    figure = figures.new_figure(figures.COLUMN, 0.7 + 0.35 * len(losses))
    axes = figure.subplots()
    for index, (label, values) in enumerate(losses.items()):
        mean, interval = mean_and_interval(values)
        color = figures.COLORS[index % len(figures.COLORS)]
        axes.barh(label, mean, xerr=interval, color=color, height=0.6, capsize=2)
        axes.annotate(
            f"{mean:.2f} ± {interval:.2f}",
            (mean + interval, index),
            xytext=(4, 0),
            textcoords="offset points",
            va="center",
        )
    axes.invert_yaxis()
    axes.grid(False, axis="y")
    axes.margins(x=0.35)
    axes.set(xlabel="average VAT loss (nats)")
    return figure
