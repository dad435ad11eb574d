"""What the walk says about single unlabelled points."""

import math

import tensorflow as tf

from prwn_tf.walk import graph as graph_lib

SMOOTHING = 0.1  # of the filter, whatever graph a model was trained on


def visit_probability(leave: tf.Tensor) -> tf.Tensor:
    """Returns how likely the walker's first point is each one: [N, U] -> [U].

    Args:
        leave: probabilities of its first step, as in `graph.Transitions`.
    """
    return tf.reduce_mean(leave, axis=-2)


def log_success(
    prototypes: tf.Tensor, unlabeled: tf.Tensor, smoothing: float = SMOOTHING
) -> tf.Tensor:
    """Returns how likely the walker returns through each point at once, as a log: [U].

    The logarithm of the chance to leave a prototype for the point and to come back in
    the next step, summed over prototypes: high for points of the episode's classes,
    low for distractors. The smoothing / U that every point gets alike is left out. It
    changes no order, but with squared distances in the hundreds it is all that would
    be left of the sum.
    """
    nearness = graph_lib.nearness(unlabeled, prototypes)  # [U, N]
    return log_success_of(
        tf.nn.log_softmax(nearness, axis=-2), tf.nn.log_softmax(nearness), smoothing
    )


def log_success_of(
    leave: tf.Tensor, arrive: tf.Tensor, smoothing: float = SMOOTHING
) -> tf.Tensor:
    """Returns `log_success` from the logs of unsmoothed steps, both [U, N]: [U]."""
    through = leave + graph_lib.smooth(arrive, smoothing)
    return tf.reduce_logsumexp(through, axis=-1) + math.log1p(-smoothing)


def keep_above_median(scores: tf.Tensor) -> tf.Tensor:
    """Returns 1 for scores at or above their median, 0 below: [U] -> [U].

    The median of an even number is the mean of the middle two, so half is kept. No
    score lies between these two, so the upper one says the same; their mean itself can
    round down to the lower one.
    """
    ascending = tf.sort(scores, axis=-1)
    upper = tf.gather(ascending, tf.shape(scores)[-1] // 2, axis=-1)
    return tf.cast(scores >= upper[..., None], scores.dtype)


def median(scores: tf.Tensor) -> tf.Tensor:
    """Returns the middle score, the mean of the middle two if even: [U] -> []."""
    points = tf.shape(scores)[-1]
    ascending = tf.sort(scores, axis=-1)
    lower = tf.gather(ascending, (points - 1) // 2, axis=-1)
    upper = tf.gather(ascending, points // 2, axis=-1)
    return (lower + upper) / 2
