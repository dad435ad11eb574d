"""Learning by association, point by point (methods.md 14).

Axes: N classes, K labelled points of each, U unlabelled points, D embedding size.
"""

import numpy as np

from tests.oracle.prototypes import softmax


def association_losses(
    labeled: np.ndarray, unlabeled: np.ndarray
) -> tuple[float, float]:
    """Walker and visit loss: [N, K, D], [U, D] -> two numbers.

    P_ab and P_ba are row softmax of the dot products and of their transpose. Walker:
    cross-entropy of P_ab P_ba with the uniform distribution over the points of the
    same class. Visit: cross-entropy of the mean row of P_ab with the uniform one.
    """
    classes, count, size = labeled.shape
    a = np.asarray(labeled, np.float64).reshape(classes * count, size)
    b = np.asarray(unlabeled, np.float64)
    labels = [c for c in range(classes) for _ in range(count)]
    similarity = np.array([[float(x @ y) for y in b] for x in a])  # [A, U]
    there = np.array([softmax(row) for row in similarity])
    back = np.array([softmax(row) for row in similarity.T])
    walker = 0.0
    for i, label in enumerate(labels):
        same = [j for j, other in enumerate(labels) if other == label]
        for j in same:
            landing = sum(there[i, u] * back[u, j] for u in range(len(b)))
            walker -= np.log(landing) / len(same) / len(a)
    visit = 0.0
    for u in range(len(b)):
        visit -= np.log(sum(there[:, u]) / len(a)) / len(b)
    return float(walker), float(visit)
