"""Where the walker goes when distractors are about (methods of the paper's filter).

Points of an episode's own classes are called clean. Three questions, over episodes:
how often is the walker's first point clean, how well does the success score tell
clean points from distractors, and what do the filter and the gate keep.
"""

import dataclasses
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from prwn_tf.analysis.findings import mean_and_interval
from prwn_tf.analysis.subject import Subject, Walkable
from prwn_tf.config import EpisodeSpec
from prwn_tf.errors import UserError
from prwn_tf.heads.gate import gate
from prwn_tf.walk import graph, statistics


class Separation(NamedTuple):
    """How well scores tell clean points from distractors, in each episode."""

    area: np.ndarray  # [E] under the curve: the chance that clean beats distractor
    caught: np.ndarray  # [E, distractor points + 1] share of clean points found
    alarms: np.ndarray  # [distractor points + 1] at this share of distractors taken


@dataclasses.dataclass(frozen=True)
class Visits:
    """What the walk says about the unlabelled points of many episodes."""

    label: str
    clean: int  # the first `clean` points of an episode are clean
    raw: np.ndarray  # [E] chance that the first point is clean
    smoothed: np.ndarray  # [E] the same on the smoothed graph, as published
    smoothing: float  # of that graph
    scores: np.ndarray  # [E, U] log of the success score of each point
    kept: np.ndarray  # [E, U] whether the filter keeps it
    belongs: np.ndarray  # [E, U] how far it belongs to a class by the gate

    @property
    def ceiling(self) -> float:
        """What `smoothed` is if every choice leads to a clean point."""
        return 1 - self.smoothing * (1 - self.clean / self.scores.shape[1])

    @property
    def separation(self) -> Separation:
        """How well the scores tell clean points from distractors."""
        return separate(self.scores, self.clean)

    @property
    def kept_clean(self) -> np.ndarray:
        """Share of clean points among those the filter keeps: [E]."""
        return self.kept[:, : self.clean].sum(axis=1) / self.kept.sum(axis=1)

    @property
    def clean_kept(self) -> np.ndarray:
        """Share of the clean points that the filter keeps: [E]."""
        return self.kept[:, : self.clean].mean(axis=1)

    @property
    def distractors_kept(self) -> np.ndarray:
        """Share of the distractors that the filter keeps: [E]."""
        return self.kept[:, self.clean :].mean(axis=1)

    @property
    def belonging_clean(self) -> np.ndarray:
        """Share of clean points in what belongs to a class by the gate: [E]."""
        total = self.belongs.sum(axis=1)
        clean = self.belongs[:, : self.clean].sum(axis=1)
        return np.divide(clean, total, out=np.ones_like(total), where=total > 0)

    def episode_values(self) -> dict[str, np.ndarray]:
        """Returns every number of single episodes, by name: each [E]."""
        return {
            "p_clean_raw": self.raw,
            "p_clean_smoothed": self.smoothed,
            "p_dist_raw": 1 - self.raw,
            "p_dist_smoothed": 1 - self.smoothed,
            "roc_area": self.separation.area,
            "clean_share_of_kept": self.kept_clean,
            "kept_share_of_clean": self.clean_kept,
            "kept_share_of_distractors": self.distractors_kept,
            "gate_roc_area": separate(self.belongs, self.clean).area,
            "clean_share_by_gate": self.belonging_clean,
            "gate_share_of_clean": self.belongs[:, : self.clean].mean(axis=1),
            "gate_share_of_distractors": self.belongs[:, self.clean :].mean(axis=1),
        }

    def summary(self) -> dict[str, Any]:
        """Returns means over episodes, each with its interval."""
        row: dict[str, Any] = {"run": self.label}
        for name, values in self.episode_values().items():
            row[name], row[f"{name}_interval"] = mean_and_interval(values)
        return row


def follow_walker(
    subject: Subject, spec: EpisodeSpec, episodes: int, smoothing: float = 0.1
) -> Visits:
    """Follows the walker's first step through episodes with distractors."""
    if spec.distractors == 0 or spec.unlabeled == 0:
        raise UserError(
            "where the walker goes is asked of episodes with distractors among the "
            f"unlabelled images, got --distractors={spec.distractors} "
            f"--unlabeled={spec.unlabeled}"
        )
    parts = [
        _follow_batch(batch, spec.clean_points, smoothing)
        for batch in subject.episodes(spec, episodes)
    ]
    raw, smoothed, *others = map(np.concatenate, zip(*parts, strict=True))
    clean = spec.clean_points
    return Visits(subject.label, clean, raw, smoothed, smoothing, *others)


def _follow_batch(
    episodes: Walkable, clean: int, smoothing: float
) -> tuple[np.ndarray, ...]:
    """Returns the arrays of `Visits`, for some episodes."""
    leave = tf.nn.log_softmax(graph.nearness(*episodes))  # [E, N, U]

    def clean_share(smoothing: float) -> tf.Tensor:
        steps = tf.exp(graph.smooth(leave, smoothing))
        return tf.reduce_sum(statistics.visit_probability(steps)[:, :clean], axis=1)

    scores = statistics.log_success(*episodes)
    tensors = (
        clean_share(0),
        clean_share(smoothing),
        scores,
        statistics.keep_above_median(scores),
        _belonging(episodes),
    )
    return tuple(tensor.numpy() for tensor in tensors)


def _belonging(episodes: Walkable) -> tf.Tensor:
    """Returns how far points belong to a class by the gate, which sees prototypes.

    [E, N, D], [E, U, D] -> [E, U].
    """
    labels = tf.eye(episodes.prototypes.shape[-2], dtype=episodes.prototypes.dtype)
    weights = gate(episodes.prototypes, labels, episodes.unlabeled).weights
    return tf.reduce_sum(weights, axis=-1)


def separate(scores: np.ndarray, clean: int) -> Separation:
    """Returns the curve of each episode from its scores [E, U], clean points first.

    After the k highest distractors are taken, all clean points above the next one are
    found too; ties count half.
    """
    others = -np.sort(-scores[:, clean:], axis=1)  # from the highest down
    caught = np.stack(
        [_share_above(*each) for each in zip(scores[:, :clean], others, strict=True)]
    )  # [E, distractors]
    points = others.shape[-1]
    return Separation(
        area=np.mean(caught, axis=1),
        caught=np.concatenate([caught, np.ones((len(scores), 1))], axis=1),
        alarms=np.arange(points + 1) / points,
    )


def _share_above(own: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Returns the share of scores [clean] above each other one; ties count half."""
    ascending = np.sort(own)
    below, upto = (
        np.searchsorted(ascending, others, side=s) for s in ("left", "right")
    )
    return 1 - (below + upto) / (2 * len(own))
