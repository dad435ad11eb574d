"""What every regularizer sees and answers."""

import abc
from collections.abc import Callable, Mapping
from typing import NamedTuple

import tensorflow as tf

from prwn_tf.config import TrainConfig
from prwn_tf.episodes.pipeline import Episode


class EmbeddedEpisode(NamedTuple):
    """The images of an episode, embedded."""

    support: tf.Tensor  # [N, K, D]
    queries: tf.Tensor  # [Q, D]
    unlabeled: tf.Tensor  # [U, D]


class Context(NamedTuple):
    """An episode in training, as images and as embeddings.

    `embed` embeds an altered episode in the batches that the episode itself had, and
    leaves no trace in batch norm's moving averages. `step` addresses randomness.
    """

    episode: Episode  # images in [0, 1]
    support: tf.Tensor  # [N, K, D]
    queries: tf.Tensor  # [Q, D]
    unlabeled: tf.Tensor  # [U, D]
    prototypes: tf.Tensor  # [N, D]
    embed: Callable[[Episode], EmbeddedEpisode]
    step: tf.Tensor  # []


class Terms(NamedTuple):
    """Named scalars: losses are added to the total, statistics are only reported."""

    losses: Mapping[str, tf.Tensor]
    statistics: Mapping[str, tf.Tensor]


class Regularizer(abc.ABC):
    """A loss on top of classification. `names` lists all that `__call__` answers."""

    names: tuple[str, ...]

    @classmethod
    @abc.abstractmethod
    def from_config(cls, config: TrainConfig) -> "Regularizer | None":
        """The regularizer that a config asks for, None if its weight is 0."""

    @abc.abstractmethod
    def __call__(self, context: Context) -> Terms:
        """The terms of one episode, weights included."""
