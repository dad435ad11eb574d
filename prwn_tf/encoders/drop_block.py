"""DropBlock: dropout of squares, since neighbours in a map know the same.

Ghiasi et al., "DropBlock: a regularization method for convolutional networks", NeurIPS
2018, on the schedule of Ye et al. (CVPR 2020).
"""

import keras
import tensorflow as tf


class DropBlock(keras.layers.Layer):
    """Sets squares of feature maps to zero, each channel by itself, in training.

    The share that is dropped grows with the number of batches seen. That number is kept
    with the weights, and addresses what is drawn: a resumed run draws the same.

    Args:
        rate: share of a map that is dropped in the end, about.
        size: of a square; where maps are smaller, all of the map.
        ramp: batches after which the rate is reached.
    """

    def __init__(
        self,
        rate: float = 0.1,
        size: int = 5,
        ramp: int = 40_000,
        seed: int = 0,
        **options,
    ):
        super().__init__(**options)
        self.rate = rate
        self.size = size
        self.ramp = ramp
        self.seed = seed

    def build(self, input_shape: tuple) -> None:
        self.batches = self.add_weight(
            shape=(),
            initializer="zeros",
            dtype="int32",
            trainable=False,
            name="batches",
        )

    def call(self, features: tf.Tensor, training: bool = False) -> tf.Tensor:
        if not training or self.rate == 0:
            return features
        self.batches.assign_add(1)
        kept = self.kept(tf.shape(features), *features.shape[1:3])
        # The mean of what is kept makes up for what is not.
        share = tf.reduce_mean(kept)
        return features * tf.cast(tf.math.divide_no_nan(kept, share), features.dtype)

    def kept(self, shape: tf.Tensor, height: int, width: int) -> tf.Tensor:
        """Returns ones, and zeros in squares around what is drawn: [B, H, W, C]."""
        size = min(self.size, height, width)
        rows, columns = height - size + 1, width - size + 1  # where a square can begin
        batches = tf.convert_to_tensor(self.batches)
        grown = tf.minimum(tf.cast(batches, tf.float32) / self.ramp, 1.0)
        chance = grown * self.rate / size**2 * height * width / (rows * columns)
        drawn = tf.random.stateless_uniform(
            [shape[0], rows, columns, shape[3]],
            [self.seed, batches],
            alg="philox",
        )
        begins = tf.cast(drawn < chance, tf.float32)
        border = [size - 1, size - 1]
        padded = tf.pad(begins, [[0, 0], border, border, [0, 0]])
        return 1 - tf.nn.max_pool2d(padded, size, 1, "VALID")

    def compute_output_shape(self, input_shape: tuple) -> tuple:
        return input_shape
