"""From embeddings to classes: what an export and the classifier both compute.

N classes, B images to classify, U unlabelled images, D numbers in an embedding.
"""

from typing import NamedTuple

import tensorflow as tf

from prwn_tf.heads import prototypes as heads
from prwn_tf.walk import graph, statistics


class Prototypes(NamedTuple):
    """A point for each class, and the number of images that it is the mean of."""

    means: tf.Tensor  # [N, D]
    counts: tf.Tensor  # [N]


class Crowd(NamedTuple):
    """What is kept of the unlabelled images, to compare other images with them."""

    log_totals: tf.Tensor  # [N] log of the sum over the crowd of exp(−d²)
    scores: tf.Tensor  # [U] log of how likely the walk returns through each


def class_means(embeddings: tf.Tensor, labels: tf.Tensor) -> Prototypes:
    """Averages embeddings [n, D] by their labels 0..N-1 [n], any number of each."""
    counts = tf.math.bincount(labels, dtype=embeddings.dtype)  # [N]
    message = "every label from 0 to the highest needs an image"
    with tf.control_dependencies([tf.debugging.assert_positive(counts, message)]):
        means = tf.math.unsorted_segment_mean(embeddings, labels, tf.size(counts))
    return Prototypes(means, counts)


def refined(
    prototypes: Prototypes, unlabeled: tf.Tensor, weights: tf.Tensor
) -> Prototypes:
    """Returns prototypes after a step of soft k-means over points of weights [U]."""
    share = heads.shares(prototypes.means, unlabeled) * weights[:, None]  # [U, N]
    counts = prototypes.counts[:, None]  # [N, 1]
    means = heads.moved_sums(prototypes.means * counts, counts, unlabeled, share)
    return Prototypes(means, prototypes.counts + tf.reduce_sum(share, axis=0))


def trust(means: tf.Tensor, unlabeled: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns what the walk's filter makes of points [U, D]: scores [U], weights [U].

    A score is the logarithm of how likely the walk returns through the point; the
    weight is 1 if the filter keeps it, and 0 if not.
    """
    scores = statistics.log_success(means, unlabeled)
    return scores, statistics.keep_above_median(scores)


def scores(means: tf.Tensor, embeddings: tf.Tensor) -> tf.Tensor:
    """Returns the logits of the classes: [N, D], [B, D] -> [B, N]."""
    return heads.nearest_scores(means, embeddings)


def crowd(means: tf.Tensor, unlabeled: tf.Tensor) -> Crowd:
    """Returns what is kept of the unlabelled images [U, D]."""
    nearness = graph.nearness(means, unlabeled)  # [N, U]
    trusted, _ = trust(means, unlabeled)
    return Crowd(tf.reduce_logsumexp(nearness, axis=-1), trusted)


def out_of_class(means: tf.Tensor, kept: Crowd, embeddings: tf.Tensor) -> tf.Tensor:
    """Returns the share of the crowd that the walk trusts more: [B, D] -> [B].

    Each image is scored as if it stood in the crowd in the place of another. Above
    one half, the filter would set it aside.
    """
    nearness = graph.nearness(embeddings, means)  # [B, N]
    leave = nearness - kept.log_totals  # [B, N]
    arrive = tf.nn.log_softmax(nearness)  # [B, N]
    success = statistics.log_success_of(leave, arrive)  # [B]
    # Rounding must not rank an image of the crowd behind itself.
    success += 1e-5 * (1 + tf.abs(success))
    behind = tf.searchsorted(tf.sort(kept.scores), success, side="right")
    points = tf.size(kept.scores)
    return tf.cast(points - behind, tf.float32) / tf.cast(points, tf.float32)
