"""What heads have in common whose points are the nodes of a graph.

A graph of the support and the unlabelled points is asked about queries. With all of an
episode's queries in it, they answer one another (transductive), which flatters a method
beside those that see one query at a time. So at test each query has a graph of its own,
and "transductive" is an adaptation that a row of results names.
"""

import abc

import tensorflow as tf

from prwn_tf.heads.base import Answer, EmbeddedEpisode, Head

TRANSDUCTIVE = "transductive"  # all queries in one graph, answered together


class GraphHead(Head):
    """A head that answers by a graph: in training, if it does not say otherwise, by one
    that holds all queries.

    All images of a training episode share their batch statistics, because its points
    are compared with one another, and at test all have the same statistics.
    """

    adaptations = ("none", TRANSDUCTIVE)
    uses_unlabeled = True
    joint_batch = True

    @abc.abstractmethod
    def answer_together(self, episode: EmbeddedEpisode, training: bool) -> Answer:
        """Returns the answer of one graph that holds all queries."""

    @abc.abstractmethod
    def answer_singly(self, episode: EmbeddedEpisode) -> Answer:
        """Returns the answer of as many graphs as queries, each of which holds one."""

    def answer(self, episode: EmbeddedEpisode, training: bool = False) -> Answer:
        return (
            self.answer_training(episode) if training else self.answer_singly(episode)
        )

    def answer_training(self, episode: EmbeddedEpisode) -> Answer:
        """Returns the answer that is trained."""
        return self.answer_together(episode, training=True)

    def classify(
        self, episode: EmbeddedEpisode, points: tf.Tensor, training: bool = False
    ) -> tf.Tensor:
        """Returns the scores of further points, and leaves no trace in averages."""
        if not training:
            return super().classify(episode, points, training)
        averages = self.non_trainable_variables
        before = [tf.identity(average) for average in averages]
        asked = episode._replace(queries=points)  # they may be many: one graph of all
        scores = self.answer_together(asked, training).scores
        for average, value in zip(averages, before, strict=True):
            average.assign(value)
        return scores

    def adapted(self, adapt: str) -> Head:
        self.check_adaptations([adapt])
        return _Together(self) if adapt == TRANSDUCTIVE else self


class _Together(Head):
    """A trained head whose graphs hold all queries at test, too."""

    uses_unlabeled = True

    def __init__(self, head: GraphHead):
        super().__init__()
        self.head = head

    def answer(self, episode: EmbeddedEpisode, training: bool = False) -> Answer:
        return self.head.answer_together(episode, training)


def support_labels(way: int, shot: int) -> tf.Tensor:
    """Returns the classes of an episode's support, which come class by class: [NK]."""
    return tf.repeat(tf.range(way), shot)


def nodes_of(episode: EmbeddedEpisode) -> tf.Tensor:
    """Returns support, then unlabelled points, then queries: [NK + U + Q, D]."""
    return tf.concat([labeled(episode), episode.unlabeled, episode.queries], axis=-2)


def labeled(episode: EmbeddedEpisode) -> tf.Tensor:
    """Returns the support class by class: [N, K, D] -> [NK, D]."""
    support = episode.support
    shape = tf.shape(support)
    flat = tf.concat([shape[:-3], [shape[-3] * shape[-2], shape[-1]]], axis=0)
    points = tf.reshape(support, flat)
    way, shot = support.shape[-3:-1]
    count = None if way is None or shot is None else way * shot
    points.set_shape([*support.shape[:-3], count, support.shape[-1]])
    return points
