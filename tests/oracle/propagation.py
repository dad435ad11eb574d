"""Label propagation on a k-NN graph, node by node (methods.md 10: TPN, TPN-semi).

Axes: M nodes, N classes, K shots, U unlabelled points, Q queries, D embedding size.
Nodes of an episode are in the order support (class by class), unlabelled, queries.
A label of -1 means: none.

Left open by the specification, chosen here: float64's epsilon is added to length
scales and degrees only, so a node without label has exactly 0 in Y and I - alpha S is
exact; equal affinities are chosen by the lower index; a diagonal that is removed
leaves room for k other nodes (`counts_itself=True` for k - 1); `neighbors=None` keeps
all edges; length scales are used with their sign, as they come.
"""

from collections.abc import Sequence

import numpy as np

from tests.oracle.encoder import convolve
from tests.oracle.prototypes import log_sum_exp
from tests.oracle.resnet import batch_norm

EPSILON = float(np.finfo(np.float64).eps)


def affinities(
    nodes: np.ndarray, scales: np.ndarray | float = 1.0, epsilon: float = EPSILON
) -> np.ndarray:
    """Compute exp(-mean_d (h_i / s_i - h_j / s_j)^2 / 2): [M, D], [M] -> [M, M]."""
    nodes = np.asarray(nodes, np.float64)
    count, size = nodes.shape
    scales = np.broadcast_to(np.asarray(scales, np.float64), (count,))
    result = np.zeros((count, count))
    for i in range(count):
        for j in range(count):
            total = 0.0
            for d in range(size):
                here = nodes[i, d] / (scales[i] + epsilon)
                there = nodes[j, d] / (scales[j] + epsilon)
                total += (here - there) ** 2
            result[i, j] = np.exp(-0.5 * total / size)
    return result


def nearest_union(
    weights: np.ndarray,
    neighbors: int | None = 20,
    diagonal: bool = True,
    counts_itself: bool | None = None,
) -> np.ndarray:
    """Keep edges that are among the k largest of either end: [M, M] -> [M, M].

    With `counts_itself` (by default as `diagonal`) a node is one of its own k.
    """
    if counts_itself is None:
        counts_itself = diagonal
    count = len(weights)
    chosen = np.zeros((count, count), bool)
    for i in range(count):
        others = [j for j in range(count) if counts_itself or j != i]
        others.sort(key=lambda j: (-weights[i, j], j))
        for j in others[:neighbors]:
            chosen[i, j] = True
        if not counts_itself:
            chosen[i, i] = True
    result = np.zeros((count, count))
    for i in range(count):
        for j in range(count):
            if i == j and not diagonal:
                continue
            if chosen[i, j] or chosen[j, i]:
                result[i, j] = weights[i, j]
    return result


def normalized(weights: np.ndarray, epsilon: float = EPSILON) -> np.ndarray:
    """Compute S = D^-1/2 W D^-1/2, D the sums of the rows: [M, M] -> [M, M]."""
    count = len(weights)
    degrees = [sum(weights[i]) + epsilon for i in range(count)]
    result = np.zeros((count, count))
    for i in range(count):
        for j in range(count):
            result[i, j] = weights[i, j] / np.sqrt(degrees[i] * degrees[j])
    return result


def one_hot(labels: Sequence[int], classes: int) -> np.ndarray:
    """Write Y, a row of 0 for label -1: [M] -> [M, N]."""
    result = np.zeros((len(labels), classes))
    for i, label in enumerate(labels):
        if label >= 0:
            result[i, label] = 1.0
    return result


def propagate(
    similarity: np.ndarray, targets: np.ndarray, alpha: float = 0.99
) -> np.ndarray:
    """Solve (I - alpha S) F = Y: [M, M], [M, N] -> [M, N]."""
    return np.linalg.solve(np.eye(len(similarity)) - alpha * similarity, targets)


def graph_scores(
    nodes: np.ndarray,
    labels: Sequence[int],
    classes: int,
    scales: np.ndarray | float = 1.0,
    neighbors: int | None = 20,
    alpha: float = 0.99,
    diagonal: bool = True,
    counts_itself: bool | None = None,
    epsilon: float = EPSILON,
) -> np.ndarray:
    """Compute F* of all nodes of one graph: [M, D], [M] -> [M, N]."""
    weights = affinities(nodes, scales, epsilon)
    weights = nearest_union(weights, neighbors, diagonal, counts_itself)
    return propagate(normalized(weights, epsilon), one_hot(labels, classes), alpha)


def loss(scores: np.ndarray, labels: Sequence[int]) -> float:
    """Average -log softmax(F*)[label] over the nodes with a label: [M, N], [M]."""
    losses = []
    for row, label in zip(scores, labels, strict=True):
        if label >= 0:
            losses.append(log_sum_exp(row) - row[label])
    return float(sum(losses) / len(losses))


def episode_nodes(
    support: np.ndarray, unlabeled: np.ndarray | None, queries: np.ndarray
) -> tuple[np.ndarray, list[int]]:
    """List nodes and what is known of their labels.

    [N, K, D], [U, D], [Q, D] -> [N K + U + Q, D], as many labels.
    """
    nodes, labels = [], []
    for c, shots in enumerate(np.asarray(support, np.float64)):
        for point in shots:
            nodes.append(point)
            labels.append(c)
    for point in [*([] if unlabeled is None else unlabeled), *queries]:
        nodes.append(np.asarray(point, np.float64))
        labels.append(-1)
    return np.array(nodes), labels


def transductive_scores(
    support: np.ndarray,
    unlabeled: np.ndarray | None,
    queries: np.ndarray,
    scales: np.ndarray | float = 1.0,
    **graph,
) -> np.ndarray:
    """Compute F* of the queries, all in one graph: -> [Q, N].

    `scales`: one number, or one for each node [N K + U + Q]; `graph`: as
    `graph_scores`.
    """
    nodes, labels = episode_nodes(support, unlabeled, queries)
    scores = graph_scores(nodes, labels, len(support), scales, **graph)
    return scores[len(nodes) - len(queries) :]


def inductive_scores(
    support: np.ndarray,
    unlabeled: np.ndarray | None,
    queries: np.ndarray,
    scales: np.ndarray | float = 1.0,
    **graph,
) -> np.ndarray:
    """Compute F* of the queries, a graph for each (TPN-semi at test): -> [Q, N].

    `scales` and `graph`: as `transductive_scores`.
    """
    nodes, _ = episode_nodes(support, unlabeled, queries)
    scales = np.broadcast_to(np.asarray(scales, np.float64), (len(nodes),))
    first = len(nodes) - len(queries)
    rows = []
    for q in range(len(queries)):
        own = [*range(first), first + q]
        found = transductive_scores(
            support, unlabeled, queries[q : q + 1], scales[own], **graph
        )
        rows.append(found[0])
    return np.array(rows)


def episode_loss(
    support: np.ndarray,
    unlabeled: np.ndarray | None,
    queries: np.ndarray,
    query_labels: Sequence[int],
    scales: np.ndarray | float = 1.0,
    **graph,
) -> float:
    """Compute the loss over support and query nodes of one graph -> a number.

    Unlabelled nodes are in the graph and not in the mean.
    """
    nodes, known = episode_nodes(support, unlabeled, queries)
    scores = graph_scores(nodes, known, len(support), scales, **graph)
    targets = [*known[: len(nodes) - len(queries)], *query_labels]
    return loss(scores, targets)


def max_pool_same(features: np.ndarray) -> np.ndarray:
    """Pool 2x2 with stride 2, smaller windows at the end: 5 -> 3 -> 2.

    [B, H, W, C] -> [B, ceil(H / 2), ceil(W / 2), C].
    """
    batch, height, width, channels = features.shape
    result = np.zeros((batch, (height + 1) // 2, (width + 1) // 2, channels))
    for row in range(result.shape[1]):
        for column in range(result.shape[2]):
            window = features[:, 2 * row : 2 * row + 2, 2 * column : 2 * column + 2]
            result[:, row, column] = window.max(axis=(1, 2))
    return result


def length_scales(
    maps: np.ndarray,
    blocks: Sequence[Sequence[np.ndarray]],
    dense: Sequence[np.ndarray],
    epsilon: float = 1e-3,
) -> np.ndarray:
    """Compute sigma of each map by two conv blocks and two dense layers.

    [B, H, W, C] -> [B]. A block: kernel [3, 3, Cin, Cout], bias, and scale, offset[,
    mean, variance] of its batch norm; `dense`: kernel [4, 8], bias [8], kernel [8, 1],
    bias [1].
    """
    features = np.asarray(maps, np.float64)
    for kernel, bias, *norm in blocks:
        features = convolve(features, np.asarray(kernel, np.float64)) + bias
        features = batch_norm(features, *norm, epsilon=epsilon)
        features = max_pool_same(np.maximum(features, 0.0))
    first, first_bias, second, second_bias = (np.asarray(x, np.float64) for x in dense)
    result = []
    for image in features:
        hidden = np.maximum(image.reshape(-1) @ first + first_bias, 0.0)
        result.append((hidden @ second + second_bias)[0])
    return np.array(result)


def length_scale_parameters(channels: int = 64, places: int = 4) -> int:
    """Count the trainable numbers of the length scale's network (37,684)."""
    blocks = 0
    for incoming, outgoing in [(channels, 64), (64, 1)]:
        blocks += 3 * 3 * incoming * outgoing + outgoing  # convolution with bias
        blocks += 2 * outgoing  # batch norm
    return blocks + (places * 8 + 8) + (8 * 1 + 1)
