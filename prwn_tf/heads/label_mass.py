"""Label propagation as a rival of the gate: points count by the labels that reach them.

Zhou et al., "Learning with local and global consistency", NeurIPS 2004, on the graph of
the nearest neighbours by cosine. With u unit vectors around their mean,

    W_ij = max(cos(u_i, u_j), 0)^3 among the nearest, W_ii = 0
    Z    = (1 - alpha S)^(-1) Y,  S = D^(-1/2) W D^(-1/2)

and a point's mass is the largest number of its row of Z. Distractors get little. Each
unlabelled point moves the means by its mass over the largest of all masses, to a power,
shared out among the classes as its row is.
"""

import tensorflow as tf

from prwn_tf.heads.classes import Classes, labeled_points
from prwn_tf.heads.propagation import among_nearest, solve
from prwn_tf.heads.unit_vectors import center_of, unit_around

# Chosen on validation classes of Omniglot, of some 30; 15, 0.8 and 1 are worse.
NEIGHBORS = 3
ALPHA = 0.5
POWER = 0.5


def spread_classes(
    support: tf.Tensor,
    unlabeled: tf.Tensor,
    neighbors: int = NEIGHBORS,
    alpha: float = ALPHA,
    power: float = POWER,
) -> Classes:
    """Returns the classes of an episode by label propagation: [N, K, D], [U, D]."""
    points, labels = labeled_points(support)
    everything = tf.concat([points, unlabeled], axis=-2)  # [L + U, D]
    labels += tf.zeros_like(points[..., :1])
    nothing = tf.zeros_like(unlabeled[..., :1]) * labels[..., :1, :]  # [U, N]
    spread = solve(
        cosine_graph(everything, neighbors),
        tf.concat([labels, nothing], axis=-2),
        alpha,
    )[..., tf.shape(points)[-2] :, :]  # [U, N]
    weights = tf.concat([labels, mass_weights(spread, power)], axis=-2)
    means = tf.linalg.matmul(weights, everything, transpose_a=True)  # [N, D]
    return Classes(means / tf.reduce_sum(weights, axis=-2)[..., None])


def cosine_graph(points: tf.Tensor, neighbors: int) -> tf.Tensor:
    """Returns W of points [V, D]: [V, V], symmetric, 0 between strangers."""
    vectors = unit_around(center_of(points), points)
    cosines = tf.linalg.matmul(vectors, vectors, transpose_b=True)
    cosines = (cosines + tf.linalg.matrix_transpose(cosines)) / 2
    cosines = tf.linalg.set_diag(cosines, tf.zeros_like(cosines[..., 0]))
    return among_nearest(tf.nn.relu(cosines) ** 3, neighbors)


def mass_weights(spread: tf.Tensor, power: float) -> tf.Tensor:
    """Returns how far points count for each class: Z of them [U, N] -> [U, N]."""
    spread = tf.nn.relu(spread)  # rounding leaves what is nothing below it
    mass = tf.reduce_max(spread, axis=-1, keepdims=True)  # [U, 1]
    largest = tf.reduce_max(mass, axis=-2, keepdims=True)  # [1, 1]
    total = tf.reduce_sum(spread, axis=-1, keepdims=True)
    shares = tf.math.divide_no_nan(spread, total)  # [U, N]
    return shares * tf.math.divide_no_nan(mass, largest) ** power
