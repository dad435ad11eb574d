"""The layers of the edge-labelling graph network (see `prwn_tf.heads.edges`)."""

import keras
import numpy as np
import tensorflow as tf

SLOPE = 0.01  # of leaky ReLU
FLOOR = 1e-6  # added to edges, so that neither channel is ever 0
NODE_WIDTHS = (2, 1)  # of the networks' blocks, in sizes of a node
EDGE_WIDTHS = (2, 2, 1, 1)


class Block(keras.layers.Layer):
    """Dense without bias -> batch norm -> leaky ReLU -> dropout of whole channels.

    [P, C] -> [P, units]. Statistics are those of all P nodes or edges of all graphs,
    and a channel is left out of all of them.
    """

    def __init__(
        self, units: int, dropout: float, weight_decay: float, seed: int, **options
    ):
        super().__init__(**{"dtype": "float32"} | options)
        self.dense = _dense(units, weight_decay, seed, use_bias=False)
        self.norm = keras.layers.BatchNormalization(momentum=0.9, epsilon=1e-5)
        self.dropout = keras.layers.Dropout(dropout, noise_shape=(1, units), seed=seed)

    def build(self, input_shape: tuple) -> None:
        self.dense.build(input_shape)
        self.norm.build((None, self.dense.units))

    def call(self, points: tf.Tensor, training: bool = False) -> tf.Tensor:
        features = self.norm(self.dense(points), training=training)
        features = tf.nn.leaky_relu(features, SLOPE)
        return self.dropout(features, training=training)


class _Network(keras.layers.Layer):
    """Blocks one after the other.

    Args:
        size: numbers of a node.
        dropout: share of channels left out after the last block, or after each.
    """

    widths: tuple[int, ...]
    drops_all: bool = False  # whether each block has dropout, or the last one alone

    def __init__(
        self, size: int, dropout: float, weight_decay: float, seed: int, **options
    ):
        super().__init__(**{"dtype": "float32"} | options)
        self.size = size
        # Attributes, because checkpoints do not see the layers in a list.
        for index, width in enumerate(self.widths):
            last = index == len(self.widths) - 1
            block = Block(
                width * size,
                dropout if last or self.drops_all else 0.0,
                weight_decay,
                seed=8 * seed + index,
            )
            setattr(self, f"block_{index + 1}", block)

    @property
    def blocks(self) -> list[Block]:
        places = range(1, len(self.widths) + 1)
        return [getattr(self, f"block_{place}") for place in places]

    def build_blocks(self, size: int) -> None:
        """Makes the variables of the blocks, the first of which takes `size`."""
        for block in self.blocks:
            block.build((None, size))
            size = block.dense.units


class NodeNetwork(_Network):
    """New nodes from old ones and their neighbors: [V, D], [V, V, 2] -> [V, size].

    Of one graph or of several, [G, V, D] and [G, V, V, 2] or edges that all share.
    """

    widths = NODE_WIDTHS

    def build(self, input_shape: tuple) -> None:
        self.build_blocks(3 * input_shape[-1])

    def call(
        self, nodes: tf.Tensor, edges: tf.Tensor, training: bool = False
    ) -> tf.Tensor:
        shares = row_shares(without_diagonal(edges))  # [V, V, 2]
        alike, different = (
            tf.linalg.matmul(channel, nodes) for channel in tf.unstack(shares, axis=-1)
        )  # [V, D]
        features = tf.concat([nodes, alike, different], axis=-1)  # [V, 3 D]
        leading = tf.shape(features)[:-1]
        features = tf.reshape(features, [-1, features.shape[-1]])
        for block in self.blocks:
            features = block(features, training=training)
        return _unflatten(features, leading, nodes)


class EdgeNetwork(_Network):
    """How alike nodes are, as a logit: [V, size] -> [V, V], of one graph or several."""

    widths = EDGE_WIDTHS
    drops_all = True

    def __init__(
        self, size: int, dropout: float, weight_decay: float, seed: int, **options
    ):
        super().__init__(size, dropout, weight_decay, seed, **options)
        self.logit = _dense(1, weight_decay, seed=8 * seed + len(self.widths))

    def build(self, input_shape: tuple) -> None:
        self.build_blocks(input_shape[-1])
        self.logit.build((None, self.blocks[-1].dense.units))

    def call(self, nodes: tf.Tensor, training: bool = False) -> tf.Tensor:
        count = nodes.shape[-2]
        if not training and count is not None and len(nodes.shape) == 2:
            return self._of_pairs(nodes, count)
        gaps = tf.abs(nodes[..., :, None, :] - nodes[..., None, :, :])  # [V, V, size]
        logits = self._logits(tf.reshape(gaps, [-1, self.size]), training)
        return tf.reshape(logits, tf.shape(gaps)[:-1])

    def _of_pairs(self, nodes: tf.Tensor, count: int) -> tf.Tensor:
        """Returns the same in half the time, each pair once: [V, size] -> [V, V].

        Not in training, where batch statistics are those of the whole matrix. What the
        diagonal holds does not matter: no layer looks at it.
        """
        rows, columns = np.triu_indices(count, 1)
        gaps = tf.abs(tf.gather(nodes, rows) - tf.gather(nodes, columns))  # [P, size]
        places = np.zeros((count, count), np.int32)
        places[rows, columns] = places[columns, rows] = np.arange(len(rows))
        return tf.gather(self._logits(gaps), places)

    def _logits(self, gaps: tf.Tensor, training: bool = False) -> tf.Tensor:
        """Returns how alike pairs of nodes are: [P, size] -> [P]."""
        for block in self.blocks:
            gaps = block(gaps, training=training)
        return self.logit(gaps)[:, 0]


def update_edges(edges: tf.Tensor, logits: tf.Tensor) -> tf.Tensor:
    """Returns edges after a layer: [V, V, 2], [V, V] -> [V, V, 2].

    They are weighed by how alike their nodes are now. Each channel keeps the sum of its
    row, a node is like itself, and then the channels of an edge are made to sum to one.
    """
    edges = without_diagonal(edges)
    alike = tf.stack([tf.sigmoid(logits), tf.sigmoid(-logits)], axis=-1)
    sums = tf.reduce_sum(edges, axis=-2, keepdims=True)  # [V, 1, 2]
    edges = row_shares(alike * edges) * sums
    itself = tf.eye(tf.shape(logits)[-1], dtype=edges.dtype)  # [V, V]
    edges += tf.stack([itself, tf.zeros_like(itself)], axis=-1) + FLOOR
    return edges / tf.reduce_sum(edges, axis=-1, keepdims=True)


def row_shares(edges: tf.Tensor) -> tf.Tensor:
    """Returns each channel with rows that sum to one, or to 0: [V, V, 2]."""
    sums = tf.reduce_sum(edges, axis=-2, keepdims=True)  # [V, 1, 2]
    return edges / tf.maximum(sums, 1e-12)


def without_diagonal(edges: tf.Tensor) -> tf.Tensor:
    """Returns edges without those from a node to itself: [V, V, 2]."""
    others = 1 - tf.eye(tf.shape(edges)[-2], dtype=edges.dtype)
    return edges * others[..., None]


def _unflatten(features: tf.Tensor, leading: tf.Tensor, like: tf.Tensor) -> tf.Tensor:
    """Returns rows by graph and node, whose numbers are those of `like`."""
    size = features.shape[-1]
    features = tf.reshape(features, tf.concat([leading, [size]], axis=0))
    features.set_shape([*like.shape[:-1], size])
    return features


def _dense(
    units: int, weight_decay: float, seed: int, use_bias: bool = True
) -> keras.layers.Dense:
    return keras.layers.Dense(
        units,
        use_bias=use_bias,
        kernel_initializer=keras.initializers.GlorotUniform(seed=seed),
        kernel_regularizer=keras.regularizers.L2(weight_decay / 2),
    )
