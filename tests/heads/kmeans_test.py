"""The k-means heads against their oracle, and where gradients go."""

import functools
import math

import numpy as np
import pytest
import tensorflow as tf

from prwn_tf.heads import kmeans, prototypes
from prwn_tf.heads.adapted import AdaptedHead
from tests import modes
from tests.heads.answers import scores_of
from tests.oracle import kmeans as oracle
from tests.oracle import prototypes as prototype_oracle

HEADS = (kmeans.SoftKMeans, kmeans.ClusterKMeans, kmeans.MaskedKMeans)


def points(*shape, seed=0, scale=0.6) -> np.ndarray:
    generator = np.random.default_rng([seed, *shape])
    return (scale * generator.normal(size=shape)).astype(np.float32)


@pytest.fixture
def episode():
    """Support [3, 2, 4], queries [5, 4], unlabelled points [7, 4]."""
    return points(3, 2, 4), points(5, 4), points(7, 4)


def built(head_class, **options):
    head = head_class(**options)
    head.build((None, 4))
    return head


def masked(**options) -> kmeans.MaskedKMeans:
    """A masked head with weights large enough to matter."""
    head = built(kmeans.MaskedKMeans, **options)
    for index, variable in enumerate(head.trainable_variables):
        variable.assign(points(*variable.shape, seed=index, scale=0.4))
    return head


def layers(head: kmeans.MaskedKMeans) -> list[np.ndarray]:
    return [
        variable.numpy()
        for layer in (head.hidden, head.output_layer)
        for variable in (layer.kernel, layer.bias)
    ]


@pytest.mark.parametrize("mode", modes.MODES)
def test_soft_kmeans_matches_oracle(mode, episode):
    support, queries, unlabeled = episode
    found = modes.run(mode, scores_of, built(kmeans.SoftKMeans), *episode)
    moved = prototype_oracle.refine(support, unlabeled)
    expected = prototype_oracle.scores(moved, queries)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("mode", modes.MODES)
@pytest.mark.parametrize("radius", [0.5, 3.0, 100.0])
def test_cluster_matches_oracle(mode, radius, episode):
    head = built(kmeans.ClusterKMeans, radius=radius)
    found = modes.run(mode, functools.partial(scores_of, head), *episode)
    expected = oracle.cluster_scores(*episode, math.log(radius))
    assert found.shape == (5, 4)  # the last column rejects
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(
        head.prototypes(episode[0], episode[2]),
        oracle.cluster_centers(episode[0], episode[2], math.log(radius))[:3],
        rtol=1e-4,
        atol=1e-6,
    )


def test_distractors_go_to_their_cluster():
    classes = 20 * np.eye(3, 4, dtype=np.float32)
    near = classes + points(3, 4, scale=0.1)
    far = points(6, 4, scale=4.0)
    unlabeled = np.concatenate([near, far])
    head = built(kmeans.ClusterKMeans, radius=10.0)
    moved = head.prototypes(classes[:, None], unlabeled)
    np.testing.assert_allclose(moved, (classes + near) / 2, atol=1e-2)
    assert (
        scores_of(head, classes[:, None], far, unlabeled).numpy().argmax(1) == 3
    ).all()


@pytest.mark.parametrize("mode", modes.MODES)
@pytest.mark.parametrize("power", [1, 2])
def test_masked_matches_oracle(mode, power, episode):
    support, queries, unlabeled = episode
    head = masked(mask_power=power)
    found = modes.run(mode, head.prototypes, support, unlabeled)
    expected = oracle.masked_prototypes(support, unlabeled, layers(head), power)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
    scores = prototype_oracle.scores(expected, queries)
    np.testing.assert_allclose(scores_of(head, *episode), scores, rtol=1e-3, atol=1e-4)


def test_the_mask_counts_once(episode):
    support, _, unlabeled = episode
    once = built(kmeans.MaskedKMeans).prototypes(support, unlabeled)
    twice = built(kmeans.MaskedKMeans, mask_power=2).prototypes(support, unlabeled)
    head = built(kmeans.MaskedKMeans)
    mask = oracle.soft_mask(support, unlabeled, layers(head))
    share = prototypes.shares(prototypes.mean_prototypes(support), unlabeled)
    expected = prototypes.moved_prototypes(
        support, unlabeled, share * mask.astype(np.float32)
    )
    np.testing.assert_allclose(once, expected, rtol=1e-4, atol=1e-6)
    assert not np.allclose(once, twice, atol=1e-3)


def test_untrained_threshold_and_slope_are_about_one(episode):
    support, _, unlabeled = episode
    head = built(kmeans.MaskedKMeans)
    means = prototypes.mean_prototypes(support)
    relative = kmeans.relative_distances(means, unlabeled)
    expected = tf.sigmoid(1 - relative)
    np.testing.assert_allclose(head.mask(means, unlabeled), expected, atol=2e-3)


def test_statistics_match_oracle():
    relative = points(9, 3) ** 2
    found = kmeans.distance_statistics(relative)
    expected = oracle.mask_statistics(relative)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


def test_statistics_of_equal_distances_are_finite():
    found = kmeans.distance_statistics(tf.ones([4, 2]))
    np.testing.assert_array_equal(found, [[1, 1, 0, 0, -3]] * 2)
    relative = kmeans.relative_distances(tf.ones([2, 3]), tf.ones([4, 3]))
    np.testing.assert_array_equal(relative, np.zeros([4, 2]))


@pytest.mark.parametrize("head_class", HEADS)
def test_no_unlabelled_points_leave_the_prototypes(head_class, episode):
    support, queries, _ = episode
    head = built(head_class)
    means = prototypes.mean_prototypes(support)
    nothing = np.zeros([0, 4], np.float32)
    np.testing.assert_allclose(head.prototypes(support, nothing), means, rtol=1e-6)
    best = scores_of(head, support, queries, nothing).numpy().argmax(1)
    plain = prototypes.nearest_scores(means, queries).numpy().argmax(1)
    np.testing.assert_array_equal(best, plain)


def test_cluster_without_points_matches_oracle(episode):
    support, queries, _ = episode
    nothing = np.zeros([0, 4], np.float32)
    found = scores_of(built(kmeans.ClusterKMeans), support, queries, nothing)
    expected = oracle.cluster_scores(support, queries, nothing, math.log(100))
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("head_class", HEADS)
def test_many_episodes_at_once(head_class):
    support, queries, unlabeled = points(2, 3, 1, 4), points(2, 5, 4), points(2, 7, 4)
    head = built(head_class)
    found = scores_of(head, support, queries, unlabeled)
    for index in range(2):
        single = scores_of(head, support[index], queries[index], unlabeled[index])
        np.testing.assert_allclose(found[index], single, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("head_class", HEADS)
def test_order_of_points_does_not_matter(head_class, episode):
    support, queries, unlabeled = episode
    head = built(head_class)
    found = scores_of(head, support, queries, unlabeled[::-1].copy())
    np.testing.assert_allclose(found, scores_of(head, *episode), rtol=1e-4, atol=1e-5)


def gradient(head, support, unlabeled) -> np.ndarray:
    support = tf.constant(support)
    with tf.GradientTape() as tape:
        tape.watch(support)
        first = tf.reduce_sum(head.prototypes(support, unlabeled)[0])
    return tape.gradient(first, support).numpy()


def test_soft_kmeans_stops_at_the_assignments(episode):
    support, _, unlabeled = episode
    found = gradient(built(kmeans.SoftKMeans), support, unlabeled)
    # With fixed shares the first prototype depends on its own support alone, by
    # 1 / (shots + the unlabelled points' share).
    share = prototypes.shares(prototypes.mean_prototypes(support), unlabeled)
    expected = 1 / (2 + tf.reduce_sum(share, axis=0)[0])
    np.testing.assert_allclose(found[0], np.full([2, 4], expected), rtol=1e-5)
    np.testing.assert_array_equal(found[1:], 0)


@pytest.mark.parametrize("head_class", [kmeans.ClusterKMeans, kmeans.MaskedKMeans])
def test_the_others_do_not(head_class, episode):
    support, _, unlabeled = episode
    found = gradient(built(head_class, **small_radius(head_class)), support, unlabeled)
    assert np.abs(found[1:]).max() > 1e-3


def small_radius(head_class) -> dict[str, float]:
    return {"radius": 1.0} if head_class is kmeans.ClusterKMeans else {}


def test_the_mask_learns_through_distances_but_not_through_statistics(episode):
    support, _, unlabeled = episode
    head, means = masked(), prototypes.mean_prototypes(support)
    relative = kmeans.relative_distances(means, unlabeled)
    with tf.GradientTape() as tape:
        tape.watch(relative)
        numbers = tf.stop_gradient(kmeans.distance_statistics(relative))
        outputs = tf.exp(head.output_layer(head.hidden(numbers)))
        mask = tf.sigmoid(outputs[:, 1] * (outputs[:, 0] - relative))
    expected = tape.gradient(mask, relative)
    moved = tf.Variable(unlabeled)
    with tf.GradientTape(persistent=True) as tape:
        distances = kmeans.relative_distances(means, moved)
        total = tf.reduce_sum(tf.stop_gradient(expected) * distances)
        found = tf.reduce_sum(head.mask(means, moved))
    np.testing.assert_allclose(
        tape.gradient(found, moved), tape.gradient(total, moved), rtol=1e-3, atol=1e-5
    )


@pytest.mark.parametrize(
    ("head_class", "count"), [(kmeans.ClusterKMeans, 1), (kmeans.MaskedKMeans, 4)]
)
def test_variables_learn(head_class, count, episode):
    head = built(head_class, **small_radius(head_class))
    labels = [0, 1, 2, 0, 1]
    with tf.GradientTape() as tape:
        scores = scores_of(head, *episode)
        loss = tf.nn.sparse_softmax_cross_entropy_with_logits(labels, scores)
    gradients = tape.gradient(loss, head.trainable_variables)
    assert len(gradients) == count
    assert all(np.abs(each).max() > 0 for each in map(tf.convert_to_tensor, gradients))


def test_weights_follow_the_seed():
    kernels = [
        built(kmeans.MaskedKMeans, seed=seed).hidden.kernel.numpy()
        for seed in (0, 0, 1)
    ]
    np.testing.assert_array_equal(kernels[0], kernels[1])
    assert not np.array_equal(kernels[0], kernels[2])
    assert 0 < np.abs(kernels[0]).max() < 0.021  # two deviations of 0.01


def test_soft_kmeans_scores_as_refinement_does(episode):
    refined = scores_of(AdaptedHead("refine"), *episode)
    np.testing.assert_array_equal(
        scores_of(built(kmeans.SoftKMeans), *episode), refined
    )
