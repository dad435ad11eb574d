"""The k-means family, point by point (methods.md 7, 8 and 9).

Axes: N classes, K shots, Q queries, U unlabelled points, D embedding size.
"""

import math

import numpy as np

from tests.oracle.prototypes import prototypes, softmax, squared_distances


def cluster_logits(
    points: np.ndarray, centers: np.ndarray, radii: np.ndarray
) -> np.ndarray:
    """l_c = -d2(h, p_c) / (2 r_c^2) - log(2 pi) / 2 - log r_c (section 8).

    [P, D], [C, D], [C] -> [P, C].
    """
    distances = squared_distances(points, centers)
    result = np.zeros(distances.shape)
    for i in range(len(points)):
        for c in range(len(centers)):
            result[i, c] = (
                -distances[i, c] / (2 * radii[c] ** 2)
                - 0.5 * math.log(2 * math.pi)
                - math.log(radii[c])
            )
    return result


def cluster_centers(
    support: np.ndarray, unlabeled: np.ndarray, log_radius: float
) -> np.ndarray:
    """The N classes and the distractor cluster, which began at 0, after one step.

    [N, K, D], [U, D] -> [N + 1, D]. Support is hard and has no share in the last.
    """
    support = np.asarray(support, np.float64)
    classes, shots, size = support.shape
    begin = np.concatenate([prototypes(support), np.zeros((1, size))])
    radii = cluster_radii(classes, len(unlabeled), log_radius)
    numerator, denominator = np.zeros((classes + 1, size)), np.zeros(classes + 1)
    for c in range(classes):
        for k in range(shots):
            numerator[c] += support[c, k]
            denominator[c] += 1
    logits = cluster_logits(unlabeled, begin, radii) if len(unlabeled) else []
    for point, row in zip(unlabeled, logits, strict=True):
        assignment = softmax(row)
        for c in range(classes + 1):
            numerator[c] += assignment[c] * point
            denominator[c] += assignment[c]
    for c in range(classes + 1):
        if denominator[c] == 0:
            denominator[c] = 1
        numerator[c] /= denominator[c]
    return numerator


def cluster_radii(classes: int, points: int, log_radius: float) -> np.ndarray:
    """1 for real classes; the last is learned, or 1e5 if there is no point."""
    return np.array([1.0] * classes + [math.exp(log_radius) if points else 1e5])


def cluster_scores(
    support: np.ndarray, queries: np.ndarray, unlabeled: np.ndarray, log_radius: float
) -> np.ndarray:
    """Logits of the queries after the step, distractor cluster last: [Q, N + 1]."""
    centers = cluster_centers(support, unlabeled, log_radius)
    radii = cluster_radii(len(support), len(unlabeled), log_radius)
    return cluster_logits(queries, centers, radii)


def mask_statistics(relative: np.ndarray) -> np.ndarray:
    """min, max, variance, skewness, excess kurtosis over the points, class by class.

    [U, N] -> [N, 5] (section 9, step 2).
    """
    rows = []
    for column in np.asarray(relative, np.float64).T:
        mean = sum(column) / len(column)
        variance = sum((x - mean) ** 2 for x in column) / len(column)
        safe = 1.0 if variance == 0 else variance
        third = sum((x - mean) ** 3 for x in column) / len(column)
        fourth = sum((x - mean) ** 4 for x in column) / len(column)
        rows.append(
            [
                min(column),
                max(column),
                variance,
                third / safe**1.5,
                fourth / safe**2 - 3,
            ]
        )
    return np.array(rows)


def relative_distances(support: np.ndarray, unlabeled: np.ndarray) -> np.ndarray:
    """d_jc / mean_j d_jc: [U, N] (section 9, step 1)."""
    distances = squared_distances(unlabeled, prototypes(support))
    result = np.zeros(distances.shape)
    for c in range(distances.shape[1]):
        mean = sum(distances[:, c]) / len(distances)
        for j in range(len(distances)):
            result[j, c] = distances[j, c] / (1.0 if mean == 0 else mean)
    return result


def soft_mask(
    support: np.ndarray, unlabeled: np.ndarray, layers: list[np.ndarray]
) -> np.ndarray:
    """m_jc = sigmoid(gamma_c (beta_c - relative_jc)) (section 9, steps 3 and 4).

    `layers`: kernel [5, 20], bias [20], kernel [20, 2], bias [2]; the two outputs are
    the logarithms of threshold beta and slope gamma. -> [U, N].
    """
    relative = relative_distances(support, unlabeled)
    first, first_bias, second, second_bias = (np.asarray(x, np.float64) for x in layers)
    mask = np.zeros(relative.shape)
    for c, numbers in enumerate(mask_statistics(relative)):
        hidden = [math.tanh(v) for v in numbers @ first + first_bias]
        log_beta, log_gamma = np.array(hidden) @ second + second_bias
        beta, gamma = math.exp(log_beta), math.exp(log_gamma)
        for j in range(len(relative)):
            mask[j, c] = 1 / (1 + math.exp(-gamma * (beta - relative[j, c])))
    return mask


def masked_prototypes(
    support: np.ndarray,
    unlabeled: np.ndarray,
    layers: list[np.ndarray],
    mask_power: int = 1,
) -> np.ndarray:
    """Each point counts for class c by z_jc * m_jc: [N, D] (section 9, step 5)."""
    support = np.asarray(support, np.float64)
    classes, shots, size = support.shape
    numerator, denominator = np.zeros((classes, size)), np.zeros(classes)
    for c in range(classes):
        for k in range(shots):
            numerator[c] += support[c, k]
            denominator[c] += 1
    mask = soft_mask(support, unlabeled, layers)
    distances = squared_distances(unlabeled, prototypes(support))
    for j in range(len(unlabeled)):
        assignment = softmax(-distances[j])
        for c in range(classes):
            weight = assignment[c] * mask[j, c] ** mask_power
            numerator[c] += weight * unlabeled[j]
            denominator[c] += weight
    return numerator / denominator[:, None]
