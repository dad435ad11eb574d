"""The graph the walker lives on: where it may step from each node.

In the paper's symbols: prototypes p, unlabelled points x,
`leave` = Γ(p→x), `wander` = Γ(x→x), `arrive` = Γ(x→p).

All functions take any number of leading axes before the shapes they name.
"""

from collections.abc import Callable
from typing import NamedTuple

import tensorflow as tf

# Two sets of points -> how strongly each of one is drawn to each of the other:
# [A, D], [B, D] -> [A, B].
Similarity = Callable[[tf.Tensor, tf.Tensor], tf.Tensor]


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
    a_norm = tf.reduce_sum(a * a, axis=-1)[..., :, None]  # [A, 1]
    b_norm = tf.reduce_sum(b * b, axis=-1)[..., None, :]  # [1, B]
    product = tf.linalg.matmul(a, b, transpose_b=True)  # [A, B]
    return tf.maximum(a_norm + b_norm - 2 * product, 0)


def nearness(a: tf.Tensor, b: tf.Tensor) -> tf.Tensor:
    """Returns the paper's similarity, negative squared distances: -> [A, B]."""
    return -squared_distance(a, b)


def dot_product(a: tf.Tensor, b: tf.Tensor) -> tf.Tensor:
    """Returns the similarity of learning by association: [A, D], [B, D] -> [A, B]."""
    return tf.linalg.matmul(a, b, transpose_b=True)


def log_transitions(
    prototypes: tf.Tensor,
    unlabeled: tf.Tensor,
    smoothing: float = 0.1,
    self_loop_penalty: float = 1e9,
    similarity: Similarity = nearness,
) -> LogTransitions:
    """Returns the graph whose steps go by similarity: [N, D], [U, D] -> graph.

    Squared distances reach 1e3 for 84-pixel images at initialisation, where the
    probabilities underflow; hence logarithms.
    """
    to_prototype = similarity(unlabeled, prototypes)  # [U, N]
    to_point = similarity(unlabeled, unlabeled)  # [U, U]
    to_itself = tf.zeros_like(unlabeled[..., 0]) - self_loop_penalty  # [U]
    return LogTransitions(
        leave=smooth(
            tf.nn.log_softmax(tf.linalg.matrix_transpose(to_prototype)), smoothing
        ),
        wander=tf.nn.log_softmax(tf.linalg.set_diag(to_point, to_itself)),
        arrive=smooth(tf.nn.log_softmax(to_prototype), smoothing),
    )


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
