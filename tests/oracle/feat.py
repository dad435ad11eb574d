"""FEAT and FEAT + walk, prototype by prototype (methods.md 13).

Axes: N classes, K shots, Q queries, U unlabelled points, D embedding size.

`weights` is seven arrays: Wq, Wk, Wv, Wo [D, D], used as x @ W; the bias of the output
[D]; scale and offset of the layer norm [D].

Left open by the specification, chosen here: no dropout; the output dense layer has a
bias (give zeros for none); layer norm epsilon 1e-5 and biased variance; the
cosine-like form normalises the adapted prototypes (and contrastive centres), not the
queries; all terms are means over points; the walk's temperature divides the squared
distances of both of its matrices; FEAT for an unlabelled set lets the prototypes
attend to the prototypes, then to the unlabelled points, as keys and values.
"""

from collections.abc import Sequence

import numpy as np

from tests.oracle import walk
from tests.oracle.prototypes import (
    classification_loss,
    prototypes,
    softmax,
    squared_distances,
)


def layer_norm(
    point: np.ndarray, scale: np.ndarray, offset: np.ndarray, epsilon: float = 1e-5
) -> np.ndarray:
    """Normalise one point over its D entries: [D] -> [D]."""
    mean = sum(point) / len(point)
    variance = sum((value - mean) ** 2 for value in point) / len(point)
    result = np.zeros(len(point))
    for d in range(len(point)):
        result[d] = scale[d] * (point[d] - mean) / np.sqrt(variance + epsilon)
        result[d] += offset[d]
    return result


def adapt(
    points: np.ndarray,
    weights: Sequence[np.ndarray],
    context: np.ndarray | None = None,
    epsilon: float = 1e-5,
) -> np.ndarray:
    """Attend from points to points (and context), add, normalise: [n, D] -> [n, D].

    `context`: [U, D], further keys and values.
    """
    points = np.asarray(points, np.float64)
    wq, wk, wv, wo, bias, scale, offset = (np.asarray(w, np.float64) for w in weights)
    sources = list(points)
    if context is not None:
        sources += list(np.asarray(context, np.float64))
    result = np.zeros(points.shape)
    for i, point in enumerate(points):
        logits = []
        for source in sources:
            product = float((point @ wq) @ (source @ wk))
            logits.append(product / np.sqrt(points.shape[1]))
        mixed = np.zeros(points.shape[1])
        for share, source in zip(softmax(np.array(logits)), sources, strict=True):
            mixed += share * (source @ wv)
        result[i] = layer_norm(mixed @ wo + bias + point, scale, offset, epsilon)
    return result


def logits(
    centers: np.ndarray, points: np.ndarray, temperature: float, cosine: bool = False
) -> np.ndarray:
    """Compute -d2 / T, or x . c / (|c| T) if cosine: [N, D], [Q, D] -> [Q, N]."""
    if not cosine:
        return -squared_distances(points, centers) / temperature
    points = np.asarray(points, np.float64)
    centers = np.asarray(centers, np.float64)
    result = np.zeros((len(points), len(centers)))
    for i, point in enumerate(points):
        for c, center in enumerate(centers):
            length = np.sqrt(sum(value**2 for value in center))
            result[i, c] = float(point @ center) / length / temperature
    return result


def query_logits(
    support: np.ndarray,
    queries: np.ndarray,
    weights: Sequence[np.ndarray],
    temperature: float = 64.0,
    context: np.ndarray | None = None,
    cosine: bool = False,
    epsilon: float = 1e-5,
) -> np.ndarray:
    """Score queries by adapted prototypes: [N, K, D], [Q, D] -> [Q, N]."""
    centers = adapt(prototypes(support), weights, context, epsilon)
    return logits(centers, queries, temperature, cosine)


def contrastive_loss(
    support: np.ndarray,
    queries: np.ndarray,
    query_labels: Sequence[int],
    weights: Sequence[np.ndarray],
    temperature: float = 16.0,
    cosine: bool = False,
    epsilon: float = 1e-5,
) -> float:
    """Classify raw instances by the means of their adapted sets -> a number.

    [N, K, D], [Q, D], [Q]; without the factor `balance`; `temperature` is T2.
    """
    points, labels, centers = [], [], []
    for c, shots in enumerate(np.asarray(support, np.float64)):
        own = list(shots)
        for query, label in zip(queries, query_labels, strict=True):
            if label == c:
                own.append(np.asarray(query, np.float64))
        adapted = adapt(np.array(own), weights, epsilon=epsilon)
        centers.append(sum(adapted) / len(adapted))
        points += own
        labels += [c] * len(own)
    scores = logits(np.array(centers), np.array(points), temperature, cosine)
    return classification_loss(scores, np.array(labels))


def loss(
    support: np.ndarray,
    queries: np.ndarray,
    query_labels: Sequence[int],
    weights: Sequence[np.ndarray],
    temperature: float = 64.0,
    contrast_temperature: float = 16.0,
    balance: float = 1.0,
    context: np.ndarray | None = None,
    cosine: bool = False,
    epsilon: float = 1e-5,
) -> float:
    """Add the queries' cross-entropy and balance * contrastive term -> a number."""
    scores = query_logits(
        support, queries, weights, temperature, context, cosine, epsilon
    )
    contrast = contrastive_loss(
        support, queries, query_labels, weights, contrast_temperature, cosine, epsilon
    )
    return classification_loss(scores, np.array(query_labels)) + balance * contrast


def walk_losses(
    support: np.ndarray,
    unlabeled: np.ndarray,
    weights: Sequence[np.ndarray],
    temperature: float = 64.0,
    steps: int = 3,
    decay: float = 0.7,
    smoothing: float = 0.1,
    context: np.ndarray | None = None,
    epsilon: float = 1e-5,
) -> tuple[float, float, np.ndarray]:
    """Walk between adapted prototypes and raw points, similarities -d2 / T.

    [N, K, D], [U, D] -> walker loss, visit loss, landing [steps + 1].
    """
    centers = adapt(prototypes(support), weights, context, epsilon)
    root = np.sqrt(temperature)  # distances of x / sqrt(T) are distances / T
    points = np.asarray(unlabeled, np.float64)
    return walk.walk_losses(centers / root, points / root, steps, decay, smoothing)
