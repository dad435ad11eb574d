"""The gate against its oracle, and the properties that it promises."""

import numpy as np
import pytest
import tensorflow as tf

from prwn_tf.heads import classes as classes_lib
from prwn_tf.heads import gate as gate_lib
from prwn_tf.heads.adapted import AdaptedHead
from prwn_tf.heads.prototypes import PrototypeHead
from tests import modes
from tests.heads.answers import scores_of
from tests.oracle import gate as oracle

# Shots of each class.
SUPPORTS = {"one": (1, 1, 1), "three": (3, 3, 3), "unequal": (1, 4, 2)}


def made(shots=(1, 1, 1), unlabeled=7, seed=0, apart=3.0):
    """Points with labels, and unlabelled ones around the same centers."""
    generator = np.random.default_rng(seed)
    centers = apart * generator.normal(size=(len(shots), 4))
    labels = np.repeat(np.arange(len(shots)), shots)
    points = centers[labels] + generator.normal(size=(len(labels), 4))
    drawn = generator.integers(len(shots), size=unlabeled)
    return points, labels, centers[drawn] + generator.normal(size=(unlabeled, 4))


def gated(points, labels, unlabeled, mode="eager"):
    """Prototypes, offsets and weights as arrays."""

    def call(points, unlabeled):
        known = tf.one_hot(labels, labels.max() + 1, dtype=points.dtype)
        (prototypes, offsets, _), weights = gate_lib.gate(points, known, unlabeled)
        return prototypes, offsets, weights

    arguments = map(tf.constant, (points, unlabeled))
    return [tensor.numpy() for tensor in modes.run(mode, call, *arguments)]


@pytest.mark.parametrize("mode", modes.MODES)
@pytest.mark.parametrize("shots", SUPPORTS.values(), ids=SUPPORTS)
def test_matches_oracle(mode, shots):
    for apart in (0.3, 1.0, 3.0):
        episode = made(shots, apart=apart)
        for actual, expected in zip(
            gated(*episode, mode), oracle.gate(*episode), strict=True
        ):
            np.testing.assert_allclose(actual, expected, rtol=1e-9, atol=1e-12)


def test_the_head_answers_many_episodes_as_the_oracle_does_each():
    generator = np.random.default_rng(1)
    shapes = [(2, 3, 2, 4), (2, 5, 4), (2, 6, 4)]
    support, queries, unlabeled = (generator.normal(size=shape) for shape in shapes)
    together = scores_of(AdaptedHead("gate"), support, queries, unlabeled)
    for episode in range(2):
        points = support[episode].reshape(6, 4)
        labels = np.repeat(np.arange(3), 2)
        prototypes, offsets, _ = oracle.gate(points, labels, unlabeled[episode])
        expected = oracle.scores(prototypes, offsets, queries[episode])
        np.testing.assert_allclose(together[episode], expected, rtol=1e-9)


def test_the_length_of_embeddings_does_not_matter():
    points, labels, unlabeled = made((2, 2, 2))
    prototypes, offsets, weights = gated(points, labels, unlabeled)
    larger = gated(37 * points, labels, 37 * unlabeled)
    np.testing.assert_allclose(larger[0], 37 * prototypes, rtol=1e-12)
    np.testing.assert_allclose(larger[1], 37**2 * offsets, rtol=1e-12)
    np.testing.assert_allclose(larger[2], weights, rtol=1e-9)


def test_the_order_of_classes_and_of_points_does_not_matter():
    points, labels, unlabeled = made((2, 2, 2))
    prototypes, offsets, weights = gated(points, labels, unlabeled)
    classes, order = np.array([2, 0, 1]), np.array([3, 6, 0, 1, 5, 2, 4])
    rows = np.concatenate([np.flatnonzero(labels == label) for label in classes])
    moved = gated(points[rows], labels, unlabeled[order])
    np.testing.assert_allclose(moved[0], prototypes[classes], rtol=1e-12)
    np.testing.assert_allclose(moved[1], offsets[classes], rtol=1e-12)
    np.testing.assert_allclose(moved[2], weights[order][:, classes], rtol=1e-9)


def test_without_unlabelled_points_it_is_none():
    generator = np.random.default_rng(2)
    support, queries = generator.normal(size=(3, 2, 4)), generator.normal(size=(5, 4))
    nobody = np.zeros((0, 4))
    actual = tf.nn.softmax(scores_of(AdaptedHead("gate"), support, queries, nobody))
    expected = tf.nn.softmax(scores_of(PrototypeHead(), support, queries, nobody))
    np.testing.assert_allclose(actual, expected, rtol=1e-12)


def test_one_class_has_no_stranger_and_takes_nothing_in():
    points, labels, unlabeled = made((3,))
    prototypes, _, weights = gated(points, labels, unlabeled)
    np.testing.assert_allclose(prototypes[0], points.mean(axis=0))
    assert not weights.any()


@pytest.mark.parametrize("shots", SUPPORTS.values(), ids=SUPPORTS)
def test_identical_points_stay_where_they_are(shots):
    points, labels, unlabeled = made(shots)
    same = np.full_like(points, 1.5), labels, np.full_like(unlabeled, 1.5)
    prototypes, offsets, weights = gated(*same)
    np.testing.assert_array_equal(prototypes, np.full_like(prototypes, 1.5))
    assert not offsets.any()
    assert not weights.any()


def test_one_unlabelled_point():
    points, labels, unlabeled = made(unlabeled=1)
    prototypes, _, weights = gated(points, labels, points[:1] + 0.01)
    assert weights[0, 0] > 0.9
    np.testing.assert_allclose(prototypes[1:], points[1:], atol=1e-2)
    assert np.isfinite(gated(points, labels, unlabeled)[0]).all()


def test_strangers_belong_nowhere_however_far():
    points, labels, unlabeled = made(apart=5.0)
    friends = gated(points, labels, unlabeled)
    for distance in (10.0, 1e3, 1e6):
        far = np.full((4, 4), distance)
        prototypes, _, weights = gated(points, labels, np.concatenate([unlabeled, far]))
        assert weights[7:].max() < 0.01
        np.testing.assert_allclose(prototypes, friends[0], rtol=1e-3, atol=0.05)


def test_strangers_between_the_classes_belong_nowhere_too():
    points = np.array([[0.0, 0.0], [10.0, 0.0], [0.0, 10.0]])
    _, _, weights = gated(points, np.arange(3), np.array([[10.0, 10.0], [0.5, 0.5]]))
    assert weights[0].sum() < 0.05
    assert weights[1, 0] > 0.95


def test_half_the_digits_give_the_same_answer():
    for apart in (1.0, 100.0):
        points, labels, unlabeled = made((2, 2, 2), apart=apart)
        double = gated(points, labels, unlabeled)
        single = gated(points.astype("f4"), labels, unlabeled.astype("f4"))
        size = np.abs(points).max()
        np.testing.assert_allclose(single[0], double[0], rtol=1e-4, atol=1e-5 * size)
        np.testing.assert_allclose(single[2], double[2], atol=1e-3)


def test_a_stranger_is_as_far_as_the_nearest_other_class():
    points = tf.constant([[0.0], [3.0], [10.0]])
    found = classes_lib.stranger_distance(
        points, tf.eye(3), classes_lib.Classes(points, tf.constant([0.0, 1.0, 0.0]))
    )
    np.testing.assert_allclose(found, np.mean([9 - 1, 9, 49 - 1]))
