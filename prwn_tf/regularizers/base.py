"""What every regularizer sees and answers."""

import abc
from collections.abc import Callable, Mapping
from typing import NamedTuple

import keras
import tensorflow as tf

from prwn_tf.config import TrainConfig
from prwn_tf.episodes.pipeline import Episode
from prwn_tf.heads.base import Answer, EmbeddedEpisode
from prwn_tf.remembered import Remembered
from prwn_tf.settings import Term


class Context(NamedTuple):
    """An episode in training, as images, as embeddings, and as its head answered it.

    `embed` embeds an altered episode in the batches that the episode itself had,
    `embed_images` further images in a batch of their own; both leave no trace in batch
    norm's moving averages. `classify` gives the head's scores of further points,
    whatever the head is. `step` addresses randomness: it is the episode's index.
    """

    episode: Episode  # images in [0, 1]
    embedded: EmbeddedEpisode
    answer: Answer
    embed: Callable[[Episode], EmbeddedEpisode]
    classify: Callable[[tf.Tensor], tf.Tensor]  # [P, D] -> [P, N]
    step: tf.Tensor  # []
    embed_images: Callable[[tf.Tensor], tf.Tensor] | None = None  # [B, ...] -> [B, D]


class Terms(NamedTuple):
    """Named scalars: losses are added to the total, statistics are only reported.

    `own_loss` is what the variables of a player minimise instead of the total.
    """

    losses: Mapping[str, tf.Tensor]
    statistics: Mapping[str, tf.Tensor] = {}
    own_loss: tf.Tensor | None = None


class Regularizer(Remembered, keras.layers.Layer, abc.ABC):
    """A loss on top of the head's; a layer, so that its variables are trained and kept.

    A player has an `optimizer` of its own. Its `own_variables` then learn nothing from
    the common loss, and minimise its own instead, as a generator does that plays
    against the classifier; no other variable learns from that.

    Attributes:
        Config: its settings; a weight of 0 leaves it out.
        names: of all that `terms` returns.
        own_name: of its own loss in reports.
    """

    Config: type[Term]
    names: tuple[str, ...] = ()
    own_name: str = "player"
    optimizer: keras.optimizers.Optimizer | None = None

    def __init__(self, config: Term | None = None, **options):
        super().__init__(**{"dtype": "float32"} | options)
        self.config = self.Config() if config is None else config

    @classmethod
    def from_config(cls, config: TrainConfig) -> "Regularizer":
        """Returns the regularizer that a config asks for."""
        return cls(config.settings_of(cls.Config))

    @property
    def own_variables(self) -> list[keras.Variable]:
        """What a player's optimizer moves: all that it can, unless overridden."""
        return self.trainable_variables

    @abc.abstractmethod
    def terms(self, context: Context) -> Terms:
        """Returns the terms of one episode, weights included."""

    def pictures(self, episode: Episode) -> Mapping[str, tf.Tensor]:
        """Returns images that it makes of an episode, for people to look at, by name.

        They are numbers in [0, 1], [n, H, W, C], as those of the episode. The monitor
        shows them at every validation.
        """
        del episode
        return {}
