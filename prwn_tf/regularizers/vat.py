"""Virtual adversarial training: how far the answer moves under the worst small change.

Miyato et al. (2018). With q the answer to an image x and p the answer to x + r, both
distributions over the classes of an episode:

    loss = KL(q ‖ p),  r the change of length epsilon that is worst to first order,

found by power iteration from random noise. Gradients flow through p alone.
"""

from collections.abc import Callable

import tensorflow as tf

from prwn_tf.config import TrainConfig, VatConfig
from prwn_tf.heads.prototypes import nearest_scores
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
    """The divergence at the worst change of each image: -> [B].

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
    """The worst change of each image, of length epsilon: -> [B, H, W, C]."""
    direction = tf.convert_to_tensor(noise)
    for _ in range(iterations):
        direction = probe * _unit(direction)
        with tf.GradientTape(watch_accessed_variables=False) as tape:
            tape.watch(direction)
            moved = divergence(logits, classify(images + direction))
        direction = tf.stop_gradient(tape.gradient(moved, direction))
    return epsilon * _unit(direction)


def divergence(logits: tf.Tensor, moved: tf.Tensor) -> tf.Tensor:
    """KL(softmax(logits) ‖ softmax(moved)), the first held fixed: [B, N] -> [B]."""
    logits = tf.stop_gradient(logits)
    difference = tf.nn.log_softmax(logits) - tf.nn.log_softmax(moved)
    return tf.reduce_sum(tf.nn.softmax(logits) * difference, axis=-1)


def _unit(direction: tf.Tensor) -> tf.Tensor:
    """Each image of length one: divided by its largest entry first, against underflow.

    A direction of zeros stays one.
    """
    axes = list(range(1, direction.shape.rank))
    largest = tf.reduce_max(tf.abs(direction), axis=axes, keepdims=True)
    direction /= 1e-12 + largest
    square = tf.reduce_sum(tf.square(direction), axis=axes, keepdims=True)
    return direction / tf.sqrt(1e-6 + square)


class Vat(Regularizer):
    """Adds weight * the mean divergence of unlabelled points, and some of the queries'.

    The prototypes stay those of the episode; gradients reach them, too.
    """

    names = ("vat", "vat_query")

    def __init__(self, config: VatConfig, seed: int = 0):
        self._config = config
        self._seed = seed

    @classmethod
    def from_config(cls, config: TrainConfig) -> "Vat | None":
        return cls(config.vat, config.seed) if config.vat.weight > 0 else None

    def __call__(self, context: Context) -> Terms:
        config, episode = self._config, context.episode
        queries, points = context.queries.shape[0], context.unlabeled.shape[0]
        asked = tf.reshape(episode.query, [queries, *episode.query.shape[2:]])
        images = tf.concat([asked, episode.unlabeled], axis=0)  # [Q + U, H, W, C]

        def logits_of(queries: tf.Tensor, unlabeled: tf.Tensor) -> tf.Tensor:
            embeddings = tf.concat([queries, unlabeled], axis=0)  # [Q + U, D]
            return nearest_scores(context.prototypes, embeddings)

        def classify(images: tf.Tensor) -> tf.Tensor:
            asked, unlabeled = tf.split(images, [queries, points])
            asked = tf.reshape(asked, episode.query.shape)
            altered = episode._replace(query=asked, unlabeled=unlabeled)
            moved = context.embed(altered)
            return logits_of(moved.queries, moved.unlabeled)

        divergences = adversarial_loss(
            images,
            logits_of(context.queries, context.unlabeled),
            classify,
            tf.random.stateless_normal(images.shape, [self._seed, context.step]),
            config.epsilon,
            config.xi,
            config.iterations,
        )  # [Q + U]
        asked, unlabeled = tf.split(divergences, [queries, points])
        return Terms(
            losses={
                "vat": config.weight * tf.reduce_mean(unlabeled),
                "vat_query": config.weight
                * config.query_weight
                * tf.reduce_mean(asked),
            },
            statistics={},
        )
