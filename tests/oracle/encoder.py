"""The Conv-4 encoder, tap by tap (methods.md 2.4 and 2.5).

Axes: B images, H rows, W columns, C channels.
"""

from collections.abc import Sequence

import numpy as np


def convolve(images: np.ndarray, kernel: np.ndarray) -> np.ndarray:
    """3x3 cross-correlation, stride 1, zero SAME padding, no bias (section 2.4).

    [B, H, W, Cin], [3, 3, Cin, Cout] -> [B, H, W, Cout].
    """
    batch, height, width, channels = images.shape
    padded = np.zeros((batch, height + 2, width + 2, channels))
    padded[:, 1:-1, 1:-1] = images
    result = np.zeros((batch, height, width, kernel.shape[-1]))
    for row in range(3):
        for column in range(3):
            shifted = padded[:, row : row + height, column : column + width]
            result += shifted @ kernel[row, column]
    return result


def batch_statistics(features: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean and biased variance of each channel over B, H, W (section 2.5)."""
    channels = features.shape[-1]
    mean, variance = np.zeros(channels), np.zeros(channels)
    for c in range(channels):
        values = features[..., c]
        mean[c] = np.sum(values) / values.size
        variance[c] = np.sum((values - mean[c]) ** 2) / values.size
    return mean, variance


def max_pool(features: np.ndarray) -> np.ndarray:
    """2x2 max-pool, stride 2, VALID: an odd last row or column is dropped (2.4)."""
    batch, height, width, channels = features.shape
    result = np.zeros((batch, height // 2, width // 2, channels))
    for row in range(height // 2):
        for column in range(width // 2):
            window = features[:, 2 * row : 2 * row + 2, 2 * column : 2 * column + 2]
            result[:, row, column] = window.max(axis=(1, 2))
    return result


def conv4_forward(
    images: np.ndarray,
    kernels: Sequence[np.ndarray],
    scales: Sequence[np.ndarray],
    offsets: Sequence[np.ndarray],
    means: Sequence[np.ndarray] | None = None,
    variances: Sequence[np.ndarray] | None = None,
    epsilon: float = 1e-5,
) -> np.ndarray:
    """Four blocks of convolution, batch norm, ReLU, max-pool; flattened (2.4, 2.5).

    [B, H, W, C] -> [B, D] in H, W, C order. Batch statistics if `means` is None (then
    `variances` must be None too), else the given moving ones.
    """
    if (means is None) != (variances is None):
        raise ValueError("give both means and variances, or neither")
    features = np.asarray(images, dtype=np.float64)
    for block in range(4):
        features = convolve(features, np.asarray(kernels[block], dtype=np.float64))
        if means is None:
            mean, variance = batch_statistics(features)
        else:
            mean = np.asarray(means[block], dtype=np.float64)
            variance = np.asarray(variances[block], dtype=np.float64)
        scale = np.asarray(scales[block], dtype=np.float64)
        offset = np.asarray(offsets[block], dtype=np.float64)
        features = scale * (features - mean) / np.sqrt(variance + epsilon) + offset
        features = np.maximum(features, 0.0)
        features = max_pool(features)
    batch, height, width, channels = features.shape
    return features.reshape(batch, height * width * channels)
