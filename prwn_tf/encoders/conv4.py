"""Conv-4, the encoder of every row in the paper's tables.

Vinyals et al., "Matching networks for one shot learning", NeurIPS 2016.
"""

import math

import keras
import tensorflow as tf

from prwn_tf.config import TrainConfig
from prwn_tf.encoders import embedding_scale
from prwn_tf.encoders.base import Encoder
from prwn_tf.encoders.conv_block import ConvBlock
from prwn_tf.parts import Conv4Config

BLOCKS = 4


class Conv4(Encoder):
    """Four conv blocks, flattened: 28x28 images -> D = 64, 84x84 -> D = 1600.

    Args:
        scale: of the last batch norm at the start; 0 for one that suits D. A trained
            encoder that a run begins with is multiplied by it; 0 for what suits it.
        pool: "max" for the maxima of the last map in its place, D = channels.

    Example:
        >>> Conv4()(tf.zeros([2, 28, 28, 1])).shape
        TensorShape([2, 64])
    """

    Config = Conv4Config

    def __init__(
        self,
        channels: int = 64,
        weight_decay: float = 5e-5,
        seed: int = 0,
        fast: bool = False,
        scale: float = 1.0,
        pool: str = "none",
        **options,
    ):
        super().__init__(**options)
        self._scale = scale
        self._pool = pool
        # Attributes, because checkpoints do not see the layers in a list.
        for index in range(BLOCKS):
            name = f"block_{index + 1}"
            block = ConvBlock(
                channels,
                weight_decay,
                seed=BLOCKS * seed + index,
                fast=fast,
                name=name,
            )
            setattr(self, name, block)

    @classmethod
    def from_config(cls, config: TrainConfig) -> "Conv4":
        """Returns the untrained encoder that a config asks for."""
        return cls(
            config.channels,
            config.optimizer.weight_decay,
            config.seed,
            fast=config.conv_block == "fast",
            scale=config.conv4.scale,
            pool=config.conv4.pool,
        )

    @property
    def blocks(self) -> list[ConvBlock]:
        return [getattr(self, f"block_{index + 1}") for index in range(BLOCKS)]

    def build(self, input_shape: tuple) -> None:
        self.feature_shape = self._feature_shape(input_shape)
        self.block_4.norm.gamma_initializer = keras.initializers.Constant(
            embedding_scale.at_start(self._scale, math.prod(self.feature_shape))
        )
        shape = tuple(input_shape)
        for block in self.blocks:
            block.build(shape)
            shape = block.compute_output_shape(shape)

    def adopt(self, temperature: float) -> None:
        """Multiplies embeddings by the scale, which ReLU and pooling pass on.

        Without one, distances that are too large are divided by their temperature.
        """
        embedding_scale.multiply_trained([self.block_4.norm], self._scale, temperature)

    def call(self, images: tf.Tensor, training: bool = False) -> tf.Tensor:
        features = images
        for block in self.blocks:
            features = block(features, training=training)
        if self._pool == "max":
            return tf.reduce_max(features, axis=(1, 2))
        size = self.compute_output_shape(images.shape)[-1]
        return tf.reshape(features, [-1, size])  # [B, D]

    def compute_output_shape(self, input_shape: tuple) -> tuple:
        return input_shape[0], math.prod(self._feature_shape(input_shape))

    def _feature_shape(self, input_shape: tuple) -> tuple[int, ...]:
        shape = tuple(input_shape)
        for block in self.blocks:
            shape = block.compute_output_shape(shape)
        return (1, 1, shape[-1]) if self._pool == "max" else shape[1:]
