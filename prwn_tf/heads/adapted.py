"""A head whose classes the unlabelled points of an episode have moved, by name."""

from collections.abc import Callable

import tensorflow as tf

from prwn_tf.heads import prototypes
from prwn_tf.heads.base import Answer, EmbeddedEpisode, Head
from prwn_tf.heads.classes import Classes
from prwn_tf.heads.gate import gated_classes
from prwn_tf.heads.label_mass import spread_classes
from prwn_tf.heads.oslo import oslo_classes
from prwn_tf.heads.unit_kmeans import clustered_classes

# Name -> support [N, K, D], unlabelled points [U, D] -> classes.
ADAPT: dict[str, Callable[[tf.Tensor, tf.Tensor], Classes]] = {
    "none": lambda support, _: Classes(prototypes.mean_prototypes(support)),
    "refine": lambda *points: Classes(prototypes.refine(*points)),
    "filter": lambda *points: Classes(prototypes.filtered(*points)),
    "gate": gated_classes,
    "propagate": spread_classes,
    "oslo": oslo_classes,
    "kmeans": clustered_classes,
}


class AdaptedHead(Head):
    """Answers by the nearest class, each moved as an adaptation has it."""

    def __init__(self, adapt: str):
        super().__init__()
        self.adapt = adapt

    def answer(self, episode: EmbeddedEpisode, training: bool = False) -> Answer:
        classes = ADAPT[self.adapt](episode.support, episode.unlabeled)
        return Answer(classes.scores(episode.queries), classes.prototypes)
