"""A graph whose edges say which points are of the same class.

Kim et al., "Edge-labeling graph neural network for few-shot learning", CVPR 2019. An
edge has two channels, alike and different, that sum to one. Each layer makes nodes v
from their neighbors along both channels, and edges from their nodes:

    v_i <- f(v_i, sum_j a_ij v_j, sum_j d_ij v_j),  a and d the edges by their row sums
    e_ij <- e_ij * (s, 1 - s),  s = sigmoid(g(|v_i - v_j|)), rows keep their sums

A query scores by its edges to the support. Unlabelled points are nodes whose edges
start undecided; they are in no score and in no loss, unlike in the released code, which
uses their hidden labels in both.

Each query has a graph of its own, in training as at test. All queries of an episode may
share one instead (`EgnnConfig.together`); but one query of each class, as the authors
have, then tells which classes the others are of.
"""

import tensorflow as tf

from prwn_tf.config import TrainConfig
from prwn_tf.head_parts import EgnnConfig
from prwn_tf.heads.base import Answer, EmbeddedEpisode
from prwn_tf.heads.edge_layers import EdgeNetwork, NodeNetwork, update_edges
from prwn_tf.heads.graph_head import GraphHead, labeled, nodes_of, support_labels
from prwn_tf.heads.prototypes import mean_prototypes

LAYERS = 3
LAYER_WEIGHTS = (0.5, 0.5, 1.0)
UNKNOWN = -1  # the class of a point that has none
AT_ONCE = 2  # graphs that are answered at a time, at test: they are large


def first_edges(labels: tf.Tensor, nodes: tf.Tensor) -> tf.Tensor:
    """Returns edges before the first layer: [L], [] -> [V, V, 2].

    (1, 0) between points of one class and (0, 1) between those of two; undecided,
    (0.5, 0.5), wherever an end has no label. No layer looks at the diagonal.

    Args:
        labels: of the first nodes.
        nodes: how many there are in all.
    """
    alike = tf.cast(labels[:, None] == labels[None, :], tf.float32)  # [L, L]
    others = nodes - tf.shape(labels)[0]
    undecided = tf.pad(tf.zeros_like(alike), [[0, others]] * 2, constant_values=0.5)
    alike = tf.pad(alike, [[0, others]] * 2)
    known = tf.cast(undecided == 0, tf.float32)
    different = known - alike
    return tf.stack([alike + undecided, different + undecided], axis=-1)


def query_edge_loss(
    edges: tf.Tensor, classes: tf.Tensor, asked: tf.Tensor
) -> tf.Tensor:
    """Returns the cross entropy of edges that touch a query: [G, V, V, 2] -> [].

    The mean over edges within a class plus the mean over those between classes, of all
    graphs.

    Args:
        classes: [G, V], `UNKNOWN` for unlabelled points, whose edges do not count.
        asked: [V], whether a node is a query.
    """
    known = classes != UNKNOWN
    counted = known[..., :, None] & known[..., None, :]
    counted &= asked[:, None] | asked[None, :]
    same = classes[..., :, None] == classes[..., None, :]  # [G, V, V]
    # A channel is 1 minus the other one, and never 0.
    alike, different = tf.unstack(-tf.math.log(edges), axis=-1)  # [G, V, V]
    return _mean_where(alike, counted & same) + _mean_where(different, counted & ~same)


def _mean_where(values: tf.Tensor, counted: tf.Tensor) -> tf.Tensor:
    """Returns the mean of the values that count, 0 if none does."""
    share = tf.cast(counted, values.dtype)
    return tf.math.divide_no_nan(tf.reduce_sum(values * share), tf.reduce_sum(share))


def support_scores(
    alike: tf.Tensor, labels: tf.Tensor, way: int, queries: int | tf.Tensor
) -> tf.Tensor:
    """Returns how alike the last nodes are to each class: [V, V], [L] -> [Q, N].

    The sum over its labelled points; as logits they are the paper's.
    """
    first = tf.shape(alike)[-2] - queries
    to_support = alike[..., first:, : tf.shape(labels)[0]]  # [Q, L]
    return tf.linalg.matmul(to_support, tf.one_hot(labels, way, dtype=alike.dtype))


class EdgeHead(GraphHead):
    """Edge-labelling graph network, semi-supervised (EGNN-semi).

    Args:
        config: its settings.
        weight_decay: w adds w / 2 * |kernel|^2 of every layer to the losses.
    """

    Config = EgnnConfig
    names = ("edges",)

    def __init__(
        self,
        config: EgnnConfig | None = None,
        weight_decay: float = 0.0,
        seed: int = 0,
        **options,
    ):
        super().__init__(**options)
        config = EgnnConfig() if config is None else config
        self.together = config.together
        # Attributes, because checkpoints do not see the layers in a list.
        for index in range(LAYERS):
            network = {
                "size": config.size,
                "dropout": config.dropout if index < LAYERS - 1 else 0.0,
                "weight_decay": weight_decay,
            }
            place = LAYERS * seed + index
            networks = (
                NodeNetwork(seed=2 * place, **network),
                EdgeNetwork(seed=2 * place + 1, **network),
            )
            for kind, made in zip(("nodes", "edges"), networks, strict=True):
                setattr(self, f"{kind}_{index + 1}", made)

    @classmethod
    def from_config(cls, config: TrainConfig) -> "EdgeHead":
        return cls(config.egnn, config.optimizer.weight_decay, config.seed)

    @property
    def networks(self) -> list[tuple[NodeNetwork, EdgeNetwork]]:
        return [
            (getattr(self, f"nodes_{place}"), getattr(self, f"edges_{place}"))
            for place in range(1, LAYERS + 1)
        ]

    def build(self, input_shape: tuple) -> None:
        size = input_shape[-1]
        for node_network, edge_network in self.networks:
            node_network.build((None, size))
            size = node_network.size
            edge_network.build((None, size))

    def edges(
        self, nodes: tf.Tensor, labels: tf.Tensor, training: bool = False
    ) -> list[tf.Tensor]:
        """Returns the edges after each layer: [V, D], [L] -> three of [V, V, 2].

        Of one graph, or of several with the same labels: [G, V, D] -> [G, V, V, 2].
        """
        edges = first_edges(labels, tf.shape(nodes)[-2])
        layers = []
        for node_network, edge_network in self.networks:
            nodes = node_network(nodes, edges, training=training)
            edges = update_edges(edges, edge_network(nodes, training=training))
            layers.append(edges)
        return layers

    def answer_together(self, episode: EmbeddedEpisode, training: bool) -> Answer:
        prototypes = mean_prototypes(episode.support)
        if len(episode.support.shape) == 3:
            layers = self._edges_of(episode, training)
            own = [edges[None] for edges in layers]  # [1, V, V, 2] each
            return Answer(_scores(layers[-1], episode), prototypes, own=own)

        joined = _joined(episode)
        scores = tf.map_fn(
            lambda place: self._scores(_at(joined, place), training),
            tf.range(tf.shape(joined.queries)[0]),
            parallel_iterations=AT_ONCE,
            fn_output_signature=tf.float32,
        )  # [E, Q, N]
        return Answer(_split(scores, episode), prototypes)

    def answer_training(self, episode: EmbeddedEpisode) -> Answer:
        if self.together:
            return super().answer_training(episode)
        known = support_labels(*episode.support.shape[-3:-1])
        layers = self.edges(_graphs_of(episode), known, training=True)
        way = episode.support.shape[-3]
        scores = support_scores(layers[-1][..., 0], known, way, queries=1)  # [Q, 1, N]
        return Answer(scores[:, 0], mean_prototypes(episode.support), own=layers)

    def answer_singly(self, episode: EmbeddedEpisode) -> Answer:
        scores = self._scores_singly(episode)
        return Answer(scores, mean_prototypes(episode.support))

    @tf.function(autograph=False)  # a graph at a time, which takes minutes in Python
    def _scores_singly(self, episode: EmbeddedEpisode) -> tf.Tensor:
        """Returns the scores of queries that each have a graph: [..., Q, N]."""
        joined = _joined(episode)
        episodes, queries = tf.unstack(tf.shape(joined.queries)[:2])

        def scores_of(place: tf.Tensor) -> tf.Tensor:
            single = _at(joined, place // queries)
            query = single.queries[place % queries]  # [D]
            return self._scores(single._replace(queries=query[None]))[0]

        scores = tf.map_fn(
            scores_of,
            tf.range(episodes * queries),
            parallel_iterations=AT_ONCE,
            fn_output_signature=tf.float32,
        )  # [EQ, N]
        return _split(scores, episode)

    def loss(
        self, episode: EmbeddedEpisode, answer: Answer, labels: tf.Tensor
    ) -> dict[str, tf.Tensor]:
        """Returns the mean of the layers' losses, of the graphs that were trained.

        At test, of one graph of all queries.
        """
        layers = answer.own or self.answer_together(episode, training=False).own
        graphs, nodes = tf.unstack(tf.shape(layers[0])[:2])
        known = support_labels(*episode.support.shape[-3:-1])  # [NK]
        hidden = tf.fill([tf.shape(episode.unlabeled)[-2]], UNKNOWN)  # [U]
        given = tf.concat([known, hidden], axis=0)
        asked = tf.range(nodes) >= tf.shape(given)[0]  # [V]
        given = tf.tile(given[None], [graphs, 1])  # [G, NK + U]
        labels = tf.reshape(labels, [graphs, -1])  # the queries of each graph
        classes = tf.concat([given, labels], axis=1)  # [G, V]
        losses = [
            weight * query_edge_loss(edges, classes, asked)
            for weight, edges in zip(LAYER_WEIGHTS, layers, strict=True)
        ]
        return {"edges": tf.reduce_mean(losses)}

    def _edges_of(
        self, episode: EmbeddedEpisode, training: bool = False
    ) -> list[tf.Tensor]:
        """Returns the edges of one episode's graph after each layer: [V, V, 2]."""
        labels = support_labels(*episode.support.shape[-3:-1])
        return self.edges(nodes_of(episode), labels, training)

    def _scores(self, episode: EmbeddedEpisode, training: bool = False) -> tf.Tensor:
        return _scores(self._edges_of(episode, training)[-1], episode)


def _scores(edges: tf.Tensor, episode: EmbeddedEpisode) -> tf.Tensor:
    """Returns the scores of an episode's queries: [V, V, 2] -> [Q, N]."""
    way, shot = episode.support.shape[-3:-1]
    queries = tf.shape(episode.queries)[-2]
    return support_scores(edges[..., 0], support_labels(way, shot), way, queries)


def _graphs_of(episode: EmbeddedEpisode) -> tf.Tensor:
    """Returns the nodes of a graph for each query: [Q, NK + U + 1, D]."""
    shared = tf.concat([labeled(episode), episode.unlabeled], axis=0)  # [NK + U, D]
    queries = tf.convert_to_tensor(episode.queries)[:, None]  # [Q, 1, D]
    copies = tf.tile(shared[None], [tf.shape(queries)[0], 1, 1])
    return tf.concat([copies, queries], axis=1)


def _joined(episode: EmbeddedEpisode) -> EmbeddedEpisode:
    """Returns episodes with one leading axis, whatever they had."""
    sizes = (3, 2, 2)  # the axes of a part that are an episode's
    return EmbeddedEpisode(
        *(
            tf.reshape(part, tf.concat([[-1], tf.shape(part)[-size:]], axis=0))
            for part, size in zip(episode, sizes, strict=True)
        )
    )


def _at(joined: EmbeddedEpisode, place: tf.Tensor) -> EmbeddedEpisode:
    """Returns one of several episodes."""
    return EmbeddedEpisode(*(part[place] for part in joined))


def _split(scores: tf.Tensor, episode: EmbeddedEpisode) -> tf.Tensor:
    """Returns scores with the leading axes of their episodes: -> [..., Q, N]."""
    leading = tf.shape(episode.queries)[:-1]
    return tf.reshape(scores, tf.concat([leading, [episode.support.shape[-3]]], axis=0))
