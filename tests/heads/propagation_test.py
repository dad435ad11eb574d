"""Label propagation against its oracle, and what its graph does at the edges."""

import numpy as np
import pytest
import tensorflow as tf

from prwn_tf.head_parts import TpnConfig
from prwn_tf.heads import propagation
from prwn_tf.heads.base import EmbeddedEpisode
from prwn_tf.heads.length_scale import SMALLEST, LengthScale
from prwn_tf.heads.propagation import PropagationHead
from tests import modes
from tests.oracle import propagation as oracle

LABELS = [0, 1, 2, 0, 1]
SUPPORT_LABELS = [0, 0, 1, 1, 2, 2]
RULES = [
    {"neighbors": 1},
    {"neighbors": 4},
    {"neighbors": 4, "diagonal": False},
    {"neighbors": 3, "alpha": 0.5},
    {"neighbors": 50},  # more than there are nodes
]


def points(*shape, seed=0, scale=0.6) -> np.ndarray:
    generator = np.random.default_rng([seed, *shape])
    return (scale * generator.normal(size=shape)).astype(np.float32)


def episode(size=8) -> EmbeddedEpisode:
    return EmbeddedEpisode(points(3, 2, size), points(5, size), points(7, size))


def in_order(embedded: EmbeddedEpisode) -> tuple[np.ndarray, ...]:
    """Support, unlabelled points and queries, as the oracle wants them."""
    return embedded.support, embedded.unlabeled, embedded.queries


def fixed(scale=0.7, **rules) -> PropagationHead:
    return PropagationHead(TpnConfig(scale=scale, **rules))


def asked(mode: str, head: PropagationHead, embedded, training: bool) -> list:
    """Scores of the queries, and the loss."""

    def ask(*parts):
        given = EmbeddedEpisode(*parts)
        answer = head.answer(given, training)
        return answer.scores, *head.loss(given, answer, tf.constant(LABELS)).values()

    return modes.run(mode, ask, *map(tf.constant, embedded))


@pytest.mark.parametrize(
    ("mode", "rules"),
    [("eager", rules) for rules in RULES]
    + [(mode, RULES[2]) for mode in ("graph", "xla")],
)
def test_graphs_match_oracle(mode, rules):
    head, embedded = fixed(**rules), episode()
    scores, loss = asked(mode, head, embedded, training=True)
    expected = oracle.transductive_scores(*in_order(embedded), 0.7, **rules)
    np.testing.assert_allclose(scores, expected, rtol=1e-3, atol=1e-4)
    expected = oracle.episode_loss(*in_order(embedded), LABELS, 0.7, **rules)
    np.testing.assert_allclose(loss, expected, rtol=1e-4)
    scores, _ = asked(mode, head, embedded, training=False)
    expected = oracle.inductive_scores(*in_order(embedded), 0.7, **rules)
    np.testing.assert_allclose(scores, expected, rtol=1e-3, atol=1e-4)


def test_published_rules():
    config = TpnConfig()
    assert (config.neighbors, config.alpha, config.diagonal) == (20, 0.99, True)
    assert PropagationHead().scale is not None  # it is learned


def learned(shape=(5, 5, 3)) -> PropagationHead:
    """A head with a scale network whose weights and averages matter."""
    head = PropagationHead(TpnConfig(neighbors=4))
    head.feature_shape = shape
    head.build((None, int(np.prod(shape))))
    for index, variable in enumerate(head.variables):
        change = points(*variable.shape, seed=index, scale=0.05)
        variable.assign(np.abs(variable.numpy() + change))
    return head


def scale_weights(head: PropagationHead, averages: bool) -> tuple[list, list]:
    """The blocks and dense layers of the scale network, as the oracle wants them."""
    scale, blocks = head.scale, []
    for convolution, norm in (
        (scale.convolution_1, scale.norm_1),
        (scale.convolution_2, scale.norm_2),
    ):
        parts = [norm.gamma, norm.beta]
        parts += [norm.moving_mean, norm.moving_variance] if averages else []
        kernel, no_bias = convolution.kernel.numpy(), 0.0
        blocks.append([kernel, no_bias, *(part.numpy() for part in parts)])
    dense = (scale.hidden, scale.output_layer)
    return blocks, [part.numpy() for each in dense for part in (each.kernel, each.bias)]


@pytest.mark.parametrize("mode", modes.MODES)
@pytest.mark.parametrize("training", [False, True])
def test_learned_scale_matches_oracle(mode, training):
    head, embedded = learned(), episode(75)
    blocks, dense = scale_weights(head, averages=not training)
    nodes, _ = oracle.episode_nodes(*in_order(embedded))
    scales = oracle.length_scales(nodes.reshape(-1, 5, 5, 3), blocks, dense)
    assert np.ptp(scales) > 1e-3
    scores, _ = asked(mode, head, embedded, training)
    compute = oracle.transductive_scores if training else oracle.inductive_scores
    expected = compute(*in_order(embedded), scales, neighbors=4)
    np.testing.assert_allclose(scores, expected, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize(("shape", "places"), [((5, 5, 64), 4), ((1, 1, 64), 1)])
def test_size_of_the_scale_network(shape, places):
    scale = LengthScale()
    scale.build((None, *shape))
    count = sum(int(np.prod(variable.shape)) for variable in scale.trainable_variables)
    biases = 65  # of the convolutions, which batch norm subtracts again
    assert count == oracle.length_scale_parameters(64, places) - biases
    by_hand = 9 * 64 * 64 + 2 * 64 + 9 * 64 + 2 + 8 * places + 8 + 8 + 1
    assert count == by_hand


def test_scales_start_almost_alike_and_never_at_zero():
    scale = LengthScale()
    scale.build((None, 1, 1, 4))
    np.testing.assert_allclose(scale(points(9, 1, 1, 4, scale=2.0)), 0.5, atol=0.1)
    scale.output_layer.bias.assign([0.0])
    with tf.GradientTape() as tape:
        scales = scale(tf.zeros([2, 1, 1, 4]))
        near = tf.reduce_sum(
            propagation.similarities(points(2, 4) / scales[:, None], True)
        )
    np.testing.assert_allclose(scales, SMALLEST)
    for gradient in tape.gradient(near, scale.trainable_variables):
        assert gradient is None or np.isfinite(gradient).all()


def test_a_node_without_neighbors_gets_no_class():
    embedded = episode()
    far = embedded._replace(queries=1e4 * np.ones([5, 8], np.float32))
    for diagonal in (True, False):
        head = fixed(neighbors=3, diagonal=diagonal)
        scores, loss = asked("graph", head, far, training=False)
        np.testing.assert_array_equal(scores, np.zeros([5, 3]))
        assert np.isfinite(loss)


def test_either_end_keeps_an_edge():
    weights = tf.constant([[1, 0.9, 0.8], [0.9, 1, 0.1], [0.8, 0.1, 1]])
    kept = propagation.among_nearest(weights, 2)
    expected = [[1, 0.9, 0.8], [0.9, 1, 0], [0.8, 0, 1]]  # 0.8 by its last row
    np.testing.assert_allclose(kept, expected)
    np.testing.assert_array_equal(propagation.among_nearest(weights, 9), weights)


def test_the_matrix_is_symmetric_and_positive_definite():
    weights = propagation.similarities(points(40, 8, scale=2.0), diagonal=True)
    matrix = propagation.spread_matrix(propagation.among_nearest(weights, 5), 0.99)
    np.testing.assert_array_equal(matrix, tf.transpose(matrix))
    assert np.linalg.eigvalsh(matrix).min() > 0.009


GRAPHS = (
    lambda nodes, queries: propagation.scores_together(
        tf.concat([nodes, queries], axis=0), SUPPORT_LABELS, 3, neighbors=4
    )[-5:],
    lambda nodes, queries: propagation.scores_singly(
        nodes, queries, SUPPORT_LABELS, 3, neighbors=4
    ),
)


@pytest.mark.parametrize("scores_of", GRAPHS)
def test_single_precision_is_enough(scores_of):
    nodes, queries = points(13, 8), points(5, 8)
    exact = scores_of(tf.cast(nodes, tf.float64), tf.cast(queries, tf.float64))
    assert exact.dtype == tf.float64
    np.testing.assert_allclose(scores_of(nodes, queries), exact, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("scores_of", GRAPHS)
def test_gradients_are_those_of_finite_differences(scores_of):
    nodes, queries = points(13, 8).astype(np.float64), points(5, 8).astype(np.float64)

    def loss(given):
        scores = scores_of(given, tf.constant(queries))
        return tf.reduce_mean(
            tf.nn.sparse_softmax_cross_entropy_with_logits(LABELS, scores)
        )

    given = tf.constant(nodes)
    with tf.GradientTape() as tape:
        tape.watch(given)
        value = loss(given)
    gradient = tape.gradient(value, given).numpy()
    for place in [(0, 0), (5, 3), (12, 7)]:
        step = np.zeros_like(nodes)
        step[place] = 1e-6
        slope = (loss(given + step) - loss(given - step)) / 2e-6
        np.testing.assert_allclose(gradient[place], slope, rtol=1e-4, atol=1e-8)
