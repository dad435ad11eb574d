"""More tasks of the same images: others of them are the support, the rest is asked.

Images are embedded once, and an encoder is nearly all of a step's time, so that more
tasks cost little. Batch norm sees the same batch for all of them.
"""

import tensorflow as tf


def orders(
    number: int, way: int, known: int, seed: int, index: tf.Tensor
) -> list[tf.Tensor]:
    """Returns orders of the `known` labelled images of each class: [N, K + q] each.

    They depend on the seed and the episode's index alone.
    """
    key = tf.random.experimental.stateless_fold_in(
        tf.constant([seed, 1], tf.int64), tf.cast(index, tf.int64), alg="philox"
    )
    noise = tf.random.stateless_uniform([number, way, known], key, alg="philox")
    return tf.unstack(tf.argsort(noise, stable=True))


def resplit(
    support: tf.Tensor, query: tf.Tensor, order: tf.Tensor
) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns support [N, K, ...] and queries [N, q, ...] of the same images, anew."""
    labeled = tf.concat([support, query], axis=1)
    labeled = tf.gather(labeled, order, axis=1, batch_dims=1)  # [N, K + q, ...]
    support, query = tf.split(labeled, [support.shape[1], query.shape[1]], axis=1)
    return support, query
