import numpy as np
import pytest
import tensorflow as tf

from prwn_tf.encoders.conv4 import Conv4
from prwn_tf.walk import losses
from tests import modes
from tests.oracle import walk as oracle


def points(*shape, seed=0, scale=1.0):
    return scale * np.random.default_rng(seed).normal(size=shape)


@pytest.mark.parametrize("mode", modes.MODES)
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("steps", [0, 1, 3])
def test_matches_oracle(mode, smoothing, steps):
    prototypes, unlabeled = points(3, 4), points(9, 4, seed=1)
    found = modes.run(
        mode,
        lambda p, u: losses.walk_losses(p, u, steps, 0.7, smoothing),
        prototypes,
        unlabeled,
    )
    expected = oracle.walk_losses(prototypes, unlabeled, steps, 0.7, smoothing)
    for ours, theirs in zip(found[:3], expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9)


def test_landing_matches_the_sum_over_all_paths():
    prototypes, unlabeled = points(3, 2), points(5, 2, seed=1)
    found = losses.walk_losses(prototypes, unlabeled, steps=2).landing
    for steps in range(3):
        paths = oracle.landing_matrix_by_enumeration(prototypes, unlabeled, steps, 0.1)
        np.testing.assert_allclose(found[steps], np.mean(np.diag(paths)), rtol=1e-12)


def test_order_of_points_changes_nothing():
    prototypes, unlabeled = points(3, 4), points(9, 4, seed=1)
    order = np.random.default_rng(2).permutation(9)
    for ours, theirs in zip(
        losses.walk_losses(prototypes, unlabeled),
        losses.walk_losses(prototypes, unlabeled[order]),
        strict=True,
    ):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12)


def test_far_clusters_bring_the_walker_home():
    centers = 100 * np.eye(3)
    unlabeled = np.repeat(centers, 6, axis=0) + points(18, 3)
    found = losses.walk_losses(centers, unlabeled, smoothing=0.0)
    np.testing.assert_allclose(found.landing, 1, atol=1e-6)
    assert float(found.walker) == pytest.approx(0, abs=1e-6)


def test_visit_loss_of_an_even_walk_is_log_of_points():
    found = losses.walk_losses(points(3, 4), np.ones((8, 4)))
    assert float(found.visit) == pytest.approx(np.log(8))
    assert float(found.visit_entropy) == pytest.approx(np.log(8))


def test_many_episodes_at_once():
    prototypes, unlabeled = points(2, 3, 4), points(2, 9, 4, seed=1)
    for smoothing in (0.0, 0.1):
        together = losses.walk_losses(prototypes, unlabeled, smoothing=smoothing)
        for episode in range(2):
            alone = losses.walk_losses(
                prototypes[episode], unlabeled[episode], smoothing=smoothing
            )
            for ours, theirs in zip(together, alone, strict=True):
                np.testing.assert_allclose(ours[episode], theirs, rtol=1e-12)


@pytest.mark.parametrize("number", [0, 1])
def test_too_few_points_for_inner_steps(number):
    with pytest.raises(ValueError, match=f"at least 2 unlabelled points, got {number}"):
        losses.walk_losses(tf.zeros([3, 4]), tf.zeros([number, 4]), steps=1)


def test_one_point_is_enough_without_inner_steps():
    found = losses.walk_losses(points(3, 4), points(1, 4, seed=1), steps=0)
    assert np.isfinite(found.walker)
    with pytest.raises(ValueError, match="at least 1"):
        losses.walk_losses(tf.zeros([3, 4]), tf.zeros([0, 4]), steps=0)


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize(
    ("name", "prototypes", "unlabeled"),
    [
        ("identical points", np.ones((3, 4)), np.ones((6, 4))),
        ("two points", points(3, 4), points(2, 4)),
        ("one prototype", points(1, 4), points(6, 4)),
        ("distances of 1e4", points(3, 64, scale=10), points(9, 64, seed=1, scale=10)),
    ],
)
def test_degenerate_graphs_are_finite(smoothing, name, prototypes, unlabeled):
    _assert_finite(
        prototypes.astype(np.float32), unlabeled.astype(np.float32), smoothing
    )


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_finite_from_the_first_step_at_84_pixels(smoothing):
    encoder = Conv4()
    images = tf.random.stateless_uniform([30, 84, 84, 3], seed=[0, 1])
    embeddings = encoder(images, training=True)  # [30, 1600]
    _assert_finite(embeddings[:5], embeddings[5:], smoothing)


def _assert_finite(prototypes, unlabeled, smoothing):
    prototypes, unlabeled = tf.constant(prototypes), tf.constant(unlabeled)
    with tf.GradientTape() as tape:
        tape.watch([prototypes, unlabeled])
        found = losses.walk_losses(prototypes, unlabeled, smoothing=smoothing)
        total = found.walker + found.visit
    assert np.isfinite(total)
    for gradient in tape.gradient(total, [prototypes, unlabeled]):
        assert np.all(np.isfinite(gradient))


def test_gradient_matches_finite_differences():
    prototypes, unlabeled = points(2, 3), points(5, 3, seed=1)
    for smoothing in (0.0, 0.1):

        def total(p, u, smoothing=smoothing):
            found = losses.walk_losses(p, u, smoothing=smoothing)
            return found.walker + found.visit

        theory, numeric = tf.test.compute_gradient(
            total, [prototypes, unlabeled], delta=1e-5
        )
        for ours, theirs in zip(theory, numeric, strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-8)
