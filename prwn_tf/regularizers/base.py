"""What every regularizer sees and answers."""

import abc
from collections.abc import Callable, Mapping
from typing import NamedTuple

import tensorflow as tf

from prwn_tf.config import TrainConfig
from prwn_tf.episodes.pipeline import Episode


class Context(NamedTuple):
    """An episode in training, as images and as embeddings."""

    episode: Episode
    support: tf.Tensor  # [N, K, D]
    queries: tf.Tensor  # [Q, D]
    unlabeled: tf.Tensor  # [U, D]
    prototypes: tf.Tensor  # [N, D]
    embed: Callable[[tf.Tensor], tf.Tensor]  # altered images [B, H, W, C] -> [B, D]


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
