"""The oracle of label propagation, by hand."""

import math

import numpy as np
import pytest

from tests.oracle import propagation

# Two points whose affinity exp(-d2 / 2) is 1/3.
PAIR = np.array([[0.0], [math.sqrt(2 * math.log(3.0))]])


def _episode(seed, classes=3, shots=2, unlabeled=4, queries=3, size=4):
    generator = np.random.default_rng(seed)
    return (
        generator.normal(size=[classes, shots, size]),
        generator.normal(size=[unlabeled, size]),
        generator.normal(size=[queries, size]),
        generator.uniform(0.5, 2.0, classes * shots + unlabeled + queries),
    )


def test_affinity_is_the_mean_over_entries_of_scaled_points():
    np.testing.assert_allclose(propagation.affinities(PAIR), [[1, 1 / 3], [1 / 3, 1]])
    twice = np.concatenate([PAIR, PAIR], axis=1)
    np.testing.assert_allclose(propagation.affinities(twice)[0, 1], 1 / 3)
    found = propagation.affinities(np.array([[2.0], [1.0]]), np.array([2.0, 1.0]))
    np.testing.assert_allclose(found, 1.0)
    half = propagation.affinities(PAIR, math.sqrt(2.0))
    np.testing.assert_allclose(half[0, 1], math.sqrt(1 / 3))


def test_union_of_nearest_neighbours():
    weights = propagation.affinities(np.array([[0.0], [1.0], [3.0]]))
    kept = propagation.nearest_union(weights, neighbors=2) > 0
    # 0 and 1 choose each other, 2 chooses 1, nobody chooses 0-2.
    np.testing.assert_array_equal(kept, [[1, 1, 0], [1, 1, 1], [0, 1, 1]])
    kept = propagation.nearest_union(weights, neighbors=1) > 0
    np.testing.assert_array_equal(kept, np.eye(3))
    # Without the diagonal there is room for another, unless it is counted.
    kept = propagation.nearest_union(weights, neighbors=1, diagonal=False) > 0
    np.testing.assert_array_equal(kept, [[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    none = propagation.nearest_union(weights, 1, diagonal=False, counts_itself=True)
    np.testing.assert_array_equal(none, 0)
    for many in (3, 20, None):
        np.testing.assert_array_equal(propagation.nearest_union(weights, many), weights)


def test_two_nodes_in_closed_form():
    # S = [[3/4, 1/4], [1/4, 3/4]], and (I - S / 2)^-1 = [[5/3, 1/3], [1/3, 5/3]].
    weights = propagation.affinities(PAIR)
    found = propagation.normalized(weights)
    np.testing.assert_allclose(found, [[3 / 4, 1 / 4], [1 / 4, 3 / 4]])
    found = propagation.graph_scores(PAIR, [0, -1], 2, alpha=0.5)
    np.testing.assert_allclose(found, [[5 / 3, 0], [1 / 3, 0]], atol=1e-12)
    # Without the diagonal S = [[0, 1], [1, 0]].
    found = propagation.graph_scores(PAIR, [0, -1], 2, alpha=0.5, diagonal=False)
    np.testing.assert_allclose(found, [[4 / 3, 0], [2 / 3, 0]], atol=1e-12)


def test_loss_over_support_and_query_nodes():
    scores = np.array([[math.log(3.0), 0.0], [9.0, 0.0], [0.0, 0.0]])
    found = propagation.loss(scores, [0, -1, 1])
    assert found == pytest.approx((math.log(4 / 3) + math.log(2)) / 2)


def test_closed_form_is_the_sum_of_all_steps():
    support, unlabeled, queries, scales = _episode(0)
    nodes, labels = propagation.episode_nodes(support, unlabeled, queries)
    weights = propagation.nearest_union(propagation.affinities(nodes, scales), 4)
    similarity = propagation.normalized(weights)
    np.testing.assert_allclose(similarity, similarity.T)
    assert np.linalg.eigvalsh(np.eye(len(nodes)) - 0.99 * similarity).min() > 0.0099
    step = propagation.one_hot(labels, 3)
    total = np.zeros(step.shape)
    for _ in range(200):
        total += step
        step = 0.5 * similarity @ step
    found = propagation.graph_scores(nodes, labels, 3, scales, 4, 0.5)
    np.testing.assert_allclose(found, total, atol=1e-12)


def test_a_chain_of_unlabelled_points_carries_the_label():
    # The query is nearer to class 1, and connected to class 0 by unlabelled points.
    support = np.array([[[0.0]], [[7.0]]])
    unlabeled = np.array([[1.0], [2.0], [3.0]])
    queries = np.array([[4.0], [6.5]])
    for scores in (propagation.inductive_scores, propagation.transductive_scores):
        found = scores(support, unlabeled, queries, neighbors=3)
        np.testing.assert_array_equal(found.argmax(axis=1), [0, 1])


def test_two_far_clusters():
    support = np.array([[[0.0, 0.0]], [[50.0, 0.0]]])
    unlabeled = np.array([[0.0, 1.0], [51.0, 0.0], [50.0, 1.0]])
    queries = np.array([[1.0, 0.0], [50.0, -1.0], [0.0, -1.0]])
    found = propagation.inductive_scores(support, unlabeled, queries, neighbors=2)
    np.testing.assert_array_equal(found.argmax(axis=1), [0, 1, 0])
    np.testing.assert_allclose(found.min(axis=1), 0, atol=1e-12)


def test_an_isolated_node_has_no_class():
    support = np.array([[[0.0]], [[1.0]]])
    queries = np.array([[1000.0]])
    for diagonal in (True, False):
        found = propagation.transductive_scores(
            support, None, queries, diagonal=diagonal
        )
        np.testing.assert_array_equal(found, 0)


def test_one_query_is_its_own_transductive_graph():
    support, unlabeled, queries, scales = _episode(1)
    found = propagation.inductive_scores(support, unlabeled, queries, scales)
    for q in range(3):
        alone = propagation.transductive_scores(
            support, unlabeled, queries[q : q + 1], [*scales[:10], scales[10 + q]]
        )
        np.testing.assert_allclose(found[q], alone[0])
    together = propagation.transductive_scores(support, unlabeled, queries, scales)
    assert np.abs(together - found).max() > 1e-3


@pytest.mark.parametrize(
    "scores", [propagation.inductive_scores, propagation.transductive_scores]
)
def test_permutations(scores):
    support, unlabeled, queries, _ = _episode(2)
    found = scores(support, unlabeled, queries, 1.5, neighbors=4)
    order = [2, 0, 1]
    moved = scores(support[order][:, ::-1], unlabeled[::-1], queries, 1.5, neighbors=4)
    np.testing.assert_allclose(moved, found[:, order], atol=1e-10)
    moved = scores(support, unlabeled, queries[order], 1.5, neighbors=4)
    np.testing.assert_allclose(moved, found[order], atol=1e-10)


def test_episode_loss_leaves_unlabelled_nodes_out():
    support, unlabeled, queries, scales = _episode(3)
    found = propagation.episode_loss(support, unlabeled, queries, [2, 0, 1], scales)
    nodes, known = propagation.episode_nodes(support, unlabeled, queries)
    assert known == [0, 0, 1, 1, 2, 2] + [-1] * 7
    scores = propagation.graph_scores(nodes, known, 3, scales)
    rows = [*range(6), 10, 11, 12]
    expected = propagation.loss(scores[rows], [0, 0, 1, 1, 2, 2, 2, 0, 1])
    assert found == pytest.approx(expected)


def test_pool_with_smaller_windows_at_the_end():
    features = np.arange(25.0).reshape(1, 5, 5, 1)
    found = propagation.max_pool_same(features)
    expected = [[6, 8, 9], [16, 18, 19], [21, 23, 24]]
    np.testing.assert_array_equal(found[0, :, :, 0], expected)
    found = propagation.max_pool_same(found)
    np.testing.assert_array_equal(found[0, :, :, 0], [[18, 19], [23, 24]])


def test_length_scale_of_constant_maps():
    # Kernels and biases of 1, batch norm of none. First block: 9 + 1 within, 6 + 1 at
    # a side, 4 + 1 in a corner; pooled [[10, 10, 7], [10, 10, 7], [7, 7, 5]]. Second:
    # [[41, 55, 35], [55, 74, 47], [35, 47, 30]], pooled [[74, 47], [47, 30]], sum 198.
    plain = [np.ones(1), np.zeros(1), np.zeros(1), np.full(1, 1 - 1e-3)]
    block = [np.ones([3, 3, 1, 1]), np.ones(1), *plain]
    dense = [np.ones([4, 8]), np.zeros(8), np.full([8, 1], 0.5), np.ones(1)]
    found = propagation.length_scales(np.ones([2, 5, 5, 1]), [block] * 2, dense)
    np.testing.assert_allclose(found, 8 * 198 * 0.5 + 1)
    # The hidden layer is cut at 0, the last is not.
    dense = [-np.ones([4, 8]), np.zeros(8), np.ones([8, 1]), np.full(1, -3.0)]
    found = propagation.length_scales(np.ones([1, 5, 5, 1]), [block] * 2, dense)
    np.testing.assert_allclose(found, [-3])


def test_length_scale_parameters():
    assert propagation.length_scale_parameters() == 36_928 + 128 + 577 + 2 + 40 + 9
