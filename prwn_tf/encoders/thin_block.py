"""The same block for images of a few channels, such as the first block of Conv-4.

There the convolution is nearly free, and what costs time is to write and read its
output, many times larger than the images. So that output is never made:

- The convolution of a patch is linear, so its mean and variance follow from the mean
  and covariance of the 3x3 patches, a few dozen numbers.
- With these known, one pass goes from images to activations.
- The gradient's sums run over the patches that won their pooling window; which ones
  they are is computed again from the images.

With x a patch, n their number, G = Σ x xᵀ, s = Σ x, w a channel's kernel, and the rest
as in `fast_block`, where the convolution y = wᵀx,

    Σ(dy x) = k Σ(dz x_winner) + c1 G w + c0 s,   Σ(dz y_winner) = wᵀ Σ(dz x_winner).
"""

import functools

import tensorflow as tf

from prwn_tf.encoders.fast_block import (
    BlockOutput,
    channel_sum,
    convolution_gradient,
    gate,
    unpool_gradient,
)
from prwn_tf.encoders.second_gradients import differentiable, plain_block


def thin_block(
    images: tf.Tensor,
    kernel: tf.Tensor,
    scale: tf.Tensor,
    offset: tf.Tensor,
    epsilon: float,
) -> BlockOutput:
    """Returns max_pool(relu(batch_norm(convolution(images)))), by batch statistics.

    Args:
        images: [B, H, W, C], with few channels C.
        kernel: [3, 3, C, channels], applied with stride 1 and SAME padding.
        scale, offset: [channels], batch norm's gamma and beta.
    """
    plain = functools.partial(plain_block, epsilon=epsilon)

    @tf.custom_gradient
    def block(images, kernel, scale, offset):
        sign = tf.where(scale < 0, -tf.ones_like(scale), tf.ones_like(scale))
        turned = kernel * sign
        weights = tf.reshape(turned, [-1, turned.shape[-1]])  # [9 C, channels]
        count, patch_mean, covariance = _patch_moments(images)
        mean = tf.linalg.matvec(weights, patch_mean, transpose_a=True)
        spread = tf.linalg.matmul(covariance, weights)  # [9 C, channels]
        variance = tf.maximum(tf.reduce_sum(weights * spread, axis=0), 0)
        deviation = tf.sqrt(variance + epsilon)
        slope = scale * sign / deviation  # k
        activations = _activate(images, turned, slope, offset - slope * mean)

        def gradient(d_activations, *unused):
            dz = gate(activations, d_activations)
            won, d_offset = _winning_patches(images, turned, dz)
            d_scale = tf.reduce_sum(weights * won, axis=0) - mean * d_offset
            d_scale /= deviation
            # c1 G w + c0 s, with G = n (covariance + mean meanᵀ) and s = n mean.
            c1 = -slope * d_scale / deviation
            d_weights = slope * won + c1 * spread
            d_weights -= slope * d_offset * patch_mean[:, None]
            d_kernel = tf.reshape(d_weights * sign, tf.shape(kernel))
            c0 = -slope * d_offset - c1 * mean
            d_images = _d_images(images, turned, dz, slope, c1 / count, c0 / count)
            gradients = [d_images, d_kernel, d_scale * sign, d_offset]
            inputs = [images, kernel, scale, offset]
            return differentiable(gradients, inputs, d_activations, plain)

        return (activations, mean * sign, variance), gradient

    return BlockOutput(*block(images, kernel, scale, offset))


def _d_images(
    images: tf.Tensor,
    turned: tf.Tensor,
    dz: tf.Tensor,
    slope: tf.Tensor,
    c1: tf.Tensor,
    c0: tf.Tensor,
) -> tf.Tensor:
    """Returns the gradient of the images, computed only where someone asks for it."""
    y = tf.nn.conv2d(images, turned, 1, "SAME")
    return convolution_gradient(unpool_gradient(y, dz, slope, c1, c0), turned)


def _patch_moments(images: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    """Returns number, mean [9 C] and covariance [9 C, 9 C] of the 3x3 patches.

    A patch is made by a convolution whose kernel is the identity. What all images have
    in common is taken off first, to keep the digits of a small covariance.
    """
    size = 9 * images.shape[-1]
    identity = tf.reshape(tf.eye(size, dtype=images.dtype), [3, 3, -1, size])
    common = tf.tile(tf.reduce_mean(images, axis=[0, 1, 2]), [9])
    patches = tf.nn.bias_add(tf.nn.conv2d(images, identity, 1, "SAME"), -common)
    patches = tf.reshape(patches, [-1, size])
    count = tf.cast(tf.shape(patches)[0], images.dtype)
    mean = channel_sum(patches) / count
    second = tf.linalg.matmul(patches, patches, transpose_a=True) / count
    return count, mean + common, second - mean[:, None] * mean


def _window_patches(images: tf.Tensor) -> list[list[tf.Tensor]]:
    """Returns 9 neighbours of the 4 places of each pooling window: [B, h, w, C]."""
    height, width = images.shape[1] // 2 * 2, images.shape[2] // 2 * 2
    padded = tf.pad(images, [[0, 0], [1, 1], [1, 1], [0, 0]])
    taps = [
        [
            padded[:, row : row + height : 2, column : column + width : 2]
            for column in range(4)
        ]
        for row in range(4)
    ]
    return [
        [tap for row in taps[top : top + 3] for tap in row[left : left + 3]]
        for top in (0, 1)
        for left in (0, 1)
    ]


def _window_places(images: tf.Tensor, kernel: tf.Tensor) -> list[tf.Tensor]:
    """Returns the convolution at the 4 places of each window, each [B, h, w, c]."""
    weights = tf.unstack(tf.reshape(kernel, [9 * images.shape[3], -1]))
    places = []
    for patch in _window_patches(images):
        taps = [channel for tap in patch for channel in tf.split(tap, tap.shape[3], 3)]
        terms = [tap * weight for tap, weight in zip(taps, weights, strict=True)]
        places.append(sum(terms[1:], terms[0]))
    return places


@tf.function(jit_compile=True, autograph=False)
def _activate(
    images: tf.Tensor, kernel: tf.Tensor, slope: tf.Tensor, offset: tf.Tensor
) -> tf.Tensor:
    a, b, c, d = _window_places(images, kernel)
    pooled = tf.maximum(tf.maximum(a, b), tf.maximum(c, d))
    return tf.nn.relu(pooled * slope + offset)


@tf.function(jit_compile=True, autograph=False)
def _winners(images: tf.Tensor, kernel: tf.Tensor) -> tf.Tensor:
    """Returns which place of each window wins, the first of equals: [B, h, w, c]."""
    a, b, c, d = _window_places(images, kernel)
    top, low = tf.maximum(a, b), tf.maximum(c, d)
    winner = tf.where(top >= low, tf.where(a >= b, 0, 1), tf.where(c >= d, 2, 3))
    return tf.cast(winner, tf.int8)


def _winning_patches(
    images: tf.Tensor, kernel: tf.Tensor, dz: tf.Tensor
) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns sums of dz times the winning patches [9 C, c], and sums of dz [c]."""
    sums = _sums_by_row(images, _winners(images, kernel), dz)  # [B, h, 9 C + 1, c]
    flat = tf.reshape(sums, [-1, sums.shape[2] * sums.shape[3]])
    total = tf.reshape(channel_sum(flat), sums.shape[2:])
    return total[:-1], total[-1]


@tf.function(jit_compile=True, autograph=False)
def _sums_by_row(images: tf.Tensor, winner: tf.Tensor, dz: tf.Tensor) -> tf.Tensor:
    """Returns sums along a row of windows, written out, which XLA makes one pass."""
    places = []  # 4 x [B, h, w, 9 C + 1, 1]
    for patch in _window_patches(images):
        ones = tf.ones_like(patch[0][..., :1])
        places.append(tf.concat([*patch, ones], axis=-1)[..., None])
    total = tf.zeros([], images.dtype)
    parts = (*places, winner[..., None, :], dz[..., None, :])
    columns = zip(*(tf.unstack(part, axis=2) for part in parts), strict=True)
    for a, b, c, d, won, gradient in columns:  # [B, h, 9 C + 1, 1], [B, h, 1, c]
        patch = tf.where(won < 2, tf.where(won == 0, a, b), tf.where(won == 2, c, d))
        total += patch * gradient
    return total
