"""The oracles of the k-means family, association and VAT, by hand."""

import math

import numpy as np
import pytest

from tests.oracle import association, consistency, kmeans

ROOT3 = math.sqrt(math.log(3.0))
NO_LAYERS = [np.zeros([5, 20]), np.zeros(20), np.zeros([20, 2]), np.zeros(2)]


def test_cluster_logits_are_normal_densities():
    found = kmeans.cluster_logits(np.array([[3.0, 4.0]]), np.zeros([1, 2]), [5.0])
    density = math.exp(-0.5) / (5 * math.sqrt(2 * math.pi))
    assert found[0, 0] == pytest.approx(math.log(density))


def test_a_cluster_of_radius_one_shares_like_a_class():
    # One point at the only class, one at 0, where the distractors' cluster begins:
    # exp(-d2 / 2) = 1/3 across.
    place = math.sqrt(2) * ROOT3
    points = np.array([[place], [0.0]])
    found = kmeans.cluster_centers(points[None, :1], points, log_radius=0.0)
    # Shares of the class: 3/4 and 1/4, of the cluster: 1/4 and 3/4.
    np.testing.assert_allclose(found[:, 0], [place * 1.75 / 2, place * 0.25])


def test_statistics_of_two_values():
    found = kmeans.mask_statistics(np.array([[1.0], [3.0]]))
    np.testing.assert_allclose(found, [[1, 3, 1, 0, -2]])


def test_mask_without_weights_is_one_half_at_the_mean_distance():
    support, points = np.zeros([1, 1, 1]), np.array([[1.0], [-1.0]])
    np.testing.assert_allclose(kmeans.soft_mask(support, points, NO_LAYERS), 0.5)
    found = kmeans.masked_prototypes(support, np.array([[1.0], [1.0]]), NO_LAYERS)
    np.testing.assert_allclose(found, [[0.5]])  # (0 + 1/2 + 1/2) / (1 + 1)


def test_association_of_two_points():
    # Dot products 0 and log 3: each step is right with probability 3/4.
    points = ROOT3 * np.eye(2)
    walker, visit = association.association_losses(points[:, None], points)
    assert walker == pytest.approx(-math.log((9 + 1) / 16))
    assert visit == pytest.approx(math.log(2))


def test_divergence_and_entropy():
    sure, even = np.log([0.75, 0.25]), np.zeros(2)
    expected = 0.75 * math.log(1.5) + 0.25 * math.log(0.5)
    assert consistency.divergence(sure, even) == pytest.approx(expected)
    assert consistency.entropy(even[None]) == pytest.approx(math.log(2))


def test_perturbation_points_along_the_weights():
    weights = np.array([[3.0, -3.0], [4.0, -4.0]])
    found = consistency.perturbations(
        np.zeros([1, 2]), lambda images: images @ weights, np.ones([1, 2]), 5.0, 0.1
    )
    np.testing.assert_allclose(found, [[3.0, 4.0]], rtol=1e-4)
