"""Parts as a user writes them, in a file of their own that the package does not know.

    python -m prwn_tf.train --head=my_parts:NoisyHead \
        --regularizers=walk,my_parts:Rival --rival_weight=0.5
"""

import dataclasses
from typing import ClassVar

import keras
import tensorflow as tf

from prwn_tf.config import TrainConfig
from prwn_tf.encoders.base import Encoder
from prwn_tf.heads.base import Answer, EmbeddedEpisode, Head
from prwn_tf.heads.prototypes import mean_prototypes, nearest_scores
from prwn_tf.regularizers.base import Context, Regularizer, Terms
from prwn_tf.settings import EncoderPart, Part, Term, setting


@dataclasses.dataclass(frozen=True)
class NoisyConfig(Part):
    """The settings of the head."""

    name: ClassVar = "noisy"

    dropout: float = setting(0.3, "Share of a prototype that is left out.", "[0, 1)")
    spread: float = setting(0.1, "Weight of keeping prototypes apart.", "[0, inf)")


class NoisyHead(Head):
    """Prototypes with dropout and a learned scale, kept apart by a loss of its own."""

    Config = NoisyConfig
    names = ("classification", "spread")

    def __init__(self, config: NoisyConfig, seed: int = 0):
        super().__init__()
        self.config = config
        self.dropout = keras.layers.Dropout(config.dropout, seed=seed)

    @classmethod
    def from_config(cls, config: TrainConfig) -> "NoisyHead":
        return cls(config.settings_of(NoisyConfig), config.seed)

    def build(self, input_shape: tuple) -> None:
        self.log_scale = self.add_weight(shape=(), initializer="zeros", name="scale")

    def answer(self, episode: EmbeddedEpisode, training: bool = False) -> Answer:
        prototypes = self.dropout(mean_prototypes(episode.support), training=training)
        scores = nearest_scores(prototypes, episode.queries) * tf.exp(self.log_scale)
        return Answer(scores, prototypes)

    def loss(
        self, episode: EmbeddedEpisode, answer: Answer, labels: tf.Tensor
    ) -> dict[str, tf.Tensor]:
        distances = -nearest_scores(answer.prototypes, answer.prototypes)
        spread = tf.reduce_mean(tf.exp(-distances))
        return super().loss(episode, answer, labels) | {
            "spread": self.config.spread * spread
        }


@dataclasses.dataclass(frozen=True)
class RivalConfig(Term):
    """The settings of the rival."""

    name: ClassVar = "rival"

    weight: float = setting(
        0.5, "Weight of telling the rival's points apart.", "[0, 9]"
    )


class Rival(Regularizer):
    """A generator of points that should look like one class to the head.

    The common loss has the head doubt such points. The generator has an optimizer of
    its own, and makes them so that the head does not.
    """

    Config = RivalConfig
    names = ("rival",)
    own_name = "rival_generator"

    def __init__(self, config: RivalConfig):
        super().__init__(config)
        self.optimizer = keras.optimizers.Adam(1e-2)

    def build(self, input_shape: tuple) -> None:
        size = input_shape[-1]
        self.generator = keras.layers.Dense(
            size,
            kernel_initializer=keras.initializers.GlorotUniform(seed=5),
            kernel_regularizer=keras.regularizers.L2(1e-3),
        )
        self.generator.build((None, size))

    def points(self, context: Context) -> tf.Tensor:
        """Returns a made-up point for each class: [N, D]."""
        prototypes = tf.stop_gradient(context.answer.prototypes)
        noise = tf.random.stateless_normal(prototypes.shape, [0, context.step])
        return self.generator(prototypes + noise)

    def certainty(self, context: Context, points: tf.Tensor) -> tf.Tensor:
        """Returns how sure the head is of the best class of some points: []."""
        return tf.reduce_mean(
            tf.reduce_max(tf.nn.softmax(context.classify(points)), axis=-1)
        )

    def terms(self, context: Context) -> Terms:
        certainty = self.certainty(context, self.points(context))
        return Terms(
            {"rival": self.config.weight * certainty},
            own_loss=-certainty,  # for the generator; the common loss never reaches it
        )


@dataclasses.dataclass(frozen=True)
class SmallConfig(EncoderPart):
    """The settings of the encoder."""

    name: ClassVar = "small"
    smallest_image: ClassVar = 8

    size: int = setting(6, "Numbers in an embedding.", "[1, 64]")


class SmallEncoder(Encoder):
    """Every fourth pixel through one dense layer."""

    Config = SmallConfig

    def __init__(self, size: int, seed: int):
        super().__init__()
        self.dense = keras.layers.Dense(
            size, kernel_initializer=keras.initializers.GlorotUniform(seed=seed)
        )

    @classmethod
    def from_config(cls, config: TrainConfig) -> "SmallEncoder":
        return cls(config.settings_of(SmallConfig).size, config.seed)

    def build(self, input_shape: tuple) -> None:
        _, height, width, channels = input_shape
        self.inputs_used = -(-height // 4) * -(-width // 4) * channels
        self.dense.build((None, self.inputs_used))
        self.feature_shape = (1, 1, self.dense.units)

    def call(self, images: tf.Tensor, training: bool = False) -> tf.Tensor:
        return self.dense(tf.reshape(images[:, ::4, ::4], [-1, self.inputs_used]))

    def compute_output_shape(self, input_shape: tuple) -> tuple:
        return input_shape[0], self.dense.units
