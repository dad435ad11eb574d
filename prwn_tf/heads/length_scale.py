"""The length scale of a point, read off the encoder's map of it.

Liu et al., "Learning to propagate labels: transductive propagation network for few-shot
learning", ICLR 2019.
"""

import math

import keras
import tensorflow as tf

CHANNELS = 64  # of the first block
UNITS = 8  # of the hidden layer
SMALLEST = 1e-3  # a point is divided by its scale; smaller ones have no gradient


class LengthScale(keras.layers.Layer):
    """Two conv blocks and two dense layers: [B, H, W, C] -> [B], never near 0.

    It starts almost alike for all points (decision). The published one starts anywhere,
    and at 0 where ReLU leaves nothing of a map, as it does with half of those of
    28-pixel images, which are one pixel; it then learned to cut all edges, which suits
    the support, and no query.

    Args:
        start: about what it is before training.
        weight_decay: w adds w / 2 * |kernel|^2 of the convolutions to the losses.
    """

    def __init__(
        self,
        start: float = 0.5,
        weight_decay: float = 0.0,
        seed: int = 0,
        **options,
    ):
        super().__init__(**{"dtype": "float32"} | options)
        for index, channels in enumerate((CHANNELS, 1)):
            name = f"convolution_{index + 1}"
            convolution = keras.layers.Conv2D(
                channels,
                kernel_size=3,
                padding="same",
                use_bias=False,  # batch norm subtracts it again
                kernel_initializer=keras.initializers.GlorotUniform(4 * seed + index),
                kernel_regularizer=keras.regularizers.L2(weight_decay / 2),
                name=name,
            )
            setattr(self, name, convolution)
        self.norm_1, self.norm_2 = (
            keras.layers.BatchNormalization(momentum=0.9, epsilon=1e-3) for _ in "12"
        )
        self.hidden = keras.layers.Dense(
            UNITS,
            activation="relu",
            kernel_initializer=keras.initializers.GlorotUniform(4 * seed + 2),
        )
        self.output_layer = keras.layers.Dense(
            1,
            kernel_initializer=keras.initializers.TruncatedNormal(
                stddev=0.01, seed=4 * seed + 3
            ),
            bias_initializer=keras.initializers.Constant(start),
        )

    def build(self, input_shape: tuple) -> None:
        shape = tuple(input_shape)
        for convolution, norm in self._blocks:
            convolution.build(shape)
            batch, height, width, channels = convolution.compute_output_shape(shape)
            norm.build((batch, height, width, channels))
            shape = (batch, -(-height // 2), -(-width // 2), channels)
        self.hidden.build((None, math.prod(shape[1:])))
        self.output_layer.build((None, UNITS))

    def call(self, maps: tf.Tensor, training: bool = False) -> tf.Tensor:
        for convolution, norm in self._blocks:
            maps = tf.nn.relu(norm(convolution(maps), training=training))
            maps = tf.nn.max_pool2d(maps, 2, 2, "SAME")
        flat = tf.reshape(maps, [-1, math.prod(maps.shape[1:])])
        scales = self.output_layer(self.hidden(flat))[:, 0]  # [B]
        tiny = tf.abs(scales) < SMALLEST
        return tf.where(tiny, SMALLEST * tf.ones_like(scales), scales)

    @property
    def _blocks(self) -> list[tuple[keras.layers.Layer, keras.layers.Layer]]:
        return [(self.convolution_1, self.norm_1), (self.convolution_2, self.norm_2)]
