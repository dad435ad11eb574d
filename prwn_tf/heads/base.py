"""What every head answers."""

import abc
from collections.abc import Iterable
from typing import Any, NamedTuple

import keras
import tensorflow as tf

from prwn_tf.config import TrainConfig
from prwn_tf.errors import UserError
from prwn_tf.remembered import Remembered
from prwn_tf.settings import Part


class EmbeddedEpisode(NamedTuple):
    """The images of an episode, embedded."""

    support: tf.Tensor  # [N, K, D]
    queries: tf.Tensor  # [Q, D]
    unlabeled: tf.Tensor  # [U, D]


class Answer(NamedTuple):
    """What a head makes of an episode, in one pass.

    A query that one of the further columns of the scores wins has no class.
    """

    scores: tf.Tensor  # [Q, N] logits of the classes; further columns reject
    prototypes: tf.Tensor  # [N, D] a point for each class, where the walk begins
    own: Any = ()  # what only the head's loss looks at: edges, scores of other nodes


class Head(Remembered, keras.layers.Layer, abc.ABC):
    """Answers an episode from embeddings alone, never from pixels.

    Shapes may have any number of leading axes, so that evaluation answers many
    episodes at once from a split that was embedded once. Numbers are float32, whatever
    the policy: half precision is too coarse for squared distances of several hundred.

    Attributes:
        Config: its settings, if it has any.
        names: of the losses that it is trained by.
        adaptations: what the unlabelled points of a test episode can do, by name;
            "none" is the head as it was trained.
        rivals: what else they can do, to compare with; no run is tested so unasked.
        by_prototypes: whether the nearest prototype is its answer, by squared distance,
            so that prototypes are all that an export needs.
        uses_unlabeled: whether it learns from unlabelled points, and cannot do without.
        joint_batch: whether all images of a training episode share their batch
            statistics. If not, the unlabelled ones have their own, so that distractors
            do not enter the statistics of the labelled images.
        rate_factor: its variables learn at this many times the common rate.
        feature_shape: of the encoder's map before it was flattened, set before `build`.
    """

    Config: type[Part] | None = None
    names: tuple[str, ...] = ("classification",)
    adaptations: tuple[str, ...] = ("none",)
    rivals: tuple[str, ...] = ()
    by_prototypes: bool = False
    uses_unlabeled: bool = False
    joint_batch: bool = False
    rate_factor: float = 1.0
    feature_shape: tuple[int, int, int]

    def __init__(self, **options):
        super().__init__(**{"dtype": "float32"} | options)

    @classmethod
    def from_config(cls, config: TrainConfig) -> "Head":
        """Returns the untrained head that a config asks for."""
        del config
        return cls()

    @abc.abstractmethod
    def answer(self, episode: EmbeddedEpisode, training: bool = False) -> Answer:
        """Returns scores of the queries, and what else comes with them."""

    def loss(
        self, episode: EmbeddedEpisode, answer: Answer, labels: tf.Tensor
    ) -> dict[str, tf.Tensor]:
        """Returns what the head is trained by, under its `names`.

        Unless overridden, that is the cross entropy of the queries.

        Args:
            labels: [Q] the classes of the queries.
        """
        del episode
        return {
            "classification": tf.reduce_mean(
                tf.nn.sparse_softmax_cross_entropy_with_logits(labels, answer.scores)
            )
        }

    def classify(
        self, episode: EmbeddedEpisode, points: tf.Tensor, training: bool = False
    ) -> tf.Tensor:
        """Returns the scores of further points, as if they were queries: [P, N]."""
        return self.answer(episode._replace(queries=points), training).scores

    def adapted(self, adapt: str) -> "Head":
        """Returns a head of the same weights that adapts to unlabelled points."""
        self.check_adaptations([adapt])
        return self

    def check_adaptations(self, names: Iterable[str]) -> None:
        """Raises if the head has not all of some adaptations."""
        known = (*self.adaptations, *self.rivals)
        for name in names:
            if name not in known:
                raise UserError(
                    f"--adapt={name} means nothing to {type(self).__name__}, the head "
                    f"of this model; it has {', '.join(known)}"
                )
