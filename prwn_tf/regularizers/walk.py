"""The prototypical random walk as a regularizer of any head.

Ayyad, Li, Muaz, Albarqouni and Elhoseiny, "Semi-supervised few-shot learning with
prototypical random walks", AAAI 2021.
"""

from collections.abc import Callable

import tensorflow as tf

from prwn_tf.config import TrainConfig
from prwn_tf.heads import gate
from prwn_tf.heads.classes import labeled_points
from prwn_tf.parts import WalkConfig
from prwn_tf.regularizers.base import Context, Regularizer, Terms
from prwn_tf.walk import graph as graph_lib
from prwn_tf.walk import losses, way_out

LEAST_STAY = 1e-3  # chance to stay at any point, where steps are not smoothed


class Walk(Regularizer):
    """Adds weight * (walker + visit) and reports how often the walker came home."""

    Config = WalkConfig

    def __init__(
        self, config: WalkConfig | None = None, compiled: bool = False, **options
    ):
        super().__init__(config, **options)
        steps = range(self.config.steps + 1)
        self._landing = tuple(f"landing/{t}_steps" for t in steps)
        self._on_points = (
            tf.function(self._walk, jit_compile=True, autograph=False)
            if compiled
            else self._walk
        )
        self.names = ("walker", "visit", *self._landing, "visit_entropy")

    @classmethod
    def from_config(cls, config: TrainConfig) -> "Walk":
        """Returns the walk that a config asks for, compiled if it says so."""
        return cls(config.walk, compiled=config.xla == "walk")

    def terms(self, context: Context) -> Terms:
        embedded = context.embedded
        return self._on_points(
            context.answer.prototypes, embedded.unlabeled, embedded.support
        )

    def _walk(
        self, prototypes: tf.Tensor, unlabeled: tf.Tensor, support: tf.Tensor
    ) -> Terms:
        config = self.config
        graph = {
            "smoothing": config.smoothing,
            "self_loop_penalty": config.self_loop_penalty,
            "similarity": self._nearness_to,
        }
        points, steps = (prototypes, unlabeled), (config.steps, config.decay)
        if config.nowhere:
            stay = self._stay(support, unlabeled)
            transitions = graph_lib.log_transitions(*points, **graph)
            walk = way_out.walk_losses(transitions, stay, *steps)
        else:
            walk = losses.walk_losses(*points, *steps, **graph)
        landing = dict(zip(self._landing, tf.unstack(walk.landing), strict=True))
        return Terms(
            losses={
                "walker": config.weight * walk.walker,
                "visit": config.weight * config.visit_weight * walk.visit,
            },
            statistics={**landing, "visit_entropy": walk.visit_entropy},
        )

    def _stay(self, support: tf.Tensor, unlabeled: tf.Tensor) -> tf.Tensor:
        """Returns how likely the walker at each point does not leave to nowhere: [U].

        Mixed with certainty as all steps are; no gradient makes points into strangers.
        """
        points, labels = labeled_points(support)
        weights = gate.belonging(
            points,
            labels,
            unlabeled,
            gate.weighted_classes(points, labels),
            nowhere=self.config.nowhere,
        )
        least = max(self.config.smoothing, LEAST_STAY)
        return tf.stop_gradient(least + (1 - least) * tf.reduce_sum(weights, axis=-1))

    def _nearness_to(self, points: tf.Tensor) -> Callable[[tf.Tensor], tf.Tensor]:
        """Returns the function of others that gives nearness over the temperature."""
        nearness = graph_lib.nearness_to(points)
        return lambda others: nearness(others) / self.config.temperature
