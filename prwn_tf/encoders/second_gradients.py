"""Gradients that are written by hand, and can still be differentiated.

What lies between a block's input and its output is computed out of the sight of
gradient tapes, so a gradient of its gradient, as in a gradient penalty, would take all
of that for constant, without a word. It is taken from the plain operations instead,
which costs nothing where nobody asks for it.
"""

from collections.abc import Callable, Sequence

import tensorflow as tf


def plain_block(
    images: tf.Tensor,
    kernel: tf.Tensor,
    scale: tf.Tensor,
    offset: tf.Tensor,
    epsilon: float,
) -> tf.Tensor:
    """Returns max_pool(relu(batch_norm(convolution(images)))), by batch statistics."""
    features = tf.cast(tf.nn.conv2d(images, kernel, 1, "SAME"), scale.dtype)
    mean, variance = tf.nn.moments(features, axes=[0, 1, 2])
    features = tf.nn.batch_normalization(
        features, mean, variance, offset, scale, epsilon
    )
    return tf.cast(tf.nn.max_pool2d(tf.nn.relu(features), 2, 2, "VALID"), images.dtype)


def differentiable(
    gradients: Sequence[tf.Tensor],
    inputs: Sequence[tf.Tensor],
    upstream: tf.Tensor,
    plain: Callable[..., tf.Tensor],
) -> list[tf.Tensor]:
    """Returns the gradients of a function, with gradients of their own.

    Args:
        gradients: to each of the inputs, however they were computed.
        upstream: the gradient to the function's output.
        plain: the same function of the inputs, by operations that tapes see.
    """

    def one(place: int) -> tf.Tensor:
        @tf.custom_gradient
        def known(*given):
            def gradient(upstream_of_gradient):
                *parts, upstream = given
                with tf.GradientTape() as outer:
                    outer.watch(given)
                    with tf.GradientTape() as inner:
                        inner.watch(parts)
                        output = plain(*parts)
                    computed = inner.gradient(output, parts[place], upstream)
                return outer.gradient(
                    computed, given, upstream_of_gradient, tf.UnconnectedGradients.ZERO
                )

            return tf.identity(gradients[place]), gradient

        return known(*inputs, upstream)

    # One by one, so that a gradient which nobody asks for is not computed.
    return [one(place) for place in range(len(inputs))]
