"""Prototypes, scores and refinement, pair by pair (methods.md 3 and 5).

Axes: N classes, K shots, Q queries, U unlabelled points, D embedding size.
"""

import numpy as np


def log_sum_exp(values: np.ndarray) -> float:
    """log sum_i exp(values_i), exact for any size; all -inf gives -inf."""
    values = np.asarray(values, dtype=np.float64)
    largest = values.max()
    if largest == -np.inf:
        return -np.inf
    return float(largest + np.log(np.sum(np.exp(values - largest))))


def softmax(values: np.ndarray) -> np.ndarray:
    """exp(v_i) / sum_k exp(v_k) of one vector; entries of -inf get exactly 0."""
    values = np.asarray(values, dtype=np.float64)
    weights = np.exp(values - values.max())
    return weights / weights.sum()


def squared_distances(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """d2(a_i, b_j) = sum_k (a_ik - b_jk)^2 (section 1): [n, D], [m, D] -> [n, m]."""
    a = np.asarray(a, dtype=np.float64)
    b = np.asarray(b, dtype=np.float64)
    result = np.zeros((len(a), len(b)))
    for i in range(len(a)):
        for j in range(len(b)):
            result[i, j] = np.sum((a[i] - b[j]) ** 2)
    return result


def prototypes(support: np.ndarray) -> np.ndarray:
    """p_c = mean of the support embeddings of class c (section 3).

    [N, K, D] -> [N, D].
    """
    support = np.asarray(support, dtype=np.float64)
    classes, shots, size = support.shape
    result = np.zeros((classes, size))
    for c in range(classes):
        for k in range(shots):
            result[c] += support[c, k] / shots
    return result


def scores(prototypes: np.ndarray, queries: np.ndarray) -> np.ndarray:
    """Logit of query x for class c = -d2(x, p_c), no temperature (section 3).

    [N, D], [Q, D] -> [Q, N].
    """
    return -squared_distances(queries, prototypes)


def classification_loss(scores: np.ndarray, labels: np.ndarray) -> float:
    """L_S = mean over queries of -log softmax(scores)[label] (section 3).

    [Q, N], [Q] -> scalar.
    """
    scores = np.asarray(scores, dtype=np.float64)
    total = 0.0
    for query, label in enumerate(labels):
        total += log_sum_exp(scores[query]) - scores[query, label]
    return float(total / len(labels))


def refine(
    support: np.ndarray, unlabeled: np.ndarray, weights: np.ndarray | None = None
) -> np.ndarray:
    """p~_c = sum_i z_ic h_i / sum_i z_ic over support and unlabelled (section 5).

    z is hard for support, weights_i * softmax_c(-d2(u_i, p_c)) for unlabelled points;
    [N, K, D], [U, D], [U] -> [N, D].
    """
    support = np.asarray(support, dtype=np.float64)
    unlabeled = np.asarray(unlabeled, dtype=np.float64)
    if weights is None:
        weights = np.ones(len(unlabeled))
    classes, shots, size = support.shape
    numerator = np.zeros((classes, size))
    denominator = np.zeros(classes)
    for c in range(classes):
        for k in range(shots):
            numerator[c] += support[c, k]
            denominator[c] += 1.0
    point_scores = scores(prototypes(support), unlabeled)  # [U, N]
    for i in range(len(unlabeled)):
        assignment = weights[i] * softmax(point_scores[i])  # [N]
        for c in range(classes):
            numerator[c] += assignment[c] * unlabeled[i]
            denominator[c] += assignment[c]
    for c in range(classes):
        if denominator[c] == 0.0:
            denominator[c] = 1.0
        numerator[c] /= denominator[c]
    return numerator
