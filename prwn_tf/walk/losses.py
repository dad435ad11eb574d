"""The loss of the paper: a walker that leaves a prototype should come home.

With T(t) = Γ(p→x) Γ(x→x)^t Γ(x→p), the chance to start at prototype i and land on j
after t inner steps, tau the most inner steps and alpha their decay:

    walker = Σ_{t=0..tau} alpha^t · mean_j −log T(t)_jj
    visit  = mean_i −log P_i,  P_i = mean_j Γ(p→x)_ji
"""

from typing import NamedTuple

import tensorflow as tf

from prwn_tf.walk import graph as graph_lib


class WalkLosses(NamedTuple):
    """What a walk on one episode costs, and how often it came home."""

    walker: tf.Tensor  # [] cross-entropy of landing where the walk began
    visit: tf.Tensor  # [] cross-entropy of visiting all points alike
    landing: tf.Tensor  # [steps + 1] mean probability of return after t inner steps


def walk_losses(
    prototypes: tf.Tensor,
    unlabeled: tf.Tensor,
    steps: int = 3,
    decay: float = 0.7,
    smoothing: float = 0.1,
    self_loop_penalty: float = 1e9,
) -> WalkLosses:
    """Returns the losses of a walk from prototypes [N, D] through points [U, D].

    Gradients flow through both. Smoothing 0 is the paper's text to the letter; it
    needs N * U * U numbers instead of U * U.

    Example:
        >>> losses = walk_losses(tf.eye(2) * 9, tf.repeat(tf.eye(2) * 9, 5, axis=0))
        >>> float(losses.landing[0]) > 0.9
        True
    """
    graph = graph_lib.log_transitions(
        prototypes, unlabeled, smoothing, self_loop_penalty
    )
    return losses_on(graph, steps, decay, bounded=smoothing > 0)


def losses_on(
    graph: graph_lib.LogTransitions, steps: int, decay: float, bounded: bool
) -> WalkLosses:
    """Returns `walk_losses` on a graph that is there already.

    Args:
        bounded: whether smoothing keeps the landing probabilities away from zero.
    """
    _check_points(graph.wander.shape[-1], steps)
    landing = _log_landing_bounded if bounded else _log_landing_exact
    log_landing = tf.stack(landing(graph, steps), axis=-2)  # [steps + 1, N]
    weights = tf.constant([decay**t for t in range(steps + 1)], log_landing.dtype)
    return WalkLosses(
        walker=-tf.reduce_sum(weights * tf.reduce_mean(log_landing, axis=-1), axis=-1),
        visit=-tf.reduce_mean(log_visit_probability(graph), axis=-1),
        landing=tf.reduce_mean(tf.exp(log_landing), axis=-1),
    )


def log_visit_probability(graph: graph_lib.LogTransitions) -> tf.Tensor:
    """Returns the log of how likely each point is the walker's first: [U]."""
    ways = tf.cast(tf.shape(graph.leave)[-2], graph.leave.dtype)
    return tf.reduce_logsumexp(graph.leave, axis=-2) - tf.math.log(ways)


def visit_entropy(graph: graph_lib.LogTransitions) -> tf.Tensor:
    """Returns the entropy of the first point visited, log U at most: []."""
    log_visit = log_visit_probability(graph)
    return -tf.reduce_sum(tf.exp(log_visit) * log_visit, axis=-1)


def _log_landing_bounded(
    graph: graph_lib.LogTransitions, steps: int
) -> list[tf.Tensor]:
    """Returns log T(t)_jj for t = 0..steps, each [N], by products of probabilities.

    Smoothing bounds T from below; the position itself may underflow, so its
    logarithm is never taken.
    """
    position, wander = tf.exp(graph.leave), tf.exp(graph.wander)  # [N, U], [U, U]
    arrive = tf.linalg.matrix_transpose(tf.exp(graph.arrive))  # [N, U]
    landing = []
    for step in range(steps + 1):
        if step > 0:
            position = tf.linalg.matmul(position, wander)
        landing.append(tf.math.log(tf.reduce_sum(position * arrive, axis=-1)))
    return landing


def _log_landing_exact(graph: graph_lib.LogTransitions, steps: int) -> list[tf.Tensor]:
    """Returns log T(t)_jj for t = 0..steps, each [N], by sums of logarithms."""
    position = graph.leave  # [N, U]
    arrive = tf.linalg.matrix_transpose(graph.arrive)  # [N, U]
    landing = []
    for step in range(steps + 1):
        if step > 0:
            paths = position[..., :, :, None] + graph.wander[..., None, :, :]
            position = tf.reduce_logsumexp(paths, axis=-2)  # [N, U, U] -> [N, U]
        landing.append(tf.reduce_logsumexp(position + arrive, axis=-1))
    return landing


def _check_points(points: int | None, steps: int) -> None:
    """Raises if there are too few points; compiled code would return NaN instead."""
    needed = 2 if steps > 0 else 1
    if points is not None and points < needed:
        raise ValueError(
            f"a walk of {steps} inner steps needs at least {needed} unlabelled points, "
            f"got {points}"
        )
