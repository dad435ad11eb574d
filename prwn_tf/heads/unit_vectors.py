"""Points as unit vectors around their mean, as strong methods on embeddings begin.

The mean is that of support and unlabelled points, never of queries, so that each query
is answered alone.
"""

import tensorflow as tf


def unit(vectors: tf.Tensor) -> tf.Tensor:
    """Returns vectors of length 1 in the same directions: [P, D] -> [P, D]."""
    return tf.math.l2_normalize(vectors, axis=-1)


def center_of(points: tf.Tensor) -> tf.Tensor:
    """Returns the mean of points as unit vectors: [P, D] -> [D]."""
    return tf.reduce_mean(unit(points), axis=-2)


def unit_around(center: tf.Tensor, points: tf.Tensor) -> tf.Tensor:
    """Returns unit vectors from a center [D] towards points as unit vectors: [P, D]."""
    return unit(unit(points) - center[..., None, :])


def unit_episode(
    support: tf.Tensor, unlabeled: tf.Tensor
) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    """Returns the center of an episode, and its points around it.

    [N, K, D], [U, D] -> [D], [N, K, D], [U, D].
    """
    shape = tf.shape(support)
    flat = tf.concat([shape[:-3], [-1], shape[-1:]], axis=0)
    labeled = tf.reshape(support, flat)  # [NK, D]
    center = center_of(tf.concat([labeled, unlabeled], axis=-2))
    around = tf.reshape(unit_around(center, labeled), shape)
    return (
        center,
        tf.ensure_shape(around, support.shape),
        unit_around(center, unlabeled),
    )
