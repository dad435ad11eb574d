"""A trained run as the analyses see it: a split embedded by its model."""

import dataclasses
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import tensorflow as tf

from prwn_tf.config import EpisodeSpec
from prwn_tf.data.store.reader import ClassStore
from prwn_tf.episodes import plan as plan_lib
from prwn_tf.episodes import pools as pools_lib
from prwn_tf.episodes.plan import Plan
from prwn_tf.episodes.pools import Pools
from prwn_tf.evaluation.calibration import Calibration
from prwn_tf.evaluation.embeddings import Embeddings
from prwn_tf.heads.base import EmbeddedEpisode
from prwn_tf.model import FewShotModel
from prwn_tf.training.validation import Validation

BATCH_NUMBERS = 2**22  # embeddings and similarities held at once


class Walkable(NamedTuple):
    """Where a walk begins and what it goes through, in several episodes."""

    prototypes: tf.Tensor  # [E, N, D] the head's own
    unlabeled: tf.Tensor  # [E, U, D]


@dataclasses.dataclass(frozen=True)
class Subject:
    """What is compared: a label for the legend, a model, a split and its embeddings.

    Attributes:
        seed: draws the episodes.
        scale: what prototypes and points are multiplied by before a walk.
        validations: of the run on its way, if it has kept them.
        calibration: what its validation classes say of its answers, if they do.
    """

    label: str
    model: FewShotModel
    store: ClassStore
    pools: Pools
    embeddings: Embeddings
    seed: int
    scale: float = 1.0
    validations: Sequence[Validation] = ()
    calibration: Calibration | None = None

    def episodes(self, spec: EpisodeSpec, count: int) -> Iterator[Walkable]:
        """Yields episodes 0..count-1 in batches, the same for every subject."""
        size = self.embeddings.shape[-1]
        for plan in self.plans(spec, count).batch(_batch_size(spec, size)):
            episodes = self.embedded(plan)
            prototypes = self.model.head.answer(episodes).prototypes
            yield Walkable(self.scale * prototypes, self.scale * episodes.unlabeled)

    def embedded(self, plan: Plan) -> EmbeddedEpisode:
        """Returns the embeddings of one planned episode, or of several at once."""
        *leading, way, query = plan.query.shape
        return EmbeddedEpisode(
            support=self.embeddings.gather(plan.support),
            queries=self.embeddings.gather(
                tf.reshape(plan.query, [*leading, way * query])
            ),
            unlabeled=self.embeddings.gather(plan.unlabeled),
        )

    def plans(self, spec: EpisodeSpec, count: int) -> tf.data.Dataset:
        """Returns which images make episodes 0..count-1."""
        pools_lib.check(self.pools, spec)
        return plan_lib.plans(self.pools, spec, self.seed, count)

    def plan(self, spec: EpisodeSpec, index: int) -> Plan:
        """Returns which images make one episode."""
        pools_lib.check(self.pools, spec)
        return plan_lib.planner(self.pools, spec, self.seed)(index)


def _batch_size(spec: EpisodeSpec, size: int) -> int:
    """Returns how many episodes fit a fixed budget of memory."""
    points = spec.unlabeled_points
    numbers = points * (points + size) + spec.way * spec.shot * size
    return int(max(1, min(100, BATCH_NUMBERS // numbers)))
