"""Classes as queries meet them: a point each, and how far it is off by chance."""

from typing import NamedTuple

import tensorflow as tf

from prwn_tf.heads.unit_vectors import unit_around
from prwn_tf.walk import graph


class Classes(NamedTuple):
    """What queries are compared with.

    A prototype of few points is too far from everything by its own noise; its offset is
    that noise, and is subtracted from squared distances. Where there is a center,
    prototypes are compared with unit vectors around it.
    """

    prototypes: tf.Tensor  # [N, D]
    offsets: tf.Tensor | None = None  # [N]; None if all are alike
    center: tf.Tensor | None = None  # [D]

    def distances(self, points: tf.Tensor) -> tf.Tensor:
        """Returns squared distances of points without the noise: [P, D] -> [P, N]."""
        if self.center is not None:
            points = unit_around(self.center, points)
        distances = graph.squared_distance(points, self.prototypes)
        if self.offsets is None:
            return distances
        return distances - self.offsets[..., None, :]

    def scores(self, queries: tf.Tensor) -> tf.Tensor:
        """Returns the logits of queries: [Q, D] -> [Q, N]."""
        return -self.distances(queries)


def stranger_distance(
    points: tf.Tensor, labels: tf.Tensor, classes: Classes
) -> tf.Tensor:
    """Returns how far a stranger is, read off the labelled points: [].

    That is the mean squared distance of each of them, its own class hidden, to the
    nearest prototype; 0 if there is but one class.

    Args:
        points: [L, D].
        labels: [L, N] one-hot.
    """
    distances = classes.distances(points)  # [L, N]
    hidden = distances.dtype.max
    nearest = tf.reduce_min(tf.where(labels > 0, hidden, distances), axis=-1)  # [L]
    return tf.reduce_mean(tf.where(nearest < hidden, nearest, 0), axis=-1)


def labeled_points(support: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns a support class by class, and its labels one-hot.

    [N, K, D] -> [NK, D], [NK, N].
    """
    way, shot, size = support.shape[-3:]
    shape = tf.concat([tf.shape(support)[:-3], [way * shot, size]], axis=0)
    points = tf.reshape(support, shape)
    return points, tf.one_hot(tf.repeat(tf.range(way), shot), way, dtype=support.dtype)
