"""Learning by association, where the random walk comes from.

Haeusser et al., "Learning by association: a versatile semi-supervised training method
for neural networks", CVPR 2017.

A walker goes from a labelled point a to an unlabelled one b and straight back, by
softmax of dot products, and should end at a point of the class it left:

    walker = mean_i mean_{j of the same class} −log (P_ab P_ba)_ij
    visit  = mean_b −log mean_i (P_ab)_ib

With one labelled point a class this is the prototypical walk without inner steps and
without smoothing, but for the similarity.
"""

import tensorflow as tf

from prwn_tf.parts import AssociationConfig
from prwn_tf.regularizers.base import Context, Regularizer, Terms
from prwn_tf.walk import graph as graph_lib
from prwn_tf.walk import losses


def association_losses(
    labeled: tf.Tensor,
    unlabeled: tf.Tensor,
    similarity: graph_lib.Similarity = graph_lib.dot_product_with,
) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns walker and visit loss of labelled [N, K, D], unlabelled [U, D] points."""
    way, count, size = labeled.shape
    points = tf.reshape(labeled, [way * count, size])  # [A, D], A = N * K
    leave, arrive = graph_lib.log_outer_steps(
        points, unlabeled, smoothing=0, similarity=similarity
    )
    paths = leave[:, :, None] + arrive[None, :, :]  # [A, U, A]
    log_landing = tf.reduce_logsumexp(paths, axis=1)  # [A, A]
    by_class = tf.reshape(log_landing, [way, count, way, count])
    at_home = tf.linalg.diag_part(tf.transpose(by_class, [1, 3, 0, 2]))  # [K, K, N]
    visit = losses.log_visit_probability(leave)  # [U]
    return -tf.reduce_mean(at_home), -tf.reduce_mean(visit)


class Association(Regularizer):
    """Adds weight * (walker + visit) over every labelled point, queries included."""

    Config = AssociationConfig
    names = ("association_walker", "association_visit")

    def terms(self, context: Context) -> Terms:
        support, queries, unlabeled = context.embedded
        way, _, size = support.shape
        queries = tf.reshape(queries, [way, -1, size])
        labeled = tf.concat([support, queries], axis=1)  # [N, K + q, D]
        walker, visit = association_losses(labeled, unlabeled)
        config = self.config
        return Terms(
            losses={
                "association_walker": config.weight * walker,
                "association_visit": config.weight * config.visit_weight * visit,
            },
        )
