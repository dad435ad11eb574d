"""Virtual adversarial training and entropy, image by image (methods.md 6).

Gradients are finite differences, so that nothing is shared with the implementation.
"""

from collections.abc import Callable

import numpy as np

from tests.oracle.prototypes import log_sum_exp, softmax


def divergence(logits: np.ndarray, moved: np.ndarray) -> float:
    """KL(softmax(logits) || softmax(moved)) of one image: sum_c q (log q - log p)."""
    q = softmax(logits)
    total = 0.0
    for c in range(len(logits)):
        log_q = logits[c] - log_sum_exp(logits)
        log_p = moved[c] - log_sum_exp(moved)
        total += q[c] * (log_q - log_p)
    return float(total)


def entropy(logits: np.ndarray) -> float:
    """Mean over images of -sum_c p log p: [B, N] -> number."""
    total = 0.0
    for row in np.asarray(logits, np.float64):
        for value in row:
            log_p = value - log_sum_exp(row)
            total -= np.exp(log_p) * log_p
    return float(total / len(logits))


def normalized(direction: np.ndarray) -> np.ndarray:
    """Of one image: divided by its largest entry, then by its length."""
    direction = direction / (1e-12 + np.max(np.abs(direction)))
    return direction / np.sqrt(1e-6 + np.sum(direction**2))


def perturbations(
    images: np.ndarray,
    classify: Callable[[np.ndarray], np.ndarray],
    noise: np.ndarray,
    epsilon: float,
    xi: float,
) -> np.ndarray:
    """r = epsilon * normalise(gradient at xi * normalise(noise)): [B, ...] -> [B, ...].

    The gradient is of the sum over the batch, because images may meet in batch norm.
    """
    clean = classify(images)
    begin = np.array([xi * normalized(each) for each in noise])

    def total(change: np.ndarray) -> float:
        moved = classify(images + change)
        return sum(divergence(q, p) for q, p in zip(clean, moved, strict=True))

    gradient = np.zeros(begin.shape)
    size = 1e-6
    for place in np.ndindex(*begin.shape):
        up, down = begin.copy(), begin.copy()
        up[place] += size
        down[place] -= size
        gradient[place] = (total(up) - total(down)) / (2 * size)
    return np.array([epsilon * normalized(each) for each in gradient])
