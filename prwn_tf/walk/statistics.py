"""What the walk says about single unlabelled points."""

import tensorflow as tf

from prwn_tf.walk.graph import Transitions


def visit_probability(graph: Transitions) -> tf.Tensor:
    """How likely the walker's first point is each one: graph -> [U], sums to one."""
    return tf.reduce_mean(graph.leave, axis=-2)


def success_score(graph: Transitions) -> tf.Tensor:
    """Chance to leave a prototype for a point and return at once: graph -> [U].

    Summed over prototypes; high for points of the episode's classes, low for
    distractors.
    """
    return tf.reduce_sum(
        graph.leave * tf.linalg.matrix_transpose(graph.arrive), axis=-2
    )


def keep_above_median(scores: tf.Tensor) -> tf.Tensor:
    """1 for scores at or above their median, 0 below: [U] -> [U].

    The median of an even number is the mean of the middle two, so half is kept.
    """
    points = tf.shape(scores)[-1]
    ascending = tf.sort(scores, axis=-1)
    lower = tf.gather(ascending, (points - 1) // 2, axis=-1)
    upper = tf.gather(ascending, points // 2, axis=-1)
    median = (lower + upper) / 2
    # The mean of two neighbouring floats can round up to the upper one, no further.
    return tf.cast(scores >= median[..., None], scores.dtype)
