"""The edge-labelling graph network, edge by edge (methods.md 11: EGNN-semi).

Axes: G graphs, V nodes, S support (labelled and not), Q queries, N classes, D
embedding size. Edges are [V, V, 2]: similar, dissimilar. A label of -1 is hidden (an
unlabelled support, a distractor, or a query while one predicts).

A unit is a bias-free 1x1 convolution and its batch norm: kernel [Cin, Cout], scale,
offset[, mean, variance]; without the last two it uses the statistics of the batch,
which is all nodes of all graphs, or all V x V pairs of all graphs. A layer is a dict:
"node": 2 units, "edge": 4 units, "last": kernel [C, 1] and bias [1].

Left open by the specification, chosen here: no dropout; row i of an edge tensor is the
node that receives; the old row sum of the edge update is without the diagonal (so no
initial diagonal has any effect); an unlabelled support's own diagonal begins at 0.5,
like its other pairs; LeakyReLU 0.01 in the edge network too; the last 1x1 convolution
has a bias; a row of zeros stays zeros (its L1 norm is at least 1e-12); batch norm
epsilon 1e-5; a query's own diagonal and query-query edges are edges that touch a
query, and means of the loss are over all graphs together; no positive or negative edge
at all gives 0; the score reads row query, column support of the last layer.
"""

from collections.abc import Sequence

import numpy as np

from tests.oracle.resnet import batch_norm, leaky_relu, pointwise

SLOPE = 0.01


def initial_edges(
    labels: Sequence[int], is_query: Sequence[bool], transductive: bool
) -> np.ndarray:
    """Write the edges before the first layer: [V] labels, [V] -> [V, V, 2].

    A query's label is never read.
    """
    count = len(labels)
    known = [labels[i] >= 0 and not is_query[i] for i in range(count)]
    result = np.zeros((count, count, 2))
    for i in range(count):
        for j in range(count):
            if known[i] and known[j]:
                result[i, j] = (1, 0) if labels[i] == labels[j] else (0, 1)
            elif i == j and is_query[i] and transductive:
                result[i, j] = (1, 0)
            else:
                result[i, j] = (0.5, 0.5)
    return result


def without_diagonal(edges: np.ndarray) -> np.ndarray:
    """Set both channels of every node with itself to 0: [V, V, 2] -> [V, V, 2]."""
    result = np.array(edges, np.float64)
    for i in range(len(result)):
        result[i, i] = 0.0
    return result


def normalized_rows(edges: np.ndarray) -> np.ndarray:
    """Divide each row of each channel by its L1 norm: [V, V, 2] -> [V, V, 2]."""
    result = np.zeros(edges.shape)
    for i in range(len(edges)):
        for channel in range(2):
            norm = sum(abs(value) for value in edges[i, :, channel])
            result[i, :, channel] = edges[i, :, channel] / max(norm, 1e-12)
    return result


def aggregate(nodes: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """Concatenate v, similar and dissimilar neighbours: [V, D] -> [V, 3 D]."""
    weights = normalized_rows(without_diagonal(edges))
    count, size = nodes.shape
    result = np.zeros((count, 3 * size))
    for i in range(count):
        result[i, :size] = nodes[i]
        for channel in range(2):
            start = (channel + 1) * size
            for j in range(count):
                result[i, start : start + size] += weights[i, j, channel] * nodes[j]
    return result


def apply_unit(features: np.ndarray, unit: Sequence[np.ndarray]) -> np.ndarray:
    """Convolve 1x1, normalise, activate: [..., Cin] -> [..., Cout]."""
    kernel, *norm = unit
    features = pointwise(features, np.asarray(kernel, np.float64))
    return leaky_relu(batch_norm(features, *norm), SLOPE)


def update_nodes(
    nodes: np.ndarray, edges: np.ndarray, units: Sequence[Sequence[np.ndarray]]
) -> np.ndarray:
    """Update the nodes of all graphs: [G, V, D], [G, V, V, 2] -> [G, V, C]."""
    pairs = zip(nodes, edges, strict=True)
    features = np.array([aggregate(node, edge) for node, edge in pairs])
    for unit in units:
        features = apply_unit(features, unit)
    return features


def similarities(
    nodes: np.ndarray,
    units: Sequence[Sequence[np.ndarray]],
    last: Sequence[np.ndarray],
) -> np.ndarray:
    """Compute s_ij = sigmoid(f(|v_i - v_j|)): [G, V, C] -> [G, V, V]."""
    graphs, count, size = nodes.shape
    features = np.zeros((graphs, count, count, size))
    for g, i, j in np.ndindex(graphs, count, count):
        features[g, i, j] = np.abs(nodes[g, i] - nodes[g, j])
    for unit in units:
        features = apply_unit(features, unit)
    kernel, bias = (np.asarray(part, np.float64) for part in last)
    result = np.zeros((graphs, count, count))
    for g, i, j in np.ndindex(graphs, count, count):
        result[g, i, j] = 1.0 / (1.0 + np.exp(-(features[g, i, j] @ kernel + bias)[0]))
    return result


def update_edges(edges: np.ndarray, similar: np.ndarray) -> np.ndarray:
    """Update the edges of one graph: [V, V, 2], [V, V] -> [V, V, 2]."""
    old = without_diagonal(edges)
    count = len(old)
    new = np.zeros(old.shape)
    for i in range(count):
        for j in range(count):
            new[i, j, 0] = similar[i, j] * old[i, j, 0]
            new[i, j, 1] = (1.0 - similar[i, j]) * old[i, j, 1]
    new = normalized_rows(new)
    for i in range(count):
        for channel in range(2):
            new[i, :, channel] *= sum(old[i, :, channel])
        new[i, i, 0] += 1.0
        for j in range(count):
            new[i, j] += 1e-6
            new[i, j] /= new[i, j, 0] + new[i, j, 1]
    return new


def forward(
    nodes: np.ndarray, edges: np.ndarray, layers: Sequence[dict]
) -> list[np.ndarray]:
    """Compute the edges behind each layer: [G, V, D], [G, V, V, 2] -> same each."""
    nodes = np.asarray(nodes, np.float64)
    result = []
    for layer in layers:
        nodes = update_nodes(nodes, edges, layer["node"])
        similar = similarities(nodes, layer["edge"], layer["last"])
        pairs = zip(edges, similar, strict=True)
        edges = np.array([update_edges(edge, values) for edge, values in pairs])
        result.append(edges)
    return result


def episode_edges(
    support: np.ndarray,
    support_labels: Sequence[int],
    queries: np.ndarray,
    layers: Sequence[dict],
    transductive: bool = False,
) -> list[np.ndarray]:
    """Compute the edges behind each layer, nodes in the order support, queries.

    [S, D], [S], [Q, D] -> each [Q, S + 1, S + 1, 2], or [1, S + Q, S + Q, 2] if
    transductive.
    """
    support = np.asarray(support, np.float64)
    groups = [queries] if transductive else [query[None] for query in queries]
    nodes, edges = [], []
    for group in groups:
        labels = [*support_labels, *[-1] * len(group)]
        is_query = [False] * len(support) + [True] * len(group)
        nodes.append(np.concatenate([support, group]))
        edges.append(initial_edges(labels, is_query, transductive))
    return forward(np.array(nodes), np.array(edges), layers)


def query_scores(
    edges: np.ndarray, support_labels: Sequence[int], classes: int
) -> np.ndarray:
    """Sum channel 0 over the labelled support of each class: one layer -> [Q, N].

    `edges`: [G, S + q, S + q, 2], q queries in each of G graphs; Q = G q.
    """
    first = len(support_labels)
    rows = []
    for graph in edges:
        for query in range(first, len(graph)):
            row = np.zeros(classes)
            for j, label in enumerate(support_labels):
                if label >= 0:
                    row[label] += graph[query, j, 0]
            rows.append(row)
    return np.array(rows)


def layer_loss(
    edges: np.ndarray, labels: Sequence[Sequence[int]], support: int
) -> float:
    """Average BCE over positive and over negative query edges, and add the two.

    [G, V, V, 2], [G, V] -> number; the first `support` nodes are no queries, and edges
    with a hidden label (-1) do not count.
    """
    positive, negative = [], []
    for graph, known in zip(edges, labels, strict=True):
        for i in range(len(graph)):
            for j in range(len(graph)):
                touches = i >= support or j >= support
                if not touches or known[i] < 0 or known[j] < 0:
                    continue
                if known[i] == known[j]:
                    positive.append(-np.log(graph[i, j, 0]))
                else:
                    negative.append(-np.log(1.0 - graph[i, j, 0]))
    total = sum(positive) / len(positive) if positive else 0.0
    total += sum(negative) / len(negative) if negative else 0.0
    return float(total)


def episode_loss(
    layer_edges: Sequence[np.ndarray],
    support_labels: Sequence[int],
    query_labels: Sequence[int],
    weights: Sequence[float] = (0.5, 0.5, 1.0),
) -> float:
    """Average the weighted losses of the layers of `episode_edges` -> a number."""
    support = len(support_labels)
    graphs, nodes = layer_edges[0].shape[:2]
    each = nodes - support
    labels = []
    for g in range(graphs):
        labels.append([*support_labels, *query_labels[g * each : (g + 1) * each]])
    total = 0.0
    for weight, edges in zip(weights, layer_edges, strict=True):
        total += weight * layer_loss(edges, labels, support)
    return total / len(weights)


def parameter_count(size: int = 128, width: int = 96, layers: int = 3) -> int:
    """Count the trainable numbers of the graph network, kernels and batch norms."""
    total = 0
    for layer in range(layers):
        node = size if layer == 0 else width
        units = [(3 * node, 2 * width), (2 * width, width)]
        units += [(width, 2 * width), (2 * width, 2 * width)]
        units += [(2 * width, width), (width, width)]
        for incoming, outgoing in units:
            total += incoming * outgoing + 2 * outgoing
        total += width * 1 + 1
    return total
