"""Batch norm in training with what follows it in a residual block, for a CPU.

The same functions as the plain operations, with the same gradients. As in `fast_block`
every pass over a tensor is compiled into one loop, sums are added along rows first, and
nothing is kept for the gradient that can be computed from the convolution again.

With y the convolution, x̂ the normalised y, k = scale / std, a = slope of the leaky
ReLU, dz the gradient before it and n the numbers of a channel, the gradient to y is

    dy = k dz + c1 y + c0,
    c1 = −k Σ(dz x̂) / (n std),   c0 = −k Σ(dz) / n − c1 mean.
"""

import functools
from typing import NamedTuple

import tensorflow as tf

from prwn_tf.encoders import second_gradients
from prwn_tf.encoders.fast_block import channel_sum, sum_rows, unpool_gradient


class Normalized(NamedTuple):
    """The activations, and the batch statistics of what was normalised."""

    activations: tf.Tensor  # [B, H, W, channels]
    mean: tf.Tensor  # [channels]
    variance: tf.Tensor  # [channels]


def normalize(
    features: tf.Tensor,
    scale: tf.Tensor,
    offset: tf.Tensor,
    pilot: tf.Tensor,
    epsilon: float,
    slope: float = 1.0,
) -> Normalized:
    """Returns leaky_relu(batch_norm(features)), by batch statistics.

    Args:
        features: [B, H, W, channels], of any precision, which the activations have too.
        scale, offset: [channels], batch norm's gamma and beta.
        pilot: [channels], a guess of the mean. Taken off first, it keeps the digits of
            a variance much smaller than the mean.
        slope: of the leaky ReLU below zero; 1 for none.
    """
    plain = functools.partial(plain_norm, epsilon=epsilon, slope=slope)

    @tf.custom_gradient
    def norm(features, scale, offset):
        count = tf.cast(tf.size(features) // tf.size(scale), scale.dtype)
        guess = tf.stop_gradient(pilot)
        gap = channel_sum(_sum_deviations(features, guess, 1)) / count
        squares = channel_sum(_sum_deviations(features, guess, 2)) / count
        mean, variance = gap + guess, tf.maximum(squares - gap * gap, 0)
        deviation = tf.sqrt(variance + epsilon)
        factor = scale / deviation  # k
        shift = offset - factor * mean
        activations = _activate(features, factor, shift, slope)

        def gradient(upstream, *unused):
            given = (features, upstream, factor, shift, slope)
            d_offset = channel_sum(_sum_gradients(*given))
            d_scale = channel_sum(_sum_gradients(*given, mean)) / deviation
            c1 = -factor * d_scale / (count * deviation)
            c0 = -factor * d_offset / count - c1 * mean
            d_features = _input_gradient(*given, c1, c0)
            return second_gradients.differentiable(
                [d_features, d_scale, d_offset],
                [features, scale, offset],
                upstream,
                plain,
            )

        return (activations, mean, variance), gradient

    return Normalized(*norm(features, scale, offset))


def plain_norm(
    features: tf.Tensor,
    scale: tf.Tensor,
    offset: tf.Tensor,
    epsilon: float,
    slope: float,
) -> tf.Tensor:
    """Returns leaky_relu(batch_norm(features)) by operations that tapes see."""
    exact = tf.cast(features, scale.dtype)
    mean, variance = tf.nn.moments(exact, axes=[0, 1, 2])
    exact = tf.nn.batch_normalization(exact, mean, variance, offset, scale, epsilon)
    return tf.cast(tf.nn.leaky_relu(exact, slope), features.dtype)


def join(main: tf.Tensor, shortcut: tf.Tensor, slope: float) -> tf.Tensor:
    """Returns max_pool(leaky_relu(main + shortcut)): halves height and width.

    Args:
        main, shortcut: [B, H, W, channels].
    """
    plain = functools.partial(plain_join, slope=slope)

    @tf.custom_gradient
    def joined(main, shortcut):
        activations = _pool_sum(main, shortcut, slope)

        def gradient(upstream):
            d_sum = _unpool_sum(main, shortcut, activations, upstream, slope)
            return second_gradients.differentiable(
                [d_sum, d_sum], [main, shortcut], upstream, plain
            )

        return activations, gradient

    return joined(main, shortcut)


def plain_join(main: tf.Tensor, shortcut: tf.Tensor, slope: float) -> tf.Tensor:
    """Returns max_pool(leaky_relu(main + shortcut)) by operations that tapes see.

    The ReLU keeps the order of values, so the pool can come first.
    """
    pooled = tf.nn.max_pool2d(main + shortcut, 2, 2, "VALID")
    return tf.nn.leaky_relu(pooled, slope)


@tf.function(jit_compile=True, autograph=False)
def _sum_deviations(features: tf.Tensor, guess: tf.Tensor, power: int) -> tf.Tensor:
    """Returns sums of powers of deviations along rows: [B, H, W, c] -> [B, H, c]."""
    deviations = tf.cast(features, guess.dtype) - guess
    return sum_rows(guess.dtype, deviations**power)


@tf.function(jit_compile=True, autograph=False)
def _activate(
    features: tf.Tensor, factor: tf.Tensor, shift: tf.Tensor, slope: float
) -> tf.Tensor:
    exact = tf.cast(features, factor.dtype) * factor + shift
    return tf.cast(tf.nn.leaky_relu(exact, slope), features.dtype)


@tf.function(jit_compile=True, autograph=False)
def _sum_gradients(
    features: tf.Tensor,
    upstream: tf.Tensor,
    factor: tf.Tensor,
    shift: tf.Tensor,
    slope: float,
    mean: tf.Tensor | None = None,
) -> tf.Tensor:
    """Returns sums of dz, or of dz (y − mean), along rows: -> [B, H, channels]."""
    dz = _before_relu(features, upstream, factor, shift, slope)
    if mean is not None:
        dz *= tf.cast(features, factor.dtype) - mean
    return sum_rows(dz.dtype, dz)


@tf.function(jit_compile=True, autograph=False)
def _input_gradient(
    features: tf.Tensor,
    upstream: tf.Tensor,
    factor: tf.Tensor,
    shift: tf.Tensor,
    slope: float,
    c1: tf.Tensor,
    c0: tf.Tensor,
) -> tf.Tensor:
    """Returns k dz + c1 y + c0, in one pass."""
    dz = _before_relu(features, upstream, factor, shift, slope)
    exact = tf.cast(features, factor.dtype)
    return tf.cast(factor * dz + c1 * exact + c0, features.dtype)


def _before_relu(
    features: tf.Tensor,
    upstream: tf.Tensor,
    factor: tf.Tensor,
    shift: tf.Tensor,
    slope: float,
) -> tf.Tensor:
    """Returns dz, the gradient before the leaky ReLU."""
    upstream = tf.cast(upstream, factor.dtype)
    if slope == 1:
        return upstream
    positive = tf.cast(features, factor.dtype) * factor + shift > 0
    return tf.where(positive, upstream, slope * upstream)


@tf.function(jit_compile=True, autograph=False)
def _pool_sum(main: tf.Tensor, shortcut: tf.Tensor, slope: float) -> tf.Tensor:
    """Returns max_pool(leaky_relu(main + shortcut)), in one pass."""
    total = _exact_sum(main, shortcut)
    height, width = total.shape[1] // 2 * 2, total.shape[2] // 2 * 2
    corners = [total[:, i:height:2, j:width:2] for i in (0, 1) for j in (0, 1)]
    largest = functools.reduce(tf.maximum, corners)
    return tf.cast(tf.nn.leaky_relu(largest, slope), main.dtype)


@tf.function(jit_compile=True, autograph=False)
def _unpool_sum(
    main: tf.Tensor,
    shortcut: tf.Tensor,
    activations: tf.Tensor,
    upstream: tf.Tensor,
    slope: float,
) -> tf.Tensor:
    """Returns the gradient to main + shortcut, in one pass over both."""
    total = _exact_sum(main, shortcut)
    dz = tf.cast(tf.where(activations > 0, upstream, slope * upstream), total.dtype)
    one, zero = tf.ones([], total.dtype), tf.zeros([], total.dtype)
    return tf.cast(unpool_gradient(total, dz, one, zero, zero), main.dtype)


def _exact_sum(main: tf.Tensor, shortcut: tf.Tensor) -> tf.Tensor:
    """Returns main + shortcut in single precision or better."""
    exact = tf.float64 if main.dtype == tf.float64 else tf.float32
    return tf.cast(main, exact) + tf.cast(shortcut, exact)
