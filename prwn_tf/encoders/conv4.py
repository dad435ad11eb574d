"""Conv-4, the encoder of every row in the paper's tables."""

import keras
import tensorflow as tf

from prwn_tf.encoders.conv_block import ConvBlock

BLOCKS = 4


class Conv4(keras.Model):
    """Four conv blocks, flattened: 28x28 images -> D = 64, 84x84 -> D = 1600.

    Example:
        >>> Conv4()(tf.zeros([2, 28, 28, 1])).shape
        TensorShape([2, 64])
    """

    def __init__(
        self,
        channels: int = 64,
        weight_decay: float = 5e-5,
        seed: int = 0,
        fast: bool = False,
        **options,
    ):
        super().__init__(**options)
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

    @property
    def blocks(self) -> list[ConvBlock]:
        return [getattr(self, f"block_{index + 1}") for index in range(BLOCKS)]

    def build(self, input_shape: tuple) -> None:
        shape = tuple(input_shape)
        for block in self.blocks:
            block.build(shape)
            shape = block.compute_output_shape(shape)

    def call(self, images: tf.Tensor, training: bool = False) -> tf.Tensor:
        features = images
        for block in self.blocks:
            features = block(features, training=training)
        size = self.compute_output_shape(images.shape)[-1]
        return tf.reshape(features, [-1, size])  # [B, D]

    def compute_output_shape(self, input_shape: tuple) -> tuple:
        shape = tuple(input_shape)
        for block in self.blocks:
            shape = block.compute_output_shape(shape)
        batch, height, width, channels = shape
        return batch, height * width * channels
