"""Three ways of others to move classes, point by point (field.md 5, 1 to 3).

Axes: N classes, L labelled points, U unlabelled points, D embedding size. Points first
become unit vectors around the mean of all of them. Left open by the specification,
chosen here: label propagation moves the means in the embedding itself, each unlabelled
point by its mass over the largest mass, to a power, shared out among the classes as its
labels are; an edge stays if it is among the nearest of either end; OSLO answers by the
cosine, soft k-means by the distance to its means.
"""

import numpy as np

from tests.oracle import propagation
from tests.oracle.prototypes import softmax, squared_distances


def unit(vector: np.ndarray) -> np.ndarray:
    """v / |v|, and 0 for 0: [D] -> [D]."""
    return vector / np.sqrt(max(float(vector @ vector), 1e-12))


def center_of(points: np.ndarray) -> np.ndarray:
    """Mean of the unit vectors: [P, D] -> [D]."""
    return np.mean([unit(point) for point in points], axis=0)


def around(center: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Unit vectors, minus the center, to length one again: [P, D] -> [P, D]."""
    vectors = [unit(unit(point) - center) for point in points]
    return np.array(vectors).reshape(np.shape(points))


def label_propagation(
    points: np.ndarray,
    labels: np.ndarray,
    unlabeled: np.ndarray,
    neighbors: int = 15,
    alpha: float = 0.8,
    power: float = 1.0,
) -> np.ndarray:
    """Prototypes [N, D] of points [L, D] with labels [L], and of others [U, D]."""
    everything = np.concatenate([points, unlabeled])
    vectors = around(center_of(everything), everything)
    count, classes = len(everything), max(labels) + 1
    weights = np.zeros((count, count))
    for i in range(count):
        for j in range(count):
            if i != j:
                weights[i, j] = max(float(vectors[i] @ vectors[j]), 0.0) ** 3
    weights = propagation.nearest_union(weights, neighbors, diagonal=False)
    known = propagation.one_hot([*labels, *[-1] * len(unlabeled)], classes)
    spread = propagation.propagate(propagation.normalized(weights), known, alpha)
    rows = spread[len(points) :]
    largest = max((row.max() for row in rows), default=1.0)
    numerator, total = np.zeros((classes, points.shape[1])), np.zeros(classes)
    for point, label in zip(points, labels, strict=True):
        numerator[label] += point
        total[label] += 1
    for point, row in zip(unlabeled, rows, strict=True):
        for c in range(classes):
            if row.sum() > 0:
                weight = row[c] / row.sum() * (row.max() / largest) ** power
                numerator[c] += weight * point
                total[c] += weight
    return numerator / total[:, None]


def oslo(
    points: np.ndarray,
    labels: np.ndarray,
    unlabeled: np.ndarray,
    inlier_scale: float = 0.05,
    class_scale: float = 0.1,
    rounds: int = 2,
) -> tuple[np.ndarray, np.ndarray]:
    """Prototypes [N, D] of length 1, and the center that queries are seen from [D]."""
    center = center_of(np.concatenate([points, unlabeled]))
    support, others = around(center, points), around(center, unlabeled)
    classes = max(labels) + 1
    prototypes = [support[np.equal(labels, c)].mean(axis=0) for c in range(classes)]
    shares = np.full((len(others), classes), 1 / classes)
    inlier = np.zeros(len(others))
    for _ in range(rounds):
        cosines = np.zeros_like(shares)
        for i in range(len(others)):
            for c in range(classes):
                cosines[i, c] = others[i] @ unit(prototypes[c])
            inlier[i] = 1 / (1 + np.exp(-(shares[i] @ cosines[i]) / inlier_scale))
            shares[i] = softmax(inlier[i] * cosines[i] / class_scale)
        for c in range(classes):
            own = support[np.equal(labels, c)]
            numerator, total = own.sum(axis=0), float(len(own))
            for i in range(len(others)):
                numerator = numerator + inlier[i] * shares[i, c] * others[i]
                total += inlier[i] * shares[i, c]
            prototypes[c] = numerator / total
    return np.array([unit(prototype) for prototype in prototypes]), center


def soft_kmeans(
    points: np.ndarray,
    labels: np.ndarray,
    unlabeled: np.ndarray,
    sharpness: float = 5.0,
    steps: int = 10,
) -> tuple[np.ndarray, np.ndarray]:
    """Prototypes [N, D], and the center that queries are seen from [D]."""
    center = center_of(np.concatenate([points, unlabeled]))
    support, others = around(center, points), around(center, unlabeled)
    classes = max(labels) + 1
    means = np.array(
        [support[np.equal(labels, c)].mean(axis=0) for c in range(classes)]
    )
    for _ in range(steps):
        distances = squared_distances(others, means)
        shares = [softmax(-sharpness * row) for row in distances]
        for c in range(classes):
            own = support[np.equal(labels, c)]
            numerator, total = own.sum(axis=0), float(len(own))
            for point, share in zip(others, shares, strict=True):
                numerator = numerator + share[c] * point
                total += share[c]
            means[c] = numerator / total
    return means, center
