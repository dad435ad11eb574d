"""A trained run as the analyses see it: a split embedded by its model."""

import dataclasses
from collections.abc import Iterator
from typing import NamedTuple

import tensorflow as tf

from prwn_tf.config import EpisodeSpec
from prwn_tf.data.store.reader import ClassStore
from prwn_tf.episodes import plan as plan_lib
from prwn_tf.episodes import pools as pools_lib
from prwn_tf.episodes.pools import Pools
from prwn_tf.evaluation.embeddings import Embeddings
from prwn_tf.model import FewShotModel

BATCH_NUMBERS = 2**22  # embeddings and similarities held at once


class EmbeddedEpisodes(NamedTuple):
    """Several episodes, from the cache of embeddings."""

    support: tf.Tensor  # [E, N, K, D]
    unlabeled: tf.Tensor  # [E, U, D]


@dataclasses.dataclass(frozen=True)
class Subject:
    """What is compared: a label for the legend, a model, a split and its embeddings."""

    label: str
    model: FewShotModel
    store: ClassStore
    pools: Pools
    embeddings: Embeddings
    seed: int  # draws the episodes

    def episodes(self, spec: EpisodeSpec, count: int) -> Iterator[EmbeddedEpisodes]:
        """Yields episodes 0..count-1 in batches, the same for every subject."""
        size = self.embeddings.shape[-1]
        for plan in self.plans(spec, count).batch(_batch_size(spec, size)):
            yield EmbeddedEpisodes(
                support=self.embeddings.gather(plan.support),
                unlabeled=self.embeddings.gather(plan.unlabeled),
            )

    def plans(self, spec: EpisodeSpec, count: int) -> tf.data.Dataset:
        """Returns which images make episodes 0..count-1."""
        pools_lib.check(self.pools, spec)
        plan = plan_lib.planner(self.pools, spec, self.seed)
        return tf.data.Dataset.range(count).map(plan)

    def plan(self, spec: EpisodeSpec, index: int) -> plan_lib.Plan:
        """Returns which images make one episode."""
        pools_lib.check(self.pools, spec)
        return plan_lib.planner(self.pools, spec, self.seed)(index)


def _batch_size(spec: EpisodeSpec, size: int) -> int:
    """Returns how many episodes fit a fixed budget of memory."""
    points = spec.unlabeled_points
    numbers = points * (points + size) + spec.way * spec.shot * size
    return int(max(1, min(100, BATCH_NUMBERS // numbers)))
