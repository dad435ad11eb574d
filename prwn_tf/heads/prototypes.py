"""The nearest prototype, plain or moved by the episode's unlabelled points.

Snell et al., "Prototypical networks for few-shot learning", NeurIPS 2017. A prototype
is the mean embedding of a class's support; the score of a query is its negative squared
distance to it, without temperature. `refine` is the inference of Ren et al.,
"Meta-learning for semi-supervised few-shot classification", ICLR 2018; `filtered` is
that of the walk's paper (see `prwn_tf.regularizers.walk`).
"""

import abc

import tensorflow as tf

from prwn_tf.config import ADAPTATIONS, RIVALS
from prwn_tf.heads.base import Answer, EmbeddedEpisode, Head
from prwn_tf.walk import graph, statistics


def mean_prototypes(support: tf.Tensor) -> tf.Tensor:
    """Returns the mean embedding of each class: [N, K, D] -> [N, D]."""
    return tf.reduce_mean(support, axis=-2)


def nearest_scores(prototypes: tf.Tensor, queries: tf.Tensor) -> tf.Tensor:
    """Returns negative squared distances: [N, D], [Q, D] -> [Q, N]."""
    return -graph.squared_distance(queries, prototypes)


def shares(prototypes: tf.Tensor, points: tf.Tensor) -> tf.Tensor:
    """Returns the share of each class in each point: [N, D], [U, D] -> [U, N]."""
    return tf.nn.softmax(nearest_scores(prototypes, points))


def moved_prototypes(
    support: tf.Tensor, unlabeled: tf.Tensor, share: tf.Tensor
) -> tf.Tensor:
    """Returns means [N, D] of support [N, K, D] and points [U, D] by share [U, N]."""
    shots = tf.cast(tf.shape(support)[-2], support.dtype)
    return moved_sums(tf.reduce_sum(support, axis=-2), shots, unlabeled, share)


def moved_sums(
    sums: tf.Tensor, counts: tf.Tensor, unlabeled: tf.Tensor, share: tf.Tensor
) -> tf.Tensor:
    """Returns `moved_prototypes` from the sums [N, D] of any numbers of points.

    Args:
        counts: support points of each class, [N, 1], or [] if all have as many.
    """
    total = sums + tf.linalg.matmul(share, unlabeled, transpose_a=True)  # [N, D]
    return total / (counts + tf.reduce_sum(share, axis=-2)[..., None])


def refine(
    support: tf.Tensor, unlabeled: tf.Tensor, weights: tf.Tensor | None = None
) -> tf.Tensor:
    """Returns prototypes after one step of soft k-means from the means: [N, D].

    Support [N, K, D] keeps its labels; each unlabelled point [U, D] is shared out by
    softmax over the classes, times its weight [U] (1 if None).
    """
    share = shares(mean_prototypes(support), unlabeled)  # [U, N]
    if weights is not None:
        share *= weights[..., None]
    return moved_prototypes(support, unlabeled, share)


def filtered(support: tf.Tensor, unlabeled: tf.Tensor) -> tf.Tensor:
    """Returns `refine` by the half of the points that the walk trusts most: [N, D]."""
    score = statistics.log_success(mean_prototypes(support), unlabeled)  # [U]
    return refine(support, unlabeled, statistics.keep_above_median(score))


class NearestPrototype(Head):
    """A head that answers by the squared distance to a point for each class.

    Its adaptations start from the means of the support, whatever it was trained by.
    """

    adaptations = ADAPTATIONS
    rivals = RIVALS
    by_prototypes = True

    @abc.abstractmethod
    def prototypes(self, support: tf.Tensor, unlabeled: tf.Tensor) -> tf.Tensor:
        """Returns a point for each class: [N, K, D], [U, D] -> [N, D]."""

    def answer(self, episode: EmbeddedEpisode, training: bool = False) -> Answer:
        prototypes = self.prototypes(episode.support, episode.unlabeled)
        return Answer(nearest_scores(prototypes, episode.queries), prototypes)

    def adapted(self, adapt: str) -> Head:
        from prwn_tf.heads.adapted import AdaptedHead  # which builds on this module

        self.check_adaptations([adapt])
        return self if adapt == "none" else AdaptedHead(adapt)


class PrototypeHead(NearestPrototype):
    """Prototypical networks: the means of the support, whatever is unlabelled."""

    def prototypes(self, support: tf.Tensor, unlabeled: tf.Tensor) -> tf.Tensor:
        return mean_prototypes(support)
