"""Convolution, batch norm, ReLU, max-pool: the block Conv-4 is made of."""

import keras
import tensorflow as tf

from prwn_tf.encoders import averages
from prwn_tf.encoders.fast_block import fast_block
from prwn_tf.encoders.thin_block import thin_block

THIN = 3  # channels of images, grey or colour


class ConvBlock(keras.layers.Layer):
    """3x3 convolution -> batch norm -> ReLU -> 2x2 max-pool: halves height and width.

    The convolution has no bias: batch norm subtracts it again.

    Args:
        weight_decay: w adds w / 2 * |kernel|^2 to the losses.
        fast: compute the same function in a way arranged for a CPU.
    """

    def __init__(
        self,
        channels: int,
        weight_decay: float,
        seed: int,
        fast: bool = False,
        **options,
    ):
        super().__init__(**options)
        self.fast = fast
        self.convolution = keras.layers.Conv2D(
            channels,
            kernel_size=3,
            padding="same",
            use_bias=False,
            kernel_initializer=keras.initializers.TruncatedNormal(
                stddev=0.01, seed=seed
            ),
            kernel_regularizer=keras.regularizers.L2(weight_decay / 2),
            name="convolution",
        )
        self.norm = keras.layers.BatchNormalization(
            momentum=0.9, epsilon=1e-5, name="norm"
        )

    def build(self, input_shape: tuple) -> None:
        self.convolution.build(input_shape)
        self.norm.build(self.convolution.compute_output_shape(input_shape))

    def call(self, images: tf.Tensor, training: bool = False) -> tf.Tensor:
        if self.fast:
            # A frozen batch norm answers in training as at test time.
            learns = training and self.norm.trainable
            return self._train_fast(images) if learns else self._infer_fast(images)
        features = self.norm(self.convolution(images), training=training)
        return tf.nn.max_pool2d(tf.nn.relu(features), 2, 2, "VALID")

    def _train_fast(self, images: tf.Tensor) -> tf.Tensor:
        norm = self.norm
        weights = (self.convolution.kernel, norm.gamma, norm.beta)
        weights = [tf.convert_to_tensor(weight) for weight in weights]
        if images.shape[-1] <= THIN:
            # Half precision saves nothing here, so there is none.
            exact = [tf.cast(part, norm.gamma.dtype) for part in (images, *weights)]
            output = thin_block(*exact, norm.epsilon)
        else:
            pilot = tf.convert_to_tensor(norm.moving_mean)
            output = fast_block(images, *weights, pilot, norm.epsilon)
        averages.move(norm, output.mean, output.variance)
        return tf.cast(output.activations, images.dtype)

    def _infer_fast(self, images: tf.Tensor) -> tf.Tensor:
        features = averages.folded(self.convolution, self.norm, images)
        return tf.nn.max_pool2d(tf.nn.relu(features), 2, 2, "VALID")

    def compute_output_shape(self, input_shape: tuple) -> tuple:
        batch, height, width, _ = input_shape
        return batch, height // 2, width // 2, self.convolution.filters
