"""The oracle of ResNet-12 and DropBlock, by hand."""

import math

import numpy as np
import pytest

from tests.oracle import resnet

# A normalisation that changes nothing: mean 0, variance + epsilon = 1.
PLAIN = [np.ones(1), np.zeros(1), np.zeros(1), np.full(1, 1 - 1e-5)]
CENTER = np.zeros([3, 3, 1, 1])
CENTER[1, 1] = 1.0


def _block(image, shortcut=1.0, norm=PLAIN):
    images = np.asarray(image, np.float64)[None, :, :, None]
    kernel = np.full([1, 1], shortcut)
    found = resnet.residual_block(images, [CENTER] * 3, [norm] * 3, kernel, norm)
    return found[0, :, :, 0]


def _random_block(generator, incoming, width, moving=True):
    kernels = [generator.normal(size=[3, 3, incoming, width])]
    kernels += [generator.normal(size=[3, 3, width, width]) for _ in range(2)]
    norms = []
    for _ in range(4):
        norm = [generator.normal(size=width), generator.normal(size=width)]
        if moving:
            norm += [generator.normal(size=width), generator.uniform(1, 2, width)]
        norms.append(norm)
    return kernels, norms[:3], generator.normal(size=[incoming, width]), norms[3]


def test_block_of_identities():
    # Positive: 3 + 3 * 2; the odd last row and column are dropped.
    np.testing.assert_allclose(
        _block([[1, 2, 9], [3, 0, 9], [9, 9, 9]], shortcut=2.0), [[9.0]]
    )
    # Negative: -1 -> -0.1 -> -0.01, no activation behind the third; -1.01 * 0.1.
    np.testing.assert_allclose(_block(-np.ones([2, 2])), [[-0.101]])


def test_block_normalises_by_the_batch_in_training():
    # 0 and 4 become -1 and 1 at every norm, whatever the activation between, and -1
    # and 1 by the shortcut: -2 and 2, so -0.2 and 2.
    norm = [np.ones(1), np.zeros(1)]
    found = _block(np.array([[0.0, 4.0], [4.0, 0.0]]), norm=norm)
    np.testing.assert_allclose(found, [[2.0]], rtol=1e-4)
    images = np.array([0.0, 4.0])[:, None, None, None] * np.ones([1, 2, 2, 1])
    found = resnet.residual_block(images, [CENTER] * 3, [norm] * 3, np.eye(1), norm)
    np.testing.assert_allclose(found[:, 0, 0, 0], [-0.2, 2.0], rtol=1e-4)


def test_given_statistics_of_the_batch_change_nothing():
    generator = np.random.default_rng(0)
    features = generator.normal(size=[3, 2, 2, 4])
    scale, offset = generator.normal(size=[2, 4])
    mean, variance = features.mean(axis=(0, 1, 2)), features.var(axis=(0, 1, 2))
    np.testing.assert_allclose(
        resnet.batch_norm(features, scale, offset),
        resnet.batch_norm(features, scale, offset, mean, variance),
    )


@pytest.mark.parametrize("moving", [True, False])
def test_permuting_images_permutes_embeddings(moving):
    generator = np.random.default_rng(1)
    blocks = [_random_block(generator, 3, 2, moving)]
    blocks += [_random_block(generator, 2, 2, moving) for _ in range(3)]
    images = generator.normal(size=[3, 16, 16, 3])
    found = resnet.resnet12_forward(images, blocks)
    assert found.shape == (3, 2)
    again = resnet.resnet12_forward(images[[2, 0, 1]], blocks)
    np.testing.assert_allclose(again, found[[2, 0, 1]], rtol=1e-9)


def test_parameter_counts():
    assert resnet.parameter_count([1], channels=1) == 3 * 9 + 1 + 4 * 2
    assert resnet.parameter_count() == 12_424_320
    assert resnet.parameter_count([64, 128, 256, 512]) == 7_996_800


def test_drop_schedule():
    assert resnet.keep_probability(0) == 1.0
    assert resnet.keep_probability(20_000) == pytest.approx(0.95)
    assert resnet.keep_probability(40_000) == pytest.approx(0.9)
    assert resnet.keep_probability(10**6) == pytest.approx(0.9)


def test_drop_gamma():
    assert resnet.drop_gamma(0.9, size=5) == pytest.approx(0.1)  # whole maps
    assert resnet.drop_gamma(0.9, size=10) == pytest.approx(0.1 / 25 * 100 / 36)
    assert resnet.drop_gamma(1.0, size=10) == 0.0
    with pytest.raises(ValueError, match="no room"):
        resnet.drop_gamma(0.9, size=4)


def test_drop_mask_of_one_seed():
    seeds = np.zeros([1, 2, 2, 2])
    seeds[0, 0, 1, 0] = 1
    mask = resnet.drop_mask(seeds, block=2)
    np.testing.assert_array_equal(mask[0, :, :, 0], [[1, 0, 0], [1, 0, 0], [1, 1, 1]])
    np.testing.assert_array_equal(mask[0, :, :, 1], 1)
    found = resnet.drop_block(np.ones([1, 3, 3, 2]), seeds, block=2)
    np.testing.assert_allclose(found, mask * 18 / 14)
    assert found.sum() == pytest.approx(18)
    all_dropped = resnet.drop_block(np.ones([1, 2, 2, 1]), np.ones([1, 1, 1, 1]), 2)
    np.testing.assert_array_equal(all_dropped, 0)


def test_expected_drop():
    assert resnet.expected_drop(0.1, size=5) == pytest.approx(0.1)
    # Three places, two seeds of two: the middle has two chances.
    corner, side, middle = (1 - 0.8**n for n in (1, 2, 4))
    expected = (4 * corner + 4 * side + middle) / 9
    assert resnet.expected_drop(0.2, size=3, block=2) == pytest.approx(expected)
    generator = np.random.default_rng(2)
    gamma = resnet.drop_gamma(0.9, size=10)
    seeds = generator.random([40, 6, 6, 40]) < gamma
    share = 1 - resnet.drop_mask(seeds).mean()
    expected = resnet.expected_drop(gamma, size=10)
    assert math.isclose(share, expected, abs_tol=0.02)
