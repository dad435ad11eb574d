"""The oracle of MetaGAN, by hand."""

import math

import numpy as np
import pytest

from tests.oracle import gan


def test_the_fake_class_has_the_logit_zero():
    # exp(l) = 2 and 1 beside the 1 of the fake class.
    found = gan.probabilities(np.array([[math.log(2), 0.0]]))
    np.testing.assert_allclose(found, [[0.5, 0.25, 0.25]])
    found = gan.probabilities(np.array([[math.log(2), 0.0]]), 2.0, math.log(3))
    np.testing.assert_allclose(found, [[12 / 16, 3 / 16, 1 / 16]])


def test_losses_of_two_points():
    scores = np.log([[2.0, 1.0], [0.5, 0.5]])  # real with 3/4, with 1/2
    assert gan.real_loss(scores) == pytest.approx(-math.log(3 / 8) / 2)
    assert gan.fake_loss(scores) == pytest.approx(-math.log(1 / 8) / 2)


def test_features_compare_means():
    real, fake = np.array([[0.0, 1.0], [2.0, 3.0]]), np.array([[4.0, 1.0]])
    assert gan.feature_loss(real, fake) == pytest.approx(3**2 + 1**2)


def test_half_of_the_points_start_as_real():
    scores = np.array([[-9.0], [-5.0], [-7.0], [-1.0]])
    assert gan.first_offset(scores) == pytest.approx(6.0)
