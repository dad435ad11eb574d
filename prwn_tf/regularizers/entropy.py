"""Entropy minimisation: be certain about the unlabelled points, whatever they are.

Grandvalet and Bengio, "Semi-supervised learning by entropy minimization", NeurIPS 2004.
"""

import tensorflow as tf

from prwn_tf.parts import EntropyConfig
from prwn_tf.regularizers.base import Context, Regularizer, Terms


def entropy(logits: tf.Tensor) -> tf.Tensor:
    """Returns the Shannon entropy of each answer, in nats: [U, N] -> [U]."""
    log_share = tf.nn.log_softmax(logits)
    return -tf.reduce_sum(tf.exp(log_share) * log_share, axis=-1)


class Entropy(Regularizer):
    """Adds weight * the mean entropy of the unlabelled points' classes."""

    Config = EntropyConfig
    names = ("entropy",)

    def terms(self, context: Context) -> Terms:
        logits = context.classify(context.embedded.unlabeled)  # [U, N]
        return Terms({"entropy": self.config.weight * tf.reduce_mean(entropy(logits))})
