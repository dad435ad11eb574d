"""The edge-labelling graph network against its oracle; no hidden label gets in."""

import numpy as np
import pytest
import tensorflow as tf

from prwn_tf.head_parts import EgnnConfig
from prwn_tf.heads import edges
from prwn_tf.heads.base import EmbeddedEpisode
from prwn_tf.heads.edge_layers import Block, update_edges
from prwn_tf.heads.edges import EdgeHead
from tests import modes
from tests.oracle import edges as oracle

LABELS = [0, 1, 2, 0, 1]
KNOWN = [0, 0, 1, 1, 2, 2]  # the classes of the support
HIDDEN = [-1] * 4  # and of the unlabelled points


def points(*shape, seed=0, scale=0.6) -> np.ndarray:
    generator = np.random.default_rng([seed, *shape])
    return (scale * generator.normal(size=shape)).astype(np.float32)


def episode(size=8) -> EmbeddedEpisode:
    return EmbeddedEpisode(points(3, 2, size), points(5, size), points(4, size))


def built(together=False) -> EdgeHead:
    """A head whose weights and averages matter."""
    head = EdgeHead(EgnnConfig(size=5, dropout=0.0, together=together))
    head.build((None, 8))
    for index, variable in enumerate(head.variables):
        if "seed" not in variable.path:
            change = points(*variable.shape, seed=index, scale=0.1)
            variable.assign(variable.numpy() + np.abs(change))
    return head


def units(network, averages: bool) -> list[list[np.ndarray]]:
    """The blocks of a network, as the oracle wants them."""
    result = []
    for block in network.blocks:
        norm = block.norm
        parts = [block.dense.kernel, norm.gamma, norm.beta]
        parts += [norm.moving_mean, norm.moving_variance] if averages else []
        result.append([part.numpy() for part in parts])
    return result


def layers(head: EdgeHead, averages: bool) -> list[dict]:
    return [
        {
            "node": units(node_network, averages),
            "edge": units(edge_network, averages),
            "last": [
                edge_network.logit.kernel.numpy(),
                edge_network.logit.bias.numpy(),
            ],
        }
        for node_network, edge_network in head.networks
    ]


def expected_edges(head, embedded, training: bool, together: bool) -> list[np.ndarray]:
    support = np.concatenate([embedded.support.reshape(6, -1), embedded.unlabeled])
    weights = layers(head, averages=not training)
    return oracle.episode_edges(
        support, KNOWN + HIDDEN, embedded.queries, weights, together
    )


@pytest.mark.parametrize("together", [False, True])
@pytest.mark.parametrize("mode", modes.MODES)
def test_training_matches_oracle(mode, together):
    head, embedded = built(together=together), episode()
    expected = expected_edges(head, embedded, training=True, together=together)

    def ask(*parts):
        given = EmbeddedEpisode(*parts)
        answer = head.answer(given, training=True)
        return answer.scores, answer.own, head.loss(given, answer, LABELS)["edges"]

    scores, own, loss = modes.run(mode, ask, *map(tf.constant, embedded))
    for shown, layer in zip(own, expected, strict=True):
        np.testing.assert_allclose(shown, layer, rtol=1e-3, atol=1e-4)
    last = oracle.query_scores(expected[-1], KNOWN + HIDDEN, 3)
    np.testing.assert_allclose(scores, last, rtol=1e-3, atol=1e-4)
    total = oracle.episode_loss(expected, KNOWN + HIDDEN, LABELS)
    np.testing.assert_allclose(loss, total, rtol=1e-3)


@pytest.mark.parametrize("adapt", ["none", "transductive"])
@pytest.mark.parametrize("mode", modes.MODES)
def test_answers_match_oracle(mode, adapt):
    head, embedded = built(), episode()
    together = adapt == "transductive"
    expected = expected_edges(head, embedded, training=False, together=together)
    expected = oracle.query_scores(expected[-1], KNOWN + HIDDEN, 3)
    adapted = head.adapted(adapt)
    scores = modes.run(
        mode,
        lambda *parts: adapted.answer(EmbeddedEpisode(*parts)).scores,
        *map(tf.constant, embedded),
    )
    assert np.ptp(expected) > 0.01
    np.testing.assert_allclose(scores, expected, rtol=1e-3, atol=1e-4)


def test_published_sizes():
    head = EdgeHead()
    head.build((None, 128))
    count = sum(int(np.prod(variable.shape)) for variable in head.trainable_variables)
    assert count == oracle.parameter_count()
    nodes = [3 * 128 * 192 + 192 * 96, 3 * 96 * 192 + 192 * 96]
    pair = 96 * 192 + 192 * 192 + 192 * 96 + 96 * 96 + 96 + 1
    norms = 2 * (192 + 96) + 2 * (192 + 192 + 96 + 96)
    assert count == nodes[0] + 2 * nodes[1] + 3 * (pair + norms)
    assert edges.LAYER_WEIGHTS == (0.5, 0.5, 1.0)


def test_first_edges_match_oracle():
    shown = edges.first_edges(tf.constant(KNOWN), 9).numpy()
    queries = [False] * 6 + [True] * 3
    expected = oracle.initial_edges(KNOWN + [-1] * 3, queries, transductive=False)
    np.testing.assert_array_equal(shown, expected)


def test_updated_edges_match_oracle():
    old = np.abs(points(6, 6, 2)) * (1 - np.eye(6)[..., None])
    logits = points(6, 6, scale=4.0)
    expected = oracle.update_edges(old, 1 / (1 + np.exp(-logits.astype(np.float64))))
    shown = update_edges(tf.constant(old, tf.float32), logits)
    np.testing.assert_allclose(shown, expected, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(np.sum(shown, axis=-1), 1, rtol=1e-6)


def test_neither_scores_nor_losses_see_edges_of_unlabelled_points():
    """The released code uses the hidden labels in both."""
    shown = tf.constant(np.random.default_rng(0).uniform(0.1, 0.9, (15, 15, 2)))
    classes = tf.constant(KNOWN + HIDDEN + LABELS)
    asked = tf.range(15) >= 10
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(shown)
        loss = edges.query_edge_loss(shown, classes, asked)
        scores = edges.support_scores(shown[..., 0], tf.constant(KNOWN), 3, 5)
    for seen in (tape.gradient(loss, shown), tape.gradient(scores, shown)):
        np.testing.assert_array_equal(seen[6:10], 0)
        np.testing.assert_array_equal(seen[:, 6:10], 0)
        assert np.abs(seen).max() > 0


def test_edges_within_the_support_are_not_in_the_loss():
    shown = tf.constant(np.random.default_rng(0).uniform(0.1, 0.9, (15, 15, 2)))
    with tf.GradientTape() as tape:
        tape.watch(shown)
        classes = tf.constant(KNOWN + HIDDEN + LABELS)
        loss = edges.query_edge_loss(shown, classes, tf.range(15) >= 10)
    gradient = tape.gradient(loss, shown).numpy()
    np.testing.assert_array_equal(gradient[:10, :10], 0)
    labelled = [*range(6), *range(10, 15)]
    assert (np.abs(gradient[10:, labelled]).max(-1) > 0).all()


def test_dropout_leaves_out_whole_channels_in_training_alone():
    block = Block(40, dropout=0.5, weight_decay=0.0, seed=0)
    block.build((None, 8))
    inputs = points(30, 8)
    zeros = (block(inputs, training=True).numpy() == 0).mean(axis=0)  # [40]
    assert set(zeros) == {0.0, 1.0}
    assert 0.2 < zeros.mean() < 0.8
    assert (block(inputs).numpy() != 0).all()
    last = EdgeHead(EgnnConfig(dropout=0.3)).networks
    rates = [
        [b.dropout.rate for b in network.blocks] for pair in last for network in pair
    ]
    assert rates == [[0, 0.3], [0.3] * 4, [0, 0.3], [0.3] * 4, [0, 0], [0] * 4]


def test_kernels_are_held_small():
    head = EdgeHead(EgnnConfig(size=4), weight_decay=0.01)
    head.build((None, 8))
    kernels = [v for v in head.trainable_variables if v.path.endswith("kernel")]
    expected = 0.005 * sum(np.sum(np.square(kernel.numpy())) for kernel in kernels)
    assert len(kernels) == 3 * 7
    np.testing.assert_allclose(sum(head.losses), expected, rtol=1e-5)


def test_far_apart_classes_stay_finite():
    head, embedded = built(), episode()
    far = EmbeddedEpisode(*(1e3 * part for part in embedded))
    with tf.GradientTape() as tape:
        answer = head.answer(far, training=True)
        loss = head.loss(far, answer, tf.constant(LABELS))["edges"]
    assert np.isfinite(loss)
    gradients = tape.gradient(loss, head.trainable_variables)
    assert all(np.isfinite(gradient).all() for gradient in gradients)
