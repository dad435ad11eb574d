"""A small dense network, the encoder of the paper's experiments in the plane."""

import math

import keras
import tensorflow as tf

from prwn_tf.config import TrainConfig
from prwn_tf.encoders.base import Encoder
from prwn_tf.parts import MlpConfig

LAYERS = 3


class MLP(Encoder):
    """Two hidden layers of ReLU and a linear output, on flattened images.

    Args:
        channels: units of a hidden layer.
        size: D, units of the output.
        weight_decay: w adds w / 2 * |kernel|^2 of every layer to the losses.

    Example:
        >>> MLP()(tf.zeros([8, 1, 1, 2])).shape
        TensorShape([8, 4])
    """

    Config = MlpConfig

    def __init__(
        self,
        channels: int = 32,
        weight_decay: float = 0.0,
        seed: int = 0,
        size: int = 4,
        **options,
    ):
        super().__init__(**options)
        # Attributes, because checkpoints do not see the layers in a list.
        for index in range(LAYERS):
            last = index == LAYERS - 1
            layer = keras.layers.Dense(
                size if last else channels,
                activation=None if last else "relu",
                kernel_initializer=keras.initializers.GlorotUniform(
                    seed=LAYERS * seed + index
                ),
                kernel_regularizer=keras.regularizers.L2(weight_decay / 2),
                name=f"dense_{index + 1}",
            )
            setattr(self, layer.name, layer)

    @classmethod
    def from_config(cls, config: TrainConfig) -> "MLP":
        """Returns the untrained encoder that a config asks for."""
        return cls(
            config.channels,
            config.optimizer.weight_decay,
            config.seed,
            config.mlp.size,
        )

    @property
    def dense_layers(self) -> list[keras.layers.Dense]:
        return [getattr(self, f"dense_{index + 1}") for index in range(LAYERS)]

    def build(self, input_shape: tuple) -> None:
        batch, *image = input_shape
        shape = (batch, math.prod(image))
        for layer in self.dense_layers:
            layer.build(shape)
            shape = layer.compute_output_shape(shape)
        self.feature_shape = (1, 1, shape[-1])

    def call(self, images: tf.Tensor, training: bool = False) -> tf.Tensor:
        features = tf.reshape(images, [-1, math.prod(images.shape[1:])])
        for layer in self.dense_layers:
            features = layer(features)
        return features  # [B, D]

    def compute_output_shape(self, input_shape: tuple) -> tuple:
        return input_shape[0], self.dense_layers[-1].units
