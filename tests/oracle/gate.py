"""The gate, point by point (inference.md, "The rule").

Axes: N classes, L labelled points, U unlabelled points, D embedding size. Left open by
the specification, chosen here: where the distance of a stranger is not positive, or
there is one class alone and so no stranger, no unlabelled point belongs anywhere.
"""

import numpy as np

from tests.oracle.prototypes import softmax, squared_distances


def gate(
    points: np.ndarray,
    labels: np.ndarray,
    unlabeled: np.ndarray,
    beta: float = 10.0,
    rho: float = 0.5,
    rounds: int = 2,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Prototypes [N, D], offsets [N], weights of the unlabelled points [U, N].

    [L, D], [L], [U, D]; every label from 0 to N - 1 is there.
    """
    points = np.asarray(points, np.float64)
    unlabeled = np.asarray(unlabeled, np.float64)
    classes = max(labels) + 1
    everything = np.concatenate([points, unlabeled])
    weights = np.zeros((len(everything), classes))
    for i, label in enumerate(labels):
        weights[i, label] = 1.0
    for _ in range(rounds):
        prototypes, offsets = moments(everything, weights)
        stranger = stranger_distance(points, labels, prototypes, offsets)
        distances = squared_distances(unlabeled, prototypes)
        for i in range(len(unlabeled)):
            weights[len(points) + i] = 0.0
            if stranger > 0:
                logits = [
                    -beta * (d - o) / stranger
                    for d, o in zip(distances[i], offsets, strict=True)
                ]
                weights[len(points) + i] = softmax([*logits, -beta * rho])[:-1]
    prototypes, offsets = moments(everything, weights)
    return prototypes, offsets, weights[len(points) :]


def moments(points: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Prototypes [N, D] and offsets [N] of points by their weights [L + U, N]."""
    count, classes = weights.shape
    prototypes = np.zeros((classes, points.shape[1]))
    variances = np.zeros(classes)
    for c in range(classes):
        total = sum(weights[i, c] for i in range(count))
        for i in range(count):
            share = weights[i, c] / total
            prototypes[c] += share * points[i]
            variances[c] += share**2
    distances = squared_distances(points, prototypes)
    spreads = []
    for c in range(classes):
        if variances[c] < 0.9:
            total = sum(weights[i, c] for i in range(count))
            spread = sum(weights[i, c] / total * distances[i, c] for i in range(count))
            spreads.append(spread / max(1 - variances[c], 0.1))
    spread = np.mean(spreads) if spreads else 0.0
    return prototypes, spread * variances


def stranger_distance(
    points: np.ndarray, labels: np.ndarray, prototypes: np.ndarray, offsets: np.ndarray
) -> float:
    """Mean over labelled points of the least d2' to a prototype of another class."""
    distances = squared_distances(points, prototypes)
    least = []
    for i, label in enumerate(labels):
        others = [
            distances[i, c] - offsets[c] for c in range(len(prototypes)) if c != label
        ]
        if not others:
            return 0.0
        least.append(min(others))
    return float(np.mean(least))


def scores(
    prototypes: np.ndarray, offsets: np.ndarray, queries: np.ndarray
) -> np.ndarray:
    """-(d2(q, p_c) - offset_c): [N, D], [N], [Q, D] -> [Q, N]."""
    distances = squared_distances(queries, prototypes)
    return np.array(
        [[o - d for d, o in zip(row, offsets, strict=True)] for row in distances]
    )
