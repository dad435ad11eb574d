"""ResNet-12 and DropBlock, block by block (methods.md 13).

Axes: B images, H rows, W columns, C channels. A normalisation is four entries: scale,
offset, mean and variance, each [C]; mean and variance are None for batch statistics.

Left open by the specification, chosen here: a pool drops an odd last row or column;
the last pool is the mean over the whole map, whatever its size; a map smaller than
DropBlock's block is an error; a mask that keeps nothing gives 0; kept and all entries
are counted over the whole batch.
"""

from collections.abc import Sequence

import numpy as np

from tests.oracle.encoder import batch_statistics, convolve, max_pool


def leaky_relu(features: np.ndarray, slope: float) -> np.ndarray:
    """Return x where x > 0, else slope * x: [...] -> [...]."""
    return np.where(features > 0, features, slope * features)


def batch_norm(
    features: np.ndarray,
    scale: np.ndarray,
    offset: np.ndarray,
    mean: np.ndarray | None = None,
    variance: np.ndarray | None = None,
    epsilon: float = 1e-5,
) -> np.ndarray:
    """Normalise each channel by given or biased batch statistics: [..., C]."""
    if (mean is None) != (variance is None):
        raise ValueError("give both mean and variance, or neither")
    if mean is None:
        mean, variance = batch_statistics(features)
    arrays = (np.asarray(x, np.float64) for x in (scale, offset, mean, variance))
    scale, offset, mean, variance = arrays
    result = np.zeros(features.shape)
    for c in range(features.shape[-1]):
        centered = features[..., c] - mean[c]
        result[..., c] = scale[c] * centered / np.sqrt(variance[c] + epsilon)
        result[..., c] += offset[c]
    return result


def pointwise(features: np.ndarray, kernel: np.ndarray) -> np.ndarray:
    """Convolve with a 1x1 kernel: [..., Cin], [Cin, Cout] -> [..., Cout]."""
    result = np.zeros((*features.shape[:-1], kernel.shape[-1]))
    for place in np.ndindex(*features.shape[:-1]):
        result[place] = features[place] @ kernel
    return result


def residual_block(
    images: np.ndarray,
    kernels: Sequence[np.ndarray],
    norms: Sequence[Sequence[np.ndarray]],
    shortcut_kernel: np.ndarray,
    shortcut_norm: Sequence[np.ndarray],
    slope: float = 0.1,
    epsilon: float = 1e-5,
) -> np.ndarray:
    """Run one block without dropout: [B, H, W, Cin] -> [B, H // 2, W // 2, C].

    `kernels`: [3, 3, Cin, C] and twice [3, 3, C, C]; `shortcut_kernel`: [Cin, C]. In
    training mode the norms hold scale and offset only.
    """
    images = np.asarray(images, np.float64)
    features = images
    for layer in range(3):
        features = convolve(features, np.asarray(kernels[layer], np.float64))
        features = batch_norm(features, *norms[layer], epsilon=epsilon)
        if layer < 2:
            features = leaky_relu(features, slope)
    shortcut = pointwise(images, np.asarray(shortcut_kernel, np.float64))
    features = features + batch_norm(shortcut, *shortcut_norm, epsilon=epsilon)
    return max_pool(leaky_relu(features, slope))


def resnet12_forward(
    images: np.ndarray,
    blocks: Sequence[Sequence],
    slope: float = 0.1,
    epsilon: float = 1e-5,
) -> np.ndarray:
    """Run four blocks and take the mean over the map: [B, H, W, Cin] -> [B, D].

    Each block: kernels, norms, shortcut kernel, shortcut norm, as `residual_block`.
    """
    features = np.asarray(images, np.float64)
    for block in blocks:
        features = residual_block(features, *block, slope=slope, epsilon=epsilon)
    batch, height, width, channels = features.shape
    result = np.zeros((batch, channels))
    for row in range(height):
        for column in range(width):
            result += features[:, row, column] / (height * width)
    return result


def layer_list(
    widths: Sequence[int] = (64, 160, 320, 640), channels: int = 3
) -> list[tuple[str, tuple[int, ...]]]:
    """List (name, shape) of every trainable array of the four blocks."""
    layers = []
    for number, width in enumerate(widths, start=1):
        for conv in (1, 2, 3):
            incoming = channels if conv == 1 else width
            layers.append((f"block{number}/conv{conv}", (3, 3, incoming, width)))
            layers.append((f"block{number}/norm{conv}/scale", (width,)))
            layers.append((f"block{number}/norm{conv}/offset", (width,)))
        layers.append((f"block{number}/shortcut", (1, 1, channels, width)))
        layers.append((f"block{number}/shortcut_norm/scale", (width,)))
        layers.append((f"block{number}/shortcut_norm/offset", (width,)))
        channels = width
    return layers


def parameter_count(
    widths: Sequence[int] = (64, 160, 320, 640), channels: int = 3
) -> int:
    """Count the trainable numbers of `layer_list` (no moving statistics)."""
    total = 0
    for _, shape in layer_list(widths, channels):
        size = 1
        for length in shape:
            size *= length
        total += size
    return total


def keep_probability(step: int, rate: float = 0.1, ramp: int = 40_000) -> float:
    """Return max(1 - rate * step / ramp, 1 - rate) for a step of training."""
    return max(1.0 - rate * step / ramp, 1.0 - rate)


def drop_gamma(keep: float, size: int, block: int = 5) -> float:
    """Return the chance of a seed, (1 - keep) / b^2 * f^2 / (f - b + 1)^2."""
    if size < block:
        raise ValueError(f"a map of {size} has no room for a block of {block}")
    return (1.0 - keep) / block**2 * size**2 / (size - block + 1) ** 2


def drop_mask(seeds: np.ndarray, block: int = 5) -> np.ndarray:
    """Blank the b x b square below and right of each seed, channel by channel.

    [B, H - b + 1, W - b + 1, C] of 0 and 1 -> [B, H, W, C] of 1 (kept) and 0.
    """
    batch, rows, columns, channels = seeds.shape
    mask = np.ones((batch, rows + block - 1, columns + block - 1, channels))
    for b, row, column, c in np.ndindex(batch, rows, columns, channels):
        if seeds[b, row, column, c]:
            mask[b, row : row + block, column : column + block, c] = 0.0
    return mask


def drop_block(features: np.ndarray, seeds: np.ndarray, block: int = 5) -> np.ndarray:
    """Multiply by the mask and by count / kept over the batch: [B, H, W, C]."""
    mask = drop_mask(seeds, block)
    kept = mask.sum()
    if kept == 0:
        return np.zeros(features.shape)
    return features * mask * (mask.size / kept)


def expected_drop(gamma: float, size: int, block: int = 5) -> float:
    """Return the expected share of dropped places of a size x size map.

    A place is kept if none of the seeds whose square covers it is drawn.
    """
    places = size - block + 1
    total = 0.0
    for row in range(size):
        for column in range(size):
            covering = 0
            for top in range(places):
                for left in range(places):
                    inside = top <= row < top + block and left <= column < left + block
                    covering += inside
            total += 1.0 - (1.0 - gamma) ** covering
    return total / size**2
