"""What every head answers."""

import abc

import keras
import tensorflow as tf

from prwn_tf.config import TrainConfig


class Head(keras.layers.Layer, abc.ABC):
    """Scores the queries of an episode from embeddings alone, never from pixels.

    Shapes may have any number of leading axes, so that evaluation scores many
    episodes at once from a split that was embedded once.
    """

    @classmethod
    def from_config(cls, config: TrainConfig) -> "Head":
        """The untrained head that a config asks for."""
        return cls()

    @abc.abstractmethod
    def prototypes(self, support: tf.Tensor, unlabeled: tf.Tensor) -> tf.Tensor:
        """A point for each class: [N, K, D], [U, D] -> [N, D]."""

    @abc.abstractmethod
    def scores(
        self,
        support: tf.Tensor,
        queries: tf.Tensor,
        unlabeled: tf.Tensor,
        training: bool = False,
    ) -> tf.Tensor:
        """Logits of the classes: [N, K, D], [Q, D], [U, D] -> [Q, N].

        Further columns may follow; a query that one of them wins has no class.
        """

    @property
    def semi_supervised(self) -> bool:
        """Whether the scores depend on the unlabelled points."""
        return True

    @property
    def joint_batch(self) -> bool:
        """Whether all images of a training episode share their batch statistics.

        If not, the unlabelled ones have their own, so that distractors do not enter
        the statistics of the labelled images.
        """
        return False
