"""The loss of the paper: a walker that leaves a prototype should come home.

With T(t) = Γ(p→x) Γ(x→x)^t Γ(x→p), the chance to start at prototype i and land on j
after t inner steps, tau the most inner steps and alpha their decay:

    walker = Σ_{t=0..tau} alpha^t · mean_j −log T(t)_jj
    visit  = mean_i −log P_i,  P_i = mean_j Γ(p→x)_ji
"""

import functools
import math
from typing import NamedTuple

import tensorflow as tf

from prwn_tf.walk import graph, tiles
from prwn_tf.walk.arithmetic import Arithmetic, Logarithms, Probabilities

# A graph with more numbers in its point-to-point step is walked in tiles of as many:
# more than 2048 points. With fewer, the whole step is held in 0.15 GB, gradients
# included, and takes half the time.
HELD = 2**22
# Rows of a tile, at least. Every tile looks at all points anew, which would take more
# time than its own numbers if it had a few rows.
ROWS = 256


class WalkLosses(NamedTuple):
    """What a walk on one episode costs, and where it went."""

    walker: tf.Tensor  # [] cross-entropy of landing where the walk began
    visit: tf.Tensor  # [] cross-entropy of visiting all points alike
    landing: tf.Tensor  # [steps + 1] mean probability of return after t inner steps
    visit_entropy: tf.Tensor  # [] of the first point visited, log U at most


def walk_losses(
    prototypes: tf.Tensor,
    unlabeled: tf.Tensor,
    steps: int = 3,
    decay: float = 0.7,
    smoothing: float = 0.1,
    self_loop_penalty: float = 1e9,
    similarity: graph.Similarity = graph.nearness_to,
    held: int | None = None,
) -> WalkLosses:
    """Returns the losses of a walk from prototypes [N, D] through points [U, D].

    Gradients flow through both. Smoothing 0 is the paper's text to the letter; it
    counts by logarithms, which takes N times as long.

    Args:
        held: numbers of the point-to-point step that are held at once; by default
            `HELD`, or `ROWS` of its rows.

    Example:
        >>> losses = walk_losses(tf.eye(2) * 9, tf.repeat(tf.eye(2) * 9, 5, axis=0))
        >>> float(losses.landing[0]) > 0.9
        True
    """
    prototypes, unlabeled = map(tf.convert_to_tensor, (prototypes, unlabeled))
    _check_points(unlabeled.shape[-2], steps)
    arithmetic = Probabilities if smoothing > 0 else Logarithms
    leave, arrive = graph.log_outer_steps(prototypes, unlabeled, smoothing, similarity)
    log_steps = functools.partial(
        graph.log_wander, self_loop_penalty=self_loop_penalty, similarity=similarity
    )
    homes = _homes(
        arithmetic.of_logs(leave),
        arithmetic.of_logs(arrive),
        unlabeled,
        log_steps,
        steps,
        held,
        arithmetic,
    )
    log_landing = arithmetic.to_logs(tf.stack(homes, axis=-2))  # [steps + 1, N]
    weights = tf.constant([decay**t for t in range(steps + 1)], log_landing.dtype)
    log_visit = log_visit_probability(leave)
    return WalkLosses(
        walker=-tf.reduce_sum(weights * tf.reduce_mean(log_landing, axis=-1), axis=-1),
        visit=-tf.reduce_mean(log_visit, axis=-1),
        landing=tf.reduce_mean(tf.exp(log_landing), axis=-1),
        visit_entropy=-tf.reduce_sum(tf.exp(log_visit) * log_visit, axis=-1),
    )


def log_visit_probability(leave: tf.Tensor) -> tf.Tensor:
    """Returns the log of how likely each point is the walker's first: [U].

    Args:
        leave: as in `graph.LogTransitions`, [N, U].
    """
    ways = tf.cast(tf.shape(leave)[-2], leave.dtype)
    return tf.reduce_logsumexp(leave, axis=-2) - tf.math.log(ways)


def _homes(
    leave: tf.Tensor,
    arrive: tf.Tensor,
    points: tf.Tensor,
    log_steps: tiles.LogSteps,
    steps: int,
    held: int | None,
    arithmetic: Arithmetic,
) -> list[tf.Tensor]:
    """Returns T(t)_jj for t = 0..steps, each [N], in numbers of an arithmetic."""
    if steps > 0 and (rows := _rows_held(leave.shape, held, arithmetic)):
        return tiles.home_by_tiles(
            leave, arrive, points, log_steps, steps, rows, arithmetic
        )
    start, homes = leave, [arithmetic.home(leave, arrive)]
    if steps > 0:
        places = tf.range(tf.shape(points)[-2])
        wander = arithmetic.of_logs(log_steps(points)(points, places))  # [U, U]
    for _ in range(steps):
        start = arithmetic.ahead(start, wander)
        homes.append(arithmetic.home(start, arrive))
    return homes


def _rows_held(
    leave: tf.TensorShape, held: int | None, arithmetic: Arithmetic
) -> int | None:
    """Returns how many rows of the point-to-point step to hold; None for all of them.

    Sizes that are unknown until the graph runs are taken to be small.
    """
    if not leave.is_fully_defined():
        return None
    *episodes, ways, points = leave
    row = math.prod(episodes) * points
    held = held or max(HELD, ROWS * row)
    row *= arithmetic.numbers(ways)
    return None if row * points <= held else max(1, held // row)


def _check_points(points: int | None, steps: int) -> None:
    """Raises if there are too few points; compiled code would return NaN instead."""
    needed = 2 if steps > 0 else 1
    if points is not None and points < needed:
        raise ValueError(
            f"a walk of {steps} inner steps needs at least {needed} unlabelled points, "
            f"got {points}"
        )
