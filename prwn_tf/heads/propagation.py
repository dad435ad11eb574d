"""Labels that spread over a graph of all points.

Liu et al., "Learning to propagate labels: transductive propagation network for few-shot
learning", ICLR 2019. With h an embedding and s its length scale, which a small network
reads off the encoder's map of it:

    W_ij = exp(-1/2 mean((h_i / s_i - h_j / s_j)^2)),  i among the nearest of j or
                                                       j among the nearest of i, else 0
    S = D^(-1/2) W D^(-1/2),  D the row sums of W
    F = (1 - alpha S)^(-1) Y,  Y one-hot for the support, 0 for all other points

and F are the scores. Unlabelled points are nodes without labels.
"""

import tensorflow as tf

from prwn_tf.config import TrainConfig
from prwn_tf.head_parts import TpnConfig
from prwn_tf.heads.base import Answer, EmbeddedEpisode
from prwn_tf.heads.graph_head import GraphHead, labeled, nodes_of, support_labels
from prwn_tf.heads.length_scale import LengthScale
from prwn_tf.heads.prototypes import mean_prototypes
from prwn_tf.walk import graph


def similarity(a: tf.Tensor, b: tf.Tensor) -> tf.Tensor:
    """Returns W of points divided by their scales: [A, D], [B, D] -> [A, B]."""
    size = tf.cast(tf.shape(a)[-1], a.dtype)
    return tf.exp(-graph.squared_distance(a, b) / (2 * size))


def similarities(points: tf.Tensor, diagonal: bool) -> tf.Tensor:
    """Returns W of all pairs, the diagonal 1 if kept, else 0: [V, D] -> [V, V].

    Exactly symmetric, so that both ends of an edge agree whether it is there.
    """
    weights = similarity(points, points)
    weights = (weights + tf.linalg.matrix_transpose(weights)) / 2
    like = tf.ones_like if diagonal else tf.zeros_like
    return tf.linalg.set_diag(weights, like(weights[..., 0]))


def among_nearest(weights: tf.Tensor, neighbors: int) -> tf.Tensor:
    """Returns weights [V, V] that are among the largest of their row or column.

    The diagonal counts as a neighbor. All of those that are equal to the last one
    count, so that the order of points does not matter.
    """
    neighbors = tf.minimum(neighbors, tf.shape(weights)[-1])
    last = tf.math.top_k(weights, neighbors).values[..., -1:]  # [V, 1]
    # What is among the largest of its column is that of its row, across the diagonal.
    either = tf.minimum(last, tf.linalg.matrix_transpose(last))  # [V, V]
    return tf.where(weights >= either, weights, tf.zeros_like(weights))


def spread_matrix(weights: tf.Tensor, alpha: float) -> tf.Tensor:
    """Returns 1 - alpha S, symmetric and positive definite: [V, V] -> [V, V].

    A node without neighbors has a row of S that is 0.
    """
    degrees = tf.reduce_sum(weights, axis=-1)  # [V]
    alone = degrees == 0
    roots = tf.math.rsqrt(tf.where(alone, tf.ones_like(degrees), degrees))
    spread = weights * (roots[..., :, None] * roots[..., None, :])
    return tf.eye(tf.shape(weights)[-1], dtype=weights.dtype) - alpha * spread


def solve(weights: tf.Tensor, right: tf.Tensor, alpha: float) -> tf.Tensor:
    """Returns (1 - alpha S)^(-1) times a right side: [V, V], [V, C] -> [V, C]."""
    matrix = spread_matrix(weights, alpha)
    shape = tf.concat([tf.shape(matrix)[:-2], tf.shape(right)[-2:]], axis=0)
    factor = tf.linalg.cholesky(matrix)
    return tf.linalg.cholesky_solve(factor, tf.broadcast_to(right, shape))


def scores_together(
    points: tf.Tensor,
    labels: tf.Tensor,
    way: int,
    neighbors: int = 20,
    alpha: float = 0.99,
    diagonal: bool = True,
) -> tf.Tensor:
    """Returns the scores of all nodes of one graph: [V, D] -> [V, N].

    Usable on any embedding, divided by a length scale of one's choice.

    Args:
        points: those with labels first.
        labels: [L] of the first points.
    """
    weights = similarities(points, diagonal)
    known = tf.one_hot(labels, way, dtype=points.dtype)  # [L, N]
    unknown = tf.shape(points)[-2] - tf.shape(known)[0]
    return solve(
        among_nearest(weights, neighbors),
        tf.pad(known, [[0, unknown], [0, 0]]),  # [V, N]
        alpha,
    )


def scores_singly(
    points: tf.Tensor,
    queries: tf.Tensor,
    labels: tf.Tensor,
    way: int,
    neighbors: int = 20,
    alpha: float = 0.99,
    diagonal: bool = True,
) -> tf.Tensor:
    """Returns scores of queries that never meet: [V, D], [Q, D] -> [Q, N].

    Each query joins the points in a graph of its own; one after the other, so that
    memory does not grow with their number.
    """
    between = similarities(points, diagonal)  # [V, V]
    to_points = similarity(queries, points)  # [Q, V]
    known = tf.one_hot(labels, way, dtype=points.dtype)  # [L, N]
    loop = tf.ones if diagonal else tf.zeros

    def scores_of(to_point: tf.Tensor) -> tf.Tensor:
        """Returns the scores of the same query of each episode: [V] -> [N]."""
        row = to_point[..., None, :]  # [1, V]
        column = tf.linalg.matrix_transpose(row)
        corner = loop(tf.shape(row[..., :1]), row.dtype)  # [1, 1]
        weights = tf.concat(
            [
                tf.concat([corner, row], axis=-1),
                tf.concat([column, between], axis=-1),
            ],
            axis=-2,
        )  # [1 + V, 1 + V], the query first
        # The inverse is symmetric, so the query's row is its column.
        first = tf.eye(tf.shape(weights)[-1], 1, dtype=weights.dtype)  # [1 + V, 1]
        spread = solve(among_nearest(weights, neighbors), first, alpha)
        from_labeled = spread[..., 1 : 1 + tf.shape(known)[0], 0]  # [L]
        return tf.linalg.matvec(known, from_labeled, transpose_a=True)

    rank = to_points.shape.rank
    by_query = tf.transpose(to_points, [rank - 2, *range(rank - 2), rank - 1])
    scores = tf.map_fn(scores_of, by_query, parallel_iterations=1)  # [Q, ..., N]
    return tf.transpose(scores, [*range(1, rank - 1), 0, rank - 1])


class PropagationHead(GraphHead):
    """Transductive propagation network, semi-supervised (TPN-semi).

    Args:
        config: its settings.
        weight_decay: w adds w / 2 * |kernel|^2 of the scale's convolutions to the
            losses.
    """

    Config = TpnConfig

    def __init__(
        self,
        config: TpnConfig | None = None,
        weight_decay: float = 0.0,
        seed: int = 0,
        **options,
    ):
        super().__init__(**options)
        self.config = TpnConfig() if config is None else config
        self.scale = None
        if self.config.scale == 0:
            self.scale = LengthScale(self.config.first_scale, weight_decay, seed)

    @classmethod
    def from_config(cls, config: TrainConfig) -> "PropagationHead":
        return cls(config.tpn, config.optimizer.weight_decay, config.seed)

    def build(self, input_shape: tuple) -> None:
        if self.scale is not None:
            self.scale.build((None, *self.feature_shape))

    def scaled(self, points: tf.Tensor, training: bool = False) -> tf.Tensor:
        """Returns points divided by their length scales: [V, D] -> [V, D]."""
        if self.scale is None:
            return points / self.config.scale
        maps = tf.reshape(points, [-1, *self.feature_shape])
        scales = self.scale(maps, training=training)
        return points / tf.reshape(scales, tf.shape(points[..., :1]))

    def answer_together(self, episode: EmbeddedEpisode, training: bool) -> Answer:
        way, shot = episode.support.shape[-3:-1]
        scores = scores_together(
            self.scaled(nodes_of(episode), training),
            support_labels(way, shot),
            way,
            **self._rules,
        )  # [NK + U + Q, N]
        first_query = tf.shape(scores)[-2] - tf.shape(episode.queries)[-2]
        return Answer(
            scores[..., first_query:, :],
            mean_prototypes(episode.support),
            own=scores[..., : way * shot, :],
        )

    def answer_singly(self, episode: EmbeddedEpisode) -> Answer:
        way, shot = episode.support.shape[-3:-1]
        points = tf.concat([labeled(episode), episode.unlabeled], axis=-2)
        points, labels = self.scaled(points), support_labels(way, shot)
        queries = self.scaled(episode.queries)
        without_query = scores_together(points, labels, way, **self._rules)
        return Answer(
            scores_singly(points, queries, labels, way, **self._rules),
            mean_prototypes(episode.support),
            own=without_query[..., : way * shot, :],
        )

    def loss(
        self, episode: EmbeddedEpisode, answer: Answer, labels: tf.Tensor
    ) -> dict[str, tf.Tensor]:
        """Returns the cross entropy of support and queries."""
        way, shot = episode.support.shape[-3:-1]
        asked = tf.concat([support_labels(way, shot), labels], axis=0)
        scores = tf.concat([answer.own, answer.scores], axis=-2)  # [NK + Q, N]
        entropies = tf.nn.sparse_softmax_cross_entropy_with_logits(asked, scores)
        return {"classification": tf.reduce_mean(entropies)}

    @property
    def _rules(self) -> dict[str, float | int | bool]:
        config = self.config
        return {
            "neighbors": config.neighbors,
            "alpha": config.alpha,
            "diagonal": config.diagonal,
        }
