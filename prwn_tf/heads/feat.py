"""FEAT: prototypes that look at each other before queries are compared with them.

Ye et al., "Few-shot learning via embedding adaptation with set-to-set functions",
CVPR 2020. The means p of the support pass through one layer of attention with one head,

    p̂ = LayerNorm(p + Dense(softmax(W_q p · W_k s / √D) W_v s)),

where s is what they look at: the prototypes themselves, or the unlabelled points too.
The score of a query h, which stays as it is, is −d²(h, p̂) / T.

In training the same layer also adapts the whole of each class, support and queries; all
of these points should be nearest to the mean of their own class's adapted ones.
"""

import math

import keras
import tensorflow as tf

from prwn_tf.config import TrainConfig
from prwn_tf.head_parts import FeatConfig
from prwn_tf.heads.base import Answer, EmbeddedEpisode, Head
from prwn_tf.heads.prototypes import mean_prototypes, nearest_scores

LAYERS = ("query_layer", "key_layer", "value_layer", "output_layer")
RANDOM = len(LAYERS) + 2  # what draws by a seed: the layers and two dropouts


class Feat(Head):
    """Prototypes adapted to the others of their episode by one layer of attention."""

    Config = FeatConfig
    names = ("classification", "contrast")
    joint_batch = True
    rate_factor = 10.0

    def __init__(self, config: FeatConfig | None = None, seed: int = 0, **options):
        super().__init__(**options)
        self.config = FeatConfig() if config is None else config
        self.seed = RANDOM * seed
        self.attention_dropout = keras.layers.Dropout(
            self.config.attention_dropout, seed=self.seed + 4, dtype="float32"
        )
        self.output_dropout = keras.layers.Dropout(
            self.config.dropout, seed=self.seed + 5, dtype="float32"
        )

    @classmethod
    def from_config(cls, config: TrainConfig) -> "Feat":
        return cls(config.feat, config.seed)

    def build(self, input_shape: tuple) -> None:
        size = input_shape[-1]
        for index, name in enumerate(LAYERS):
            layer = keras.layers.Dense(
                size,
                use_bias=name == "output_layer",
                # Normal with a variance of 2 / (D + D), as published; not cut off.
                kernel_initializer=keras.initializers.VarianceScaling(
                    1.0, "fan_avg", "untruncated_normal", seed=self.seed + index
                ),
                dtype="float32",
                name=name,
            )
            layer.build((None, size))
            setattr(self, name, layer)
        self.norm = keras.layers.LayerNormalization(epsilon=1e-5, dtype="float32")
        self.norm.build((None, size))

    def adapt(
        self, points: tf.Tensor, others: tf.Tensor, training: bool = False
    ) -> tf.Tensor:
        """Returns points [N, D] after they have looked at others [M, D]: [N, D]."""
        similarity = tf.linalg.matmul(
            self.query_layer(points), self.key_layer(others), transpose_b=True
        )  # [N, M]
        share = tf.nn.softmax(similarity / math.sqrt(points.shape[-1]))
        share = self.attention_dropout(share, training=training)
        seen = tf.linalg.matmul(share, self.value_layer(others))  # [N, D]
        change = self.output_dropout(self.output_layer(seen), training=training)
        return self.norm(points + change)

    def looked_at(self, prototypes: tf.Tensor, unlabeled: tf.Tensor) -> tf.Tensor:
        """Returns what prototypes [N, D] look at, beside points [U, D]: [M, D]."""
        del unlabeled
        return prototypes

    def answer(self, episode: EmbeddedEpisode, training: bool = False) -> Answer:
        means = mean_prototypes(episode.support)
        others = self.looked_at(means, episode.unlabeled)
        prototypes = self.adapt(means, others, training)
        scores = nearest_scores(prototypes, episode.queries) / self.config.temperature
        # The loss has a further term in training.
        return Answer(scores, prototypes, own=training)

    def loss(
        self, episode: EmbeddedEpisode, answer: Answer, labels: tf.Tensor
    ) -> dict[str, tf.Tensor]:
        losses = super().loss(episode, answer, labels)
        if answer.own:
            losses["contrast"] = self.config.balance * self._contrast(episode, labels)
        return losses

    def _contrast(self, episode: EmbeddedEpisode, labels: tf.Tensor) -> tf.Tensor:
        """Returns the cross entropy of all labelled points by their class's sets."""
        way, shot, size = episode.support.shape
        by_class = tf.gather(episode.queries, tf.argsort(labels, stable=True))
        queries = tf.reshape(by_class, [way, -1, size])  # [N, q, D]
        sets = tf.concat([episode.support, queries], axis=1)  # [N, K + q, D]
        adapted = self.adapt(sets, sets, training=True)
        centers = tf.reduce_mean(adapted, axis=1)  # [N, D]
        scores = nearest_scores(centers, tf.reshape(sets, [-1, size]))
        return tf.reduce_mean(
            tf.nn.sparse_softmax_cross_entropy_with_logits(
                tf.repeat(tf.range(way), shot + queries.shape[1]),
                scores / self.config.contrast_temperature,
            )
        )


class SemiFeat(Feat):
    """Prototypes that look at the unlabelled points too, in training as at test.

    The authors' own variants look at the queries instead, which must come together.
    """

    uses_unlabeled = True

    def looked_at(self, prototypes: tf.Tensor, unlabeled: tf.Tensor) -> tf.Tensor:
        return tf.concat([prototypes, unlabeled], axis=-2)
