"""The oracle of FEAT, by hand."""

import math

import numpy as np
import pytest

from tests.oracle import feat, walk


def _uniform(size=2, value=1.0):
    """Attention that looks at all alike; the layer norm changes nothing further."""
    zero, eye = np.zeros([size, size]), np.eye(size)
    return [zero, zero, value * eye, eye, np.zeros(size), np.ones(size), np.zeros(size)]


def _random(seed, size=4):
    generator = np.random.default_rng(seed)
    square = [generator.normal(size=[size, size]) for _ in range(4)]
    return square + [generator.normal(size=size) for _ in range(3)]


def test_layer_norm():
    found = feat.layer_norm(np.array([5.0, 3.0]), [2.0, 1.0], [0.0, 7.0], epsilon=0)
    np.testing.assert_allclose(found, [2, 6])
    found = feat.layer_norm(np.array([5.0, 3.0]), [1.0, 1.0], [0.0, 0.0], epsilon=3.0)
    np.testing.assert_allclose(found, [0.5, -0.5])


def test_uniform_attention_adds_the_mean():
    # (3, 0) + (2, 1) = (5, 1) and (1, 2) + (2, 1) = (3, 3), then the norm.
    points = np.array([[3.0, 0.0], [1.0, 2.0]])
    found = feat.adapt(points, _uniform())
    np.testing.assert_allclose(found, [[1, -1], [0, 0]], atol=1e-5)
    # With (2, 7) beside them the mean is (2, 3): (5, 3) and (3, 5).
    found = feat.adapt(points, _uniform(), context=np.array([[2.0, 7.0]]))
    np.testing.assert_allclose(found, [[1, -1], [-1, 1]], atol=1e-4)


def test_attention_by_products():
    # (a, 0, 0, 0) with a^2 / sqrt(4) = log 3 looks at itself with 3/4, 0 with 1/2;
    # values stand in the second entry, doubled by the output, and 1 is the bias.
    a = math.sqrt(2 * math.log(3.0))
    move = np.zeros([4, 4])
    move[0, 1] = 1.0
    weights = [np.eye(4), np.eye(4), move, 2 * np.eye(4), np.ones(4), np.ones(4)]
    weights.append(np.zeros(4))
    points = np.array([[a, 0, 0, 0], [0, 0, 0, 0]])
    found = feat.adapt(points, weights)
    ones, zeros = np.ones(4), np.zeros(4)
    first = feat.layer_norm(np.array([a + 1, 1.5 * a + 1, 1, 1]), ones, zeros)
    second = feat.layer_norm(np.array([1, a + 1, 1, 1]), ones, zeros)
    np.testing.assert_allclose(found, [first, second])


def test_temperature_and_cosine():
    centers, points = np.array([[3.0, 4.0], [0.0, 2.0]]), np.array([[3.0, 0.0]])
    np.testing.assert_allclose(feat.logits(centers, points, 4.0), [[-4, -13 / 4]])
    found = feat.logits(centers, points, 0.5, cosine=True)
    np.testing.assert_allclose(found, [[9 / 5 / 0.5, 0]])


def test_queries_are_not_adapted():
    support = np.array([[[3.0, 1.0]], [[1.0, 3.0]]])
    found = feat.query_logits(
        support, np.array([[1.0, -1.0]]), _uniform(), temperature=8.0, epsilon=0
    )
    np.testing.assert_allclose(found, [[0, -1]], atol=1e-9)


def test_contrast_of_two_classes():
    # All of class 0 adapt to (1, -1); each instance is 8 nearer to its own centre.
    support = np.array([[[3.0, 1.0]], [[1.0, 3.0]]])
    queries = np.array([[0.0, 2.0], [2.0, 0.0]])
    found = feat.contrastive_loss(
        support, queries, [1, 0], _uniform(value=0.0), temperature=8.0, epsilon=0
    )
    assert found == pytest.approx(math.log1p(math.exp(-1)))
    total = feat.loss(
        support, queries, [1, 0], _uniform(value=0.0), 4.0, 8.0, balance=0.1, epsilon=0
    )
    expected = math.log1p(math.exp(-2)) + 0.1 * math.log1p(math.exp(-1))
    assert total == pytest.approx(expected)


def test_contrast_with_equal_centres_is_log_n():
    generator = np.random.default_rng(0)
    weights = [*_random(1)[:5], np.zeros(4), np.ones(4)]
    support, queries = generator.normal(size=[3, 2, 4]), generator.normal(size=[3, 4])
    found = feat.contrastive_loss(support, queries, [0, 1, 2], weights)
    assert found == pytest.approx(math.log(3))


def test_walk_divides_distances():
    # Adapted prototypes (1, -1), (-1, 1) and points at both: exp(-8 / T) = 1/3.
    support = np.array([[[3.0, 1.0]], [[1.0, 3.0]]])
    points = np.array([[1.0, -1.0], [-1.0, 1.0]])
    weights, temperature = _uniform(value=0.0), 8 / math.log(3.0)
    _, visit, landing = feat.walk_losses(
        support, points, weights, temperature, smoothing=0.0, epsilon=0
    )
    np.testing.assert_allclose(landing[:2], [10 / 16, 6 / 16])
    assert visit == pytest.approx(math.log(2))
    found = feat.walk_losses(support, points, weights, temperature=1.0)
    centers = feat.adapt(support[:, 0], weights)
    expected = walk.walk_losses(centers, points)
    assert found[0] == pytest.approx(expected[0])


def test_two_far_clusters():
    support = np.array([[[9.0, 0.0], [8.0, 0.0]], [[0.0, 9.0], [0.0, 8.0]]])
    queries = np.array([[0.0, 2.0], [2.0, 0.0], [1.0, 3.0]])
    found = feat.query_logits(support, queries, _uniform(value=0.1))
    np.testing.assert_array_equal(found.argmax(axis=1), [1, 0, 1])


@pytest.mark.parametrize("cosine", [False, True])
def test_permutations(cosine):
    generator = np.random.default_rng(2)
    support, queries = generator.normal(size=[3, 2, 4]), generator.normal(size=[4, 4])
    context, weights = generator.normal(size=[5, 4]), _random(3)
    order = [2, 0, 1]
    found = feat.query_logits(support, queries, weights, 2.0, context, cosine)
    moved = feat.query_logits(
        support[order][:, ::-1], queries[::-1], weights, 2.0, context[::-1], cosine
    )
    np.testing.assert_allclose(moved, found[::-1][:, order])
    labels = np.array([0, 1, 2, 1])
    loss = feat.loss(support, queries, labels, weights, cosine=cosine)
    names = np.array([1, 2, 0])  # class c stands at names[c] of support[order]
    other = feat.loss(support[order], queries, names[labels], weights, cosine=cosine)
    assert other == pytest.approx(loss)
