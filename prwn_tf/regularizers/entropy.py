"""Entropy minimisation: be certain about the unlabelled points, whatever they are."""

import tensorflow as tf

from prwn_tf.config import EntropyConfig, TrainConfig
from prwn_tf.heads.prototypes import nearest_scores
from prwn_tf.regularizers.base import Context, Regularizer, Terms


def entropy(logits: tf.Tensor) -> tf.Tensor:
    """Shannon entropy of each answer, in nats: [U, N] -> [U]."""
    log_share = tf.nn.log_softmax(logits)
    return -tf.reduce_sum(tf.exp(log_share) * log_share, axis=-1)


class Entropy(Regularizer):
    """Adds weight * the mean entropy of the unlabelled points' classes."""

    names = ("entropy",)

    def __init__(self, config: EntropyConfig):
        self._config = config

    @classmethod
    def from_config(cls, config: TrainConfig) -> "Entropy | None":
        return cls(config.entropy) if config.entropy.weight > 0 else None

    def __call__(self, context: Context) -> Terms:
        logits = nearest_scores(context.prototypes, context.unlabeled)  # [U, N]
        mean = tf.reduce_mean(entropy(logits))
        return Terms(losses={"entropy": self._config.weight * mean}, statistics={})
