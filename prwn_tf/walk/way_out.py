"""A walk with a way out of the graph, which the paper's has not.

At point i the walker stays with probability s_i, and else is lost without blame. With
Γ(x→x) and Γ(x→p) times s_i in row i, T(t) as in `losses`:

    walker = Σ_{t=0..tau} alpha^t · mean_j −log (T(t)_jj / Σ_c T(t)_jc)
    visit  = Σ_i s_i (−log P_i) / Σ_i s_i

It came home, if it came back; and points that it may leave from need not be visited.
"""

import tensorflow as tf

from prwn_tf.walk import graph as graph_lib
from prwn_tf.walk.losses import WalkLosses, log_visit_probability


def walk_losses(
    graph: graph_lib.LogTransitions, stay: tf.Tensor, steps: int, decay: float
) -> WalkLosses:
    """Returns the losses of a walk that ends at point i with chance 1 - stay_i: [U]."""
    log_landing = _log_landing(graph, tf.math.log(stay), steps)  # [steps + 1, N]
    weights = tf.constant([decay**t for t in range(steps + 1)], log_landing.dtype)
    log_visit = log_visit_probability(graph.leave)  # [U]
    visits = tf.reduce_sum(stay * log_visit, axis=-1)
    return WalkLosses(
        walker=-tf.reduce_sum(weights * tf.reduce_mean(log_landing, axis=-1), axis=-1),
        visit=-visits / tf.reduce_sum(stay, axis=-1),
        landing=tf.reduce_mean(tf.exp(log_landing), axis=-1),
        visit_entropy=-tf.reduce_sum(tf.exp(log_visit) * log_visit, axis=-1),
    )


def _log_landing(
    graph: graph_lib.LogTransitions, log_stay: tf.Tensor, steps: int
) -> tf.Tensor:
    """Returns how likely walkers that came back came home: [steps + 1, N], as logs."""
    arrive = graph.arrive + log_stay[..., None]  # [U, N]
    wander = graph.wander + log_stay[..., None]  # [U, U]
    position, landing = graph.leave, []  # [N, U]
    for step in range(steps + 1):
        if step > 0:
            position = _log_product(position, wander)
        landed = _log_product(position, arrive)  # [N, N]
        home = tf.linalg.diag_part(landed)
        landing.append(home - tf.reduce_logsumexp(landed, axis=-1))
    return tf.stack(landing, axis=-2)


def _log_product(a: tf.Tensor, b: tf.Tensor) -> tf.Tensor:
    """Returns log(exp(a) exp(b)) of logarithms: [A, B], [B, C] -> [A, C].

    As a product of numbers up to 1, each row of the first over its largest one, since
    the walkers that are left may be very few.
    """
    largest = tf.stop_gradient(tf.reduce_max(a, axis=-1, keepdims=True))
    product = tf.linalg.matmul(tf.exp(a - largest), tf.exp(b))
    tiny = product.dtype.as_numpy_dtype(1e-30)
    return largest + tf.math.log(tf.maximum(product, tiny))
