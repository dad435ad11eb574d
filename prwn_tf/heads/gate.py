"""The gate: an unlabelled point belongs to a class, or nowhere.

How far a stranger is, is read off the support: the mean squared distance r of each of
its points, its own class hidden, to the nearest prototype. Squared distances d² count
in this unit, so the rule does not depend on the length of embeddings, and follows the
number of classes. With p_c the mean of all points x_i by their weights,

    share_ic = weight_ic / sum_i weight_ic,  v_c = sum_i share_ic^2
    spread   = mean over c with v_c < 0.9 of  sum_i share_ic d²(x_i, p_c) / (1 - v_c)
    offset_c = spread v_c
    weight_i = softmax of (-beta (d²(x_i, p_c) - offset_c) / r, and nowhere: -beta rho)

for unlabelled points, whose nowhere column is dropped; support keeps its labels. v_c is
1 for a single point and small for many, so the offset is what a prototype's own noise
adds to every distance.

In the walk's words, a point's walker steps to a prototype or out of the graph, and only
what arrives counts. It is a walk of one step: more steps were tried and did not help.
"""

from typing import NamedTuple

import tensorflow as tf

from prwn_tf.heads.classes import Classes, labeled_points, stranger_distance
from prwn_tf.walk import graph

SHARPNESS = 10.0  # beta; 7 to 15 are as good
NOWHERE = 0.5  # rho, in the unit of a stranger's distance; 0.4 to 0.6 are as good
ROUNDS = 2  # one is worse; three drift where classes have unequal numbers
MAX_VARIANCE = 0.9  # of the shares of a class that tells of the spread


class Gated(NamedTuple):
    """Classes that points have moved, and how far each of them belongs to each."""

    classes: Classes
    weights: tf.Tensor  # [U, N]; what a row lacks to 1 belongs nowhere


def gate(
    points: tf.Tensor,
    labels: tf.Tensor,
    unlabeled: tf.Tensor,
    sharpness: float = SHARPNESS,
    nowhere: float = NOWHERE,
    rounds: int = ROUNDS,
) -> Gated:
    """Returns classes moved by those unlabelled points [U, D] that belong to them.

    Args:
        points: [L, D] with labels.
        labels: [L, N] one-hot, a point for every class at least.

    Example:
        >>> points, labels = tf.eye(2), tf.eye(2)
        >>> crowd = tf.constant([[0.9, 0.0], [50.0, 50.0]])  # a friend and a stranger
        >>> gate(points, labels, crowd).weights.numpy().round(1).tolist()
        [[1.0, 0.0], [0.0, 0.0]]
    """
    everything = tf.concat([points, unlabeled], axis=-2)  # [L + U, D]
    labels += tf.zeros_like(points[..., :1])  # one for each episode, if many
    weights = tf.zeros_like(unlabeled[..., :1]) * labels[..., :1, :]  # [U, N]
    classes = weighted_classes(everything, tf.concat([labels, weights], axis=-2))
    for _ in range(rounds):
        weights = belonging(points, labels, unlabeled, classes, sharpness, nowhere)
        classes = weighted_classes(everything, tf.concat([labels, weights], axis=-2))
    return Gated(classes, weights)


def gated_classes(support: tf.Tensor, unlabeled: tf.Tensor) -> Classes:
    """Returns the classes of an episode by the gate: [N, K, D], [U, D]."""
    return gate(*labeled_points(support), unlabeled).classes


def weighted_classes(points: tf.Tensor, weights: tf.Tensor) -> Classes:
    """Returns the means of points by their weights, and the noise of each.

    [P, D], [P, N] -> [N, D], [N].
    """
    shares = weights / tf.reduce_sum(weights, axis=-2, keepdims=True)  # [P, N]
    prototypes = tf.linalg.matmul(shares, points, transpose_a=True)  # [N, D]
    variances = tf.reduce_sum(shares**2, axis=-2)  # [N]
    distances = graph.squared_distance(points, prototypes)  # [P, N]
    spreads = tf.reduce_sum(shares * distances, axis=-2)  # [N]
    told = tf.cast(variances < MAX_VARIANCE, points.dtype)  # [N]
    spreads *= told / tf.maximum(1 - variances, 1 - MAX_VARIANCE)
    spread = tf.math.divide_no_nan(
        tf.reduce_sum(spreads, axis=-1, keepdims=True),
        tf.reduce_sum(told, axis=-1, keepdims=True),
    )  # [1]
    return Classes(prototypes, spread * variances)


def belonging(
    points: tf.Tensor,
    labels: tf.Tensor,
    unlabeled: tf.Tensor,
    classes: Classes,
    sharpness: float = SHARPNESS,
    nowhere: float = NOWHERE,
) -> tf.Tensor:
    """Returns how far unlabelled points [U, D] belong to each class: [U, N].

    Where classes lie upon one another, so that a stranger is no further than their
    noise, nothing belongs to any of them.
    """
    unit = stranger_distance(points, labels, classes)[..., None, None]
    apart = unit > 0
    relative = classes.distances(unlabeled) / tf.where(apart, unit, 1)  # [U, N]
    way_out = tf.fill(tf.shape(relative[..., :1]), tf.cast(nowhere, relative.dtype))
    options = tf.concat([relative, way_out], axis=-1)  # [U, N + 1]
    weights = tf.nn.softmax(-sharpness * options)[..., :-1]
    return tf.where(apart, weights, 0)
