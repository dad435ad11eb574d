"""What every head answers."""

import abc

import keras
import tensorflow as tf


class Head(keras.layers.Layer, abc.ABC):
    """Scores the queries of an episode from embeddings alone, never from pixels.

    Shapes may have any number of leading axes, so that evaluation scores many
    episodes at once from a split that was embedded once.
    """

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
        """Logits of the classes: [N, K, D], [Q, D], [U, D] -> [Q, N]."""

    @property
    def semi_supervised(self) -> bool:
        """Whether the scores depend on the unlabelled points."""
        return True
