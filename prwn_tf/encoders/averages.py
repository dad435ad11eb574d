"""The averages that a batch norm keeps: moved in training, folded away at test time."""

import keras
import tensorflow as tf


def move(
    norm: keras.layers.BatchNormalization, mean: tf.Tensor, variance: tf.Tensor
) -> None:
    """Moves a batch norm's averages towards the statistics of a batch, [channels]."""
    for average, batch in ((norm.moving_mean, mean), (norm.moving_variance, variance)):
        average.assign(average * norm.momentum + batch * (1 - norm.momentum))


def folded(
    convolution: keras.layers.Conv2D,
    norm: keras.layers.BatchNormalization,
    images: tf.Tensor,
) -> tf.Tensor:
    """Returns batch_norm(convolution(images)) by averages, as one convolution.

    TensorFlow computes a convolution, its bias and the ReLU behind it in one operation.
    """
    slope = norm.gamma * tf.math.rsqrt(norm.moving_variance + norm.epsilon)
    kernel = tf.cast(convolution.kernel, slope.dtype) * slope
    bias = norm.beta - slope * norm.moving_mean
    features = tf.nn.conv2d(images, tf.cast(kernel, images.dtype), 1, "SAME")
    return tf.nn.bias_add(features, tf.cast(bias, images.dtype))
