"""A linear layer over the training classes: what an encoder is trained by before.

Chen et al., "A closer look at few-shot classification", ICLR 2019, and most after it
train an encoder so, by the cross entropy of mini-batches, and then ask prototypes.
"""

import keras
import tensorflow as tf

from prwn_tf.config import TrainConfig
from prwn_tf.heads.base import Answer, EmbeddedEpisode
from prwn_tf.heads.prototypes import NearestPrototype, mean_prototypes


class LinearHead(NearestPrototype):
    """Tells the training classes by a linear layer, those of an episode by prototypes.

    Which of the two is asked, the support says: a mini-batch has none.

    Args:
        classes: of the training split.
        weight_decay: w adds w / 2 * |kernel|^2 to the losses.
    """

    def __init__(
        self, classes: int, weight_decay: float = 0.0, seed: int = 0, **options
    ):
        super().__init__(**options)
        self.layer = keras.layers.Dense(
            classes,
            kernel_initializer=keras.initializers.GlorotUniform(seed),
            kernel_regularizer=keras.regularizers.L2(weight_decay / 2),
            dtype="float32",
            name="layer",
        )

    @classmethod
    def from_config(cls, config: TrainConfig) -> "LinearHead":
        return cls(
            config.classifier.classes, config.optimizer.weight_decay, config.seed
        )

    def build(self, input_shape: tuple) -> None:
        self.layer.build(input_shape)

    def prototypes(self, support: tf.Tensor, unlabeled: tf.Tensor) -> tf.Tensor:
        del unlabeled
        return mean_prototypes(support)

    def answer(self, episode: EmbeddedEpisode, training: bool = False) -> Answer:
        if episode.support.shape[-2]:
            return super().answer(episode, training)
        # A class's column of the kernel is the point that scores highest for its norm.
        return Answer(self.layer(episode.queries), tf.transpose(self.layer.kernel))
