"""The graph the walker lives on: where it may step from each node.

In the paper's symbols: prototypes p, unlabelled points x,
`leave` = Γ(p→x), `wander` = Γ(x→x), `arrive` = Γ(x→p).

All functions take any number of leading axes before the shapes they name.
"""

from collections.abc import Callable
from typing import NamedTuple

import tensorflow as tf

FAR = 0.999  # of the squared norm in the mean; distances have three digits less there
# Points [B, D] -> how strongly others are drawn to each of them, [A, D] -> [A, B]. What
# depends on the points alone is computed once, for any number of others.
Similarity = Callable[[tf.Tensor], Callable[[tf.Tensor], tf.Tensor]]
# Points to step from [R, D] and their places among all points [R] -> logarithms of
# their steps: [R, U].
LogRows = Callable[[tf.Tensor, tf.Tensor], tf.Tensor]


class LogTransitions(NamedTuple):
    """Logarithms of the probabilities of one step; each row is a distribution."""

    leave: tf.Tensor  # [N, U] from a prototype to a point
    wander: tf.Tensor  # [U, U] from a point to another point
    arrive: tf.Tensor  # [U, N] from a point to a prototype


class Transitions(NamedTuple):
    """Probabilities of one step; each row sums to one."""

    leave: tf.Tensor  # [N, U] from a prototype to a point
    wander: tf.Tensor  # [U, U] from a point to another point
    arrive: tf.Tensor  # [U, N] from a point to a prototype


def squared_distance(a: tf.Tensor, b: tf.Tensor) -> tf.Tensor:
    """Returns squared distances between two sets: [A, D], [B, D] -> [A, B]."""
    return squared_distance_to(b)(a)


def squared_distance_to(points: tf.Tensor) -> Callable[[tf.Tensor], tf.Tensor]:
    """Returns the function of others that gives their squared distances to points."""
    middle = _far_middle(points)
    points = points - middle
    norm = tf.reduce_sum(points * points, axis=-1)[..., None, :]  # [1, B]

    def distance(others: tf.Tensor) -> tf.Tensor:
        others = others - middle
        own_norm = tf.reduce_sum(others * others, axis=-1)[..., :, None]  # [A, 1]
        product = tf.linalg.matmul(others, points, transpose_b=True)  # [A, B]
        return tf.maximum(own_norm + norm - 2 * product, 0)

    return distance


def _far_middle(points: tf.Tensor) -> tf.Tensor:
    """Returns the mean of points far from the origin, else zeros: [B, D] -> [1, D].

    Where the mean holds nearly all of their squared norm, float32 has no digits left
    for their differences. Batch norm keeps points from going there, other encoders may
    not. Zeros leave all other distances as they are, to the last bit.
    """
    middle = tf.stop_gradient(tf.reduce_mean(points, axis=-2, keepdims=True))
    square = tf.reduce_sum(middle * middle, axis=-1, keepdims=True)  # [1, 1]
    mean_square = tf.reduce_mean(points * points, axis=-2, keepdims=True)
    whole = tf.stop_gradient(tf.reduce_sum(mean_square, axis=-1, keepdims=True))
    return tf.where(square > FAR * whole, middle, tf.zeros_like(middle))


def nearness(a: tf.Tensor, b: tf.Tensor) -> tf.Tensor:
    """Returns the paper's similarity, negative squared distances: -> [A, B]."""
    return -squared_distance(a, b)


def nearness_to(points: tf.Tensor) -> Callable[[tf.Tensor], tf.Tensor]:
    """Returns the function of others that gives their nearness to points."""
    distance = squared_distance_to(points)
    return lambda others: -distance(others)


def dot_product_with(points: tf.Tensor) -> Callable[[tf.Tensor], tf.Tensor]:
    """Returns the function of others that gives the similarity of association."""
    return lambda others: tf.linalg.matmul(others, points, transpose_b=True)


def log_transitions(
    prototypes: tf.Tensor,
    unlabeled: tf.Tensor,
    smoothing: float = 0.1,
    self_loop_penalty: float = 1e9,
    similarity: Similarity = nearness_to,
) -> LogTransitions:
    """Returns the graph whose steps go by similarity: [N, D], [U, D] -> graph.

    Squared distances reach 1e3 for 84-pixel images at initialisation, where the
    probabilities underflow; hence logarithms.
    """
    leave, arrive = log_outer_steps(prototypes, unlabeled, smoothing, similarity)
    places = tf.range(tf.shape(unlabeled)[-2])
    wander = log_wander(unlabeled, self_loop_penalty, similarity)(unlabeled, places)
    return LogTransitions(leave, wander, arrive)


def log_outer_steps(
    prototypes: tf.Tensor,
    unlabeled: tf.Tensor,
    smoothing: float = 0.1,
    similarity: Similarity = nearness_to,
) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns `leave` [N, U] and `arrive` [U, N] of `log_transitions`."""
    to_prototype = similarity(prototypes)(unlabeled)  # [U, N]
    leave = tf.nn.log_softmax(tf.linalg.matrix_transpose(to_prototype))
    arrive = tf.nn.log_softmax(to_prototype)
    return smooth(leave, smoothing), smooth(arrive, smoothing)


def log_wander(
    unlabeled: tf.Tensor,
    self_loop_penalty: float = 1e9,
    similarity: Similarity = nearness_to,
) -> LogRows:
    """Returns the function that makes rows of `wander` among all points [U, D]."""
    to_all = similarity(unlabeled)
    all_places = tf.range(tf.shape(unlabeled)[-2])

    def log_rows(some: tf.Tensor, places: tf.Tensor) -> tf.Tensor:
        to_point = to_all(some)  # [R, U]
        itself = places[:, None] == all_places
        penalty = tf.constant(-self_loop_penalty, to_point.dtype)
        return tf.nn.log_softmax(tf.where(itself, penalty, to_point))

    return log_rows


def transitions(
    prototypes: tf.Tensor,
    unlabeled: tf.Tensor,
    smoothing: float = 0.1,
    self_loop_penalty: float = 1e9,
) -> Transitions:
    """Returns the probabilities of `log_transitions`.

    Example:
        >>> graph = transitions(tf.random.normal([5, 64]), tf.random.normal([50, 64]))
        >>> graph.leave.shape, graph.wander.shape, graph.arrive.shape
        (TensorShape([5, 50]), TensorShape([50, 50]), TensorShape([50, 5]))
    """
    logs = log_transitions(prototypes, unlabeled, smoothing, self_loop_penalty)
    return Transitions(*(tf.exp(step) for step in logs))


def smooth(log_rows: tf.Tensor, smoothing: float) -> tf.Tensor:
    """Mixes each row with the uniform distribution: (1 - c) row + c / length."""
    if smoothing == 0:
        return log_rows
    length = tf.cast(tf.shape(log_rows)[-1], log_rows.dtype)
    uniform = tf.math.log(smoothing / length)
    kept = log_rows + tf.math.log1p(tf.constant(-smoothing, log_rows.dtype))
    # log(exp(kept) + exp(uniform)), safe since `uniform` is finite.
    return uniform + tf.math.softplus(kept - uniform)
