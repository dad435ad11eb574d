"""Virtual adversarial training: how far the answer moves under the worst small change.

Miyato et al., "Virtual adversarial training: a regularization method for supervised and
semi-supervised learning", TPAMI 2018. With q the answer to an image x and p the answer
to x + r, both distributions over the classes of an episode:

    loss = KL(q ‖ p),  r the change of length epsilon that is worst to first order,

found by power iteration from random noise. Gradients flow through p alone.
"""

from collections.abc import Callable

import tensorflow as tf

from prwn_tf.config import TrainConfig
from prwn_tf.heads.base import EmbeddedEpisode
from prwn_tf.parts import VatConfig
from prwn_tf.regularizers.base import Context, Regularizer, Terms

# Images [B, H, W, C] of float -> logits of the classes [B, N].
Classifier = Callable[[tf.Tensor], tf.Tensor]


def adversarial_loss(
    images: tf.Tensor,
    logits: tf.Tensor,
    classify: Classifier,
    noise: tf.Tensor,
    epsilon: float = 8.0,
    probe: float = 0.01,
    iterations: int = 1,
) -> tf.Tensor:
    """Returns the divergence at the worst change of each image: -> [B].

    Args:
        images: [B, H, W, C], float in [0, 1].
        logits: [B, N], the classifier's answer to them.
        noise: [B, H, W, C], normally distributed, where the search begins.
        epsilon: length of the change, over the whole image.
        probe: length at which the search looks for the steepest way (xi).
    """
    change = perturbation(images, logits, classify, noise, epsilon, probe, iterations)
    return divergence(logits, classify(images + change))


def perturbation(
    images: tf.Tensor,
    logits: tf.Tensor,
    classify: Classifier,
    noise: tf.Tensor,
    epsilon: float = 8.0,
    probe: float = 0.01,
    iterations: int = 1,
) -> tf.Tensor:
    """Returns the worst change of each image, of length epsilon: -> [B, H, W, C]."""
    direction = tf.convert_to_tensor(noise)
    for _ in range(iterations):
        direction = probe * _unit(direction)
        with tf.GradientTape(watch_accessed_variables=False) as tape:
            tape.watch(direction)
            moved = divergence(logits, classify(images + direction))
        direction = tf.stop_gradient(tape.gradient(moved, direction))
    return epsilon * _unit(direction)


def divergence(logits: tf.Tensor, moved: tf.Tensor) -> tf.Tensor:
    """Returns KL(softmax(logits) ‖ softmax(moved)), the first held fixed: [B]."""
    logits = tf.stop_gradient(logits)
    difference = tf.nn.log_softmax(logits) - tf.nn.log_softmax(moved)
    return tf.reduce_sum(tf.nn.softmax(logits) * difference, axis=-1)


def _unit(direction: tf.Tensor) -> tf.Tensor:
    """Returns each image with length one; zeros stay zeros.

    It is divided by its largest entry first, against underflow.
    """
    axes = list(range(1, direction.shape.rank))
    largest = tf.reduce_max(tf.abs(direction), axis=axes, keepdims=True)
    direction /= 1e-12 + largest
    square = tf.reduce_sum(tf.square(direction), axis=axes, keepdims=True)
    return direction / tf.sqrt(1e-6 + square)


class Vat(Regularizer):
    """Adds weight * the mean divergence of unlabelled points, and some of the queries'.

    The classifier stays that of the episode; gradients reach it, too.
    """

    Config = VatConfig
    names = ("vat", "vat_query")

    def __init__(self, config: VatConfig | None = None, seed: int = 0, **options):
        super().__init__(config, **options)
        self._seed = seed

    @classmethod
    def from_config(cls, config: TrainConfig) -> "Vat":
        """Returns the term that a config asks for, with noise of its seed."""
        return cls(config.vat, config.seed)

    def terms(self, context: Context) -> Terms:
        config, episode = self.config, context.episode
        embedded = context.embedded
        queries, points = embedded.queries.shape[0], embedded.unlabeled.shape[0]
        asked = tf.reshape(episode.query, [queries, *episode.query.shape[2:]])
        images = tf.concat([asked, episode.unlabeled], axis=0)  # [Q + U, H, W, C]

        def logits_of(embedded: EmbeddedEpisode) -> tf.Tensor:
            points = tf.concat([embedded.queries, embedded.unlabeled], axis=0)
            return context.classify(points)  # [Q + U, N]

        def classify(images: tf.Tensor) -> tf.Tensor:
            asked, unlabeled = tf.split(images, [queries, points])
            asked = tf.reshape(asked, episode.query.shape)
            altered = episode._replace(query=asked, unlabeled=unlabeled)
            return logits_of(context.embed(altered))

        divergences = adversarial_loss(
            images,
            logits_of(embedded),
            classify,
            tf.random.stateless_normal(images.shape, [self._seed, context.step]),
            config.epsilon,
            config.xi,
            config.iterations,
        )  # [Q + U]
        asked, unlabeled = tf.split(divergences, [queries, points])
        query_weight = config.weight * config.query_weight
        return Terms(
            {
                "vat": config.weight * tf.reduce_mean(unlabeled),
                "vat_query": query_weight * tf.reduce_mean(asked),
            }
        )
