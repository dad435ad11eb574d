"""Convolution, batch norm, ReLU, max-pool in training, arranged for a CPU.

The same function as the four plain operations, with the same gradients. What it saves:

- Batch norm with a positive scale, and ReLU, keep the order of values, so the pool can
  come first and they see a quarter of the numbers. A negative scale is made positive
  by turning the sign of that channel's kernel.
- Sums are compiled into one pass that adds along rows; the rest is a product with a
  row of ones, the fastest reduction there is here.
- The gradient of the pool and the last part of batch norm's are one fused pass.
- The gradient to the input is itself a convolution forward.

With y the convolution, p its pool, x̂ the normalised p, k = scale / std, and dz the
gradient behind the ReLU, batch norm's gradient to y is

    dy = unpool(k dz) + c1 y + c0,
    c1 = −k Σ(dz x̂) / (n std),   c0 = −k Σ(dz) / n − c1 mean,

where both sums run over the pool alone, because dz is zero elsewhere.

Of half precision are the images, the convolutions and what lies between them in memory.
Sums, statistics and every pass over a tensor compute with the numbers of the scale.
"""

import functools
import math
from typing import NamedTuple

import tensorflow as tf

from prwn_tf.encoders.second_gradients import differentiable, plain_block


class BlockOutput(NamedTuple):
    """The block's activations, and the batch statistics of its convolution."""

    activations: tf.Tensor  # [B, H / 2, W / 2, channels]
    mean: tf.Tensor  # [channels]
    variance: tf.Tensor  # [channels]


def fast_block(
    images: tf.Tensor,
    kernel: tf.Tensor,
    scale: tf.Tensor,
    offset: tf.Tensor,
    pilot: tf.Tensor,
    epsilon: float,
) -> BlockOutput:
    """Returns max_pool(relu(batch_norm(convolution(images)))), by batch statistics.

    Args:
        images: [B, H, W, C], perhaps of half precision, as are the activations then.
        kernel: [3, 3, C, channels], applied with stride 1 and SAME padding.
        scale, offset: [channels], batch norm's gamma and beta.
        pilot: [channels], a guess of the mean; taken off first, it saves digits.
    """
    plain = functools.partial(plain_block, epsilon=epsilon)

    @tf.custom_gradient
    def block(images, kernel, scale, offset):
        sign = tf.where(scale < 0, -tf.ones_like(scale), tf.ones_like(scale))
        turned = kernel * tf.cast(sign, kernel.dtype)
        # TensorFlow computes a convolution and its bias in one operation.
        shift = tf.cast(tf.stop_gradient(pilot) * sign, images.dtype)
        y = tf.nn.bias_add(tf.nn.conv2d(images, turned, 1, "SAME"), -shift)
        exact = scale.dtype
        count, mean, variance = _moments(y, exact)
        deviation = tf.sqrt(variance + epsilon)
        slope = scale * sign / deviation  # k
        pooled = tf.nn.max_pool2d(y, 2, 2, "VALID")
        activations = _activate(pooled, slope, offset - slope * mean)

        def gradient(d_activations, *unused):
            dz = gate(activations, d_activations)
            d_offset = _product_sum(exact, dz)
            d_scale = (_product_sum(exact, dz, pooled) - mean * d_offset) / deviation
            c1 = -slope * d_scale / (count * deviation)
            c0 = -slope * d_offset / count - c1 * mean
            dy = unpool_gradient(y, dz, slope, c1, c0)
            d_images = convolution_gradient(dy, turned)
            d_kernel = kernel_gradient(images, kernel, dy) * tf.cast(sign, kernel.dtype)
            gradients = [d_images, d_kernel, d_scale * sign, d_offset]
            inputs = [images, kernel, scale, offset]
            return differentiable(gradients, inputs, d_activations, plain)

        true_mean = (mean + tf.cast(shift, exact)) * sign
        return (activations, true_mean, variance), gradient

    return BlockOutput(*block(images, kernel, scale, offset))


def _moments(y: tf.Tensor, exact: tf.DType) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    """Returns how many numbers each channel has, their means and variances."""
    count = tf.cast(tf.size(y) // y.shape[-1], exact)
    mean = _product_sum(exact, y) / count
    return count, mean, tf.maximum(_product_sum(exact, y, y) / count - mean * mean, 0)


def convolution_gradient(dy: tf.Tensor, kernel: tf.Tensor) -> tf.Tensor:
    """Returns a convolution's gradient to its input, a convolution turned around."""
    backwards = tf.transpose(kernel[::-1, ::-1], [0, 1, 3, 2])
    return tf.nn.conv2d(dy, backwards, 1, "SAME")


def kernel_gradient(images: tf.Tensor, kernel: tf.Tensor, dy: tf.Tensor) -> tf.Tensor:
    """Returns a convolution's gradient to its kernel."""
    return tf.raw_ops.Conv2DBackpropFilter(
        input=images,
        filter_sizes=tf.shape(kernel),
        out_backprop=dy,
        strides=[1, 1, 1, 1],
        padding="SAME",
    )


def channel_sum(features: tf.Tensor) -> tf.Tensor:
    """Returns sums over all but the channels: [B, H, W, channels] -> [channels]."""
    flat = tf.reshape(features, [-1, features.shape[-1]])
    ones = tf.ones([1, tf.shape(flat)[0]], flat.dtype)
    return tf.linalg.matmul(ones, flat)[0]


def _product_sum(exact: tf.DType, *factors: tf.Tensor) -> tf.Tensor:
    """Returns exact sums of a product over all but the channels: -> [channels]."""
    return channel_sum(sum_rows(exact, *factors))


@tf.function(jit_compile=True, autograph=False)
def sum_rows(exact: tf.DType, *factors: tf.Tensor) -> tf.Tensor:
    """Returns exact sums of a product along each row: [B, H, W, c] -> [B, H, c].

    Written out, because XLA's own sums are slow on a CPU.
    """
    factors = [tf.cast(factor, exact) for factor in factors]
    columns = zip(*(tf.unstack(factor, axis=2) for factor in factors), strict=True)
    products = [math.prod(column[1:], start=column[0]) for column in columns]
    return sum(products[1:], start=products[0])


@tf.function(jit_compile=True, autograph=False)
def gate(activations: tf.Tensor, d_activations: tf.Tensor) -> tf.Tensor:
    """Returns the gradient of a ReLU."""
    return tf.where(activations > 0, d_activations, 0)


@tf.function(jit_compile=True, autograph=False)
def _activate(pooled: tf.Tensor, slope: tf.Tensor, offset: tf.Tensor) -> tf.Tensor:
    exact = tf.cast(pooled, slope.dtype)
    return tf.cast(tf.nn.relu(exact * slope + offset), pooled.dtype)


@tf.function(jit_compile=True, autograph=False)
def unpool_gradient(
    y: tf.Tensor, dz: tf.Tensor, slope: tf.Tensor, c1: tf.Tensor, c0: tf.Tensor
) -> tf.Tensor:
    """Returns unpool(slope * dz) + c1 * y + c0, compiled into one pass over y.

    Where values of a window are equal, as in the blank parts of a drawing, the first
    wins, as in TensorFlow's own gradient.
    """
    kind = y.dtype
    y, dz = tf.cast(y, slope.dtype), tf.cast(dz, slope.dtype)
    height, width = 2 * dz.shape[1], 2 * dz.shape[2]
    top_left, top_right = y[:, 0:height:2, 0:width:2], y[:, 0:height:2, 1:width:2]
    low_left, low_right = y[:, 1:height:2, 0:width:2], y[:, 1:height:2, 1:width:2]
    top = tf.maximum(top_left, top_right)
    low = tf.maximum(low_left, low_right)
    winner = tf.where(
        top >= low,
        tf.where(top_left >= top_right, 0, 1),
        tf.where(low_left >= low_right, 2, 3),
    )  # [B, H / 2, W / 2, channels], the place in the window
    place = tf.reshape(tf.range(4), [1, 1, 2, 1, 2, 1])
    spread = tf.where(
        winner[:, :, None, :, None] == place, (slope * dz)[:, :, None, :, None], 0
    )  # [B, H / 2, 2, W / 2, 2, channels]
    unpooled = tf.reshape(spread, [-1, height, width, dz.shape[3]])
    # An odd last row or column is in no window.
    odd = [[0, 0], [0, y.shape[1] - height], [0, y.shape[2] - width], [0, 0]]
    return tf.cast(tf.pad(unpooled, odd) + c1 * y + c0, kind)
