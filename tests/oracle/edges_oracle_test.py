"""The oracle of the edge-labelling graph network, by hand."""

import math

import numpy as np
import pytest

from tests.oracle import edges


def _plain(kernel):
    width = kernel.shape[1]
    norm = [np.ones(width), np.zeros(width), np.zeros(width), np.full(width, 1 - 1e-5)]
    return [kernel, *norm]


def _by_distance(size, reach):
    """Layers that keep nodes, and call pairs similar that are nearer than `reach`."""
    keep = np.concatenate([np.eye(size), np.zeros([2 * size, size])])
    return {
        "node": [_plain(keep), _plain(np.eye(size))],
        "edge": [_plain(np.eye(size))] * 4,
        "last": [-np.ones([size, 1]), np.array([reach])],
    }


def _random_layers(seed, size, width=3, moving=True):
    generator = np.random.default_rng(seed)

    def unit(incoming, outgoing):
        parts = [generator.normal(size=[incoming, outgoing])]
        parts += [generator.normal(size=outgoing), generator.normal(size=outgoing)]
        if moving:
            parts += [generator.normal(size=outgoing), np.full(outgoing, 2.0)]
        return parts

    layers = []
    for layer in range(3):
        node = size if layer == 0 else width
        layers.append(
            {
                "node": [unit(3 * node, 2 * width), unit(2 * width, width)],
                "edge": [
                    unit(width, 2 * width),
                    unit(2 * width, 2 * width),
                    unit(2 * width, width),
                    unit(width, width),
                ],
                "last": [generator.normal(size=[width, 1]), generator.normal(size=1)],
            }
        )
    return layers


def test_initial_edges():
    # Labelled 0, labelled 1, unlabelled, query.
    found = edges.initial_edges([0, 1, -1, 0], [False] * 3 + [True], False)
    expected = np.full([4, 4], 0.5)
    expected[:2, :2] = np.eye(2)
    np.testing.assert_array_equal(found[..., 0], expected)
    np.testing.assert_array_equal(found[..., 1], 1 - expected)
    found = edges.initial_edges([0, 1, -1, -1], [False] * 3 + [True], True)
    expected[3, 3] = 1
    np.testing.assert_array_equal(found[..., 0], expected)


def test_aggregate_of_three_nodes():
    nodes = np.array([[1.0], [2.0], [4.0]])
    similar = np.array([[9.0, 1.0, 0.5], [1.0, 9.0, 1.0], [0.0, 0.0, 9.0]])
    both = np.stack([similar, np.ones([3, 3])], axis=-1)
    found = edges.aggregate(nodes, both)
    # Row 0: (2 * 1 + 4 * 0.5) / 1.5; a row of zeros stays 0.
    np.testing.assert_allclose(found, [[1, 8 / 3, 3], [2, 2.5, 2.5], [4, 0, 1.5]])


def test_edge_update_of_one_row():
    old = np.zeros([3, 3, 2])
    old[0] = [[7, 7], [1, 0], [0.5, 0.5]]
    similar = np.array([[0.9, 0.25, 0.5]] * 3)
    found = edges.update_edges(old, similar)[0]
    # Similar: 1/4, 1/4 -> 1/2, 1/2 -> * 1.5. Dissimilar: 0, 1/4 -> 0, 1 -> * 0.5.
    np.testing.assert_allclose(found, [[1, 0], [1, 0], [0.6, 0.4]], atol=3e-6)
    np.testing.assert_allclose(found[1, 1], 1e-6 / (0.75 + 2e-6))
    np.testing.assert_allclose(found.sum(axis=-1), 1)


def test_equal_similarities_change_nothing():
    old = edges.initial_edges([0, 0, 1, -1, -1], [False] * 4 + [True], True)
    found = edges.update_edges(old, np.full([5, 5], 0.3))
    off = ~np.eye(5, dtype=bool)
    np.testing.assert_allclose(found[off], old[off], atol=1e-5)
    np.testing.assert_allclose(found[~off][:, 0], 1, atol=1e-5)


def test_similarity_of_two_nodes():
    layer = _by_distance(1, 0.0)
    found = edges.similarities(
        np.array([[[0.0], [math.log(3.0)]]]), layer["edge"], layer["last"]
    )
    np.testing.assert_allclose(found[0], [[0.5, 0.25], [0.25, 0.5]])


def test_units_use_the_batch_without_statistics():
    features = np.array([[[0.0], [4.0]]])
    unit = [np.ones([1, 1]), np.ones(1), np.zeros(1)]
    found = edges.apply_unit(features, unit)
    np.testing.assert_allclose(found[0, :, 0], [-0.01, 1], rtol=1e-5)


def test_loss_of_query_edges():
    # Support 0, hidden, 1; a query of class 1. Edges that count: with nodes 0, 2, 3.
    similar = np.full([4, 4], 0.5)
    similar[3, 0], similar[0, 3] = 0.25, 0.5
    similar[3, 2], similar[2, 3], similar[3, 3] = 0.5, 0.25, 1.0
    both = np.stack([similar, 1 - similar], axis=-1)[None]
    negative = (math.log(4 / 3) + math.log(2)) / 2
    positive = (math.log(2) + math.log(4)) / 3
    found = edges.layer_loss(both, [[0, -1, 1, 1]], support=3)
    assert found == pytest.approx(negative + positive)
    hidden = both.copy()
    hidden[0, 1], hidden[0, :, 1] = 0.123, 0.456
    assert edges.layer_loss(hidden, [[0, -1, 1, 1]], support=3) == found
    total = edges.episode_loss([both, hidden, both], [0, -1, 1], [1])
    assert total == pytest.approx(found * 2 / 3)


def test_scores_add_labelled_support_only():
    similar = np.zeros([4, 4])
    similar[3] = [0.25, 0.5, 0.75, 1.0]
    both = np.stack([similar, 1 - similar], axis=-1)[None]
    found = edges.query_scores(both, [0, -1, 0], 2)
    np.testing.assert_allclose(found, [[1.0, 0.0]])


@pytest.mark.parametrize("transductive", [False, True])
def test_two_far_clusters(transductive):
    support = np.array([[1.0, 0.0], [1.5, 0.0], [9.0, 0.0], [9.0, 0.5]])
    labels = [0, -1, 1, -1]
    queries = np.array([[9.5, 0.0], [1.0, 0.5], [9.0, 1.0]])
    layers = [_by_distance(2, 3.0)] * 3
    found = edges.episode_edges(support, labels, queries, layers, transductive)
    scores = edges.query_scores(found[-1], labels, 2)
    np.testing.assert_array_equal(scores.argmax(axis=1), [1, 0, 1])
    good = edges.episode_loss(found, labels, [1, 0, 1])
    assert good < edges.episode_loss(found, labels, [0, 1, 0])


@pytest.mark.parametrize("moving", [True, False])
@pytest.mark.parametrize("transductive", [False, True])
def test_permutations(transductive, moving):
    generator = np.random.default_rng(4)
    support, queries = generator.normal(size=[6, 4]), generator.normal(size=[3, 4])
    labels, query_labels = [0, 0, 1, 2, -1, -1], [2, 0, 1]
    layers = _random_layers(5, 4, moving=moving)

    def run(support, labels, queries, query_labels):
        found = edges.episode_edges(support, labels, queries, layers, transductive)
        scores = edges.query_scores(found[-1], labels, 3)
        return scores, edges.episode_loss(found, labels, query_labels)

    scores, loss = run(support, labels, queries, query_labels)
    assert scores.shape == (3, 3)
    order = [4, 2, 0, 5, 1, 3]
    found, other = run(
        support[order], [labels[i] for i in order], queries, query_labels
    )
    np.testing.assert_allclose(found, scores, rtol=1e-6)
    assert other == pytest.approx(loss)
    found, other = run(support, labels, queries[::-1], query_labels[::-1])
    np.testing.assert_allclose(found, scores[::-1], rtol=1e-6)
    assert other == pytest.approx(loss)
    renamed = {0: 1, 1: 2, 2: 0, -1: -1}
    found, other = run(
        support,
        [renamed[c] for c in labels],
        queries,
        [renamed[c] for c in query_labels],
    )
    np.testing.assert_allclose(found[:, [1, 2, 0]], scores, rtol=1e-6)
    assert other == pytest.approx(loss)


def test_queries_do_not_meet_in_graphs_of_one():
    generator = np.random.default_rng(6)
    support, queries = generator.normal(size=[3, 4]), generator.normal(size=[2, 4])
    layers = _random_layers(7, 4)
    both = edges.episode_edges(support, [0, 1, -1], queries, layers)
    alone = edges.episode_edges(support, [0, 1, -1], queries[1:], layers)
    np.testing.assert_allclose(both[-1][1], alone[-1][0])
    found = edges.episode_edges(support, [0, 1, -1], queries, layers, True)
    assert found[-1].shape == (1, 5, 5, 2)
    assert np.abs(found[-1][0, 4, :3] - alone[-1][0, 3, :3]).max() > 1e-6


def test_parameter_count():
    edge = 96 * 192 + 384 + 192 * 192 + 384 + 192 * 96 + 192 + 96 * 96 + 192 + 97
    first = 384 * 192 + 384 + 192 * 96 + 192
    later = 288 * 192 + 384 + 192 * 96 + 192
    assert edges.parameter_count() == 3 * edge + first + 2 * later
