"""Accuracy over many episodes, scored in batches from cached embeddings."""

import dataclasses
import functools
from collections.abc import Callable, Sequence

import numpy as np
import tensorflow as tf

from prwn_tf.config import ASKED, EpisodeSpec
from prwn_tf.episodes import plan as plan_lib
from prwn_tf.episodes import pools as pools_lib
from prwn_tf.episodes.pipeline import query_labels
from prwn_tf.episodes.pools import Pools
from prwn_tf.evaluation.embeddings import Embeddings
from prwn_tf.heads.base import EmbeddedEpisode, Head
from prwn_tf.model import accuracy

BATCH_NUMBERS = 2**23  # scores and similarities held at once


@dataclasses.dataclass(frozen=True)
class Evaluation:
    """How well a head did on a run of episodes."""

    spec: EpisodeSpec
    adapt: str
    accuracies: np.ndarray  # [E] share of correct queries of each episode
    refines: bool = False  # whether the head itself learns from the unlabelled points

    @property
    def semi_supervised(self) -> bool:
        """Whether the unlabelled points had a say."""
        return self.refines or self.adapt != "none"

    @property
    def accuracy(self) -> float:
        """Share of correct queries of all episodes."""
        return float(np.mean(self.accuracies))

    @property
    def interval(self) -> float:
        """Half the width of the 95 % confidence interval over episodes."""
        return half_width(self.accuracies)

    def row(self) -> dict[str, float | int | str]:
        """Returns the evaluation as it is stored."""
        return {
            "adapt": self.adapt,
            "semi_supervised": self.semi_supervised,
            **{name: getattr(self.spec, name) for name in ASKED},
            "accuracy": self.accuracy,
            "interval": self.interval,
            "episodes": len(self.accuracies),
        }

    @property
    def percent(self) -> str:
        """Accuracy and interval as they are printed."""
        return f"{100 * self.accuracy:.2f} ± {100 * self.interval:.2f}"

    def __str__(self) -> str:
        way = "the head's own way" if self.adapt == "none" else self.adapt
        kind = f"semi-supervised: {way}" if self.semi_supervised else "inductive"
        return f"{self.percent} {kind}"


def half_width(values: np.ndarray) -> float:
    """Returns half the width of the 95 % interval of a mean over episodes: [E]."""
    return float(1.96 * np.std(values) / np.sqrt(len(values)))


class Evaluator:
    """Scores the episodes of a split with a trained head and its adaptations."""

    def __init__(self, pools: Pools, head: Head, seed: int):
        self._pools = pools
        self._head = head
        self._seed = seed
        self._scorers = {}  # compiled once for each kind of episode

    def __call__(
        self,
        embeddings: Embeddings,
        spec: EpisodeSpec,
        adaptations: Sequence[str],
        episodes: int,
    ) -> list[Evaluation]:
        """Scores episodes 0..episodes-1 from the split's embeddings."""
        pools_lib.check(self._pools, spec)
        plans = tf.data.Dataset.range(episodes).map(
            plan_lib.planner(self._pools, spec, self._seed),
            num_parallel_calls=tf.data.AUTOTUNE,
        )
        score = self._scorer(spec, tuple(adaptations))
        batches = plans.batch(_batch_size(spec, embeddings.shape[-1]))
        accuracies = np.concatenate(
            [score(*_vectors(embeddings, plan)) for plan in batches], axis=1
        )  # [adaptations, E]
        refines = self._head.uses_unlabeled and spec.unlabeled_points > 0
        return [
            Evaluation(spec, adapt, values, refines)
            for adapt, values in zip(adaptations, accuracies, strict=True)
        ]

    def _scorer(self, spec: EpisodeSpec, adaptations: tuple[str, ...]) -> Callable:
        key = (spec, adaptations)
        if key not in self._scorers:
            heads = [self._head.adapted(adapt) for adapt in adaptations]
            self._scorers[key] = tf.function(
                functools.partial(_score, spec, heads),
                reduce_retracing=True,
                autograph=False,
            )
        return self._scorers[key]


def _vectors(embeddings: Embeddings, plan: plan_lib.Plan) -> list[tf.Tensor]:
    """Returns support [E, N, K, D], queries [E, N, q, D], unlabelled [E, U, D]."""
    parts = (plan.support, plan.query, plan.unlabeled)
    return [embeddings.gather(part) for part in parts]


def _score(
    spec: EpisodeSpec,
    heads: Sequence[Head],
    support: tf.Tensor,
    queries: tf.Tensor,
    unlabeled: tf.Tensor,
) -> tf.Tensor:
    """Returns the accuracy of each head on each episode.

    [E, N, K, D], [E, N, q, D], [E, U, D] -> [heads, E].
    """
    labels = query_labels(spec.way, spec.query)  # [Q]
    queries = tf.reshape(queries, [-1, spec.queries, queries.shape[-1]])  # [E, Q, D]
    episodes = EmbeddedEpisode(support, queries, unlabeled)
    return tf.stack([accuracy(head.answer(episodes).scores, labels) for head in heads])


def _batch_size(spec: EpisodeSpec, size: int) -> int:
    """Returns how many episodes are scored at once, within a budget of memory."""
    points = spec.queries + spec.unlabeled_points
    return max(1, min(100, BATCH_NUMBERS // (points * (spec.way + size))))
