"""Tests of the oracle itself, against numbers worked out by hand.

Positions are multiples of sqrt(log 2) or sqrt(log 3), so that exp(-d2) is a simple
fraction and every softmax can be written down.
"""

import math

import numpy as np
import pytest

from tests.oracle import encoder, prototypes, report, walk

ROOT2 = math.sqrt(math.log(2.0))
ROOT3 = math.sqrt(math.log(3.0))

# Prototypes 0, a and points 0, a with exp(-a^2) = 1/3.
MIRROR = np.array([[0.0], [ROOT3]])

# Prototypes 0, a and points 0, 2a with exp(-a^2) = 1/2: exp(-d2) is
#   point 0: 1, 1/2    point 1: 1/16, 1/2.
SKEW_PROTOTYPES = np.array([[0.0], [ROOT2]])
SKEW_POINTS = np.array([[0.0], [2.0 * ROOT2]])


def _random_graph(seed, classes=3, points=5, size=4):
    generator = np.random.default_rng(seed)
    return generator.normal(size=(classes, size)), generator.normal(size=(points, size))


def test_transitions_without_smoothing():
    leave, wander, arrive = walk.transitions(SKEW_PROTOTYPES, SKEW_POINTS, 0.0)
    np.testing.assert_allclose(leave, [[16 / 17, 1 / 17], [1 / 2, 1 / 2]])
    np.testing.assert_allclose(wander, [[0, 1], [1, 0]])
    np.testing.assert_allclose(arrive, [[2 / 3, 1 / 3], [1 / 9, 8 / 9]])


def test_smoothing_mixes_with_the_uniform_over_points_or_prototypes():
    points = np.array([[0.0], [2.0 * ROOT2], [2.0 * ROOT2]])
    leave, _, arrive = walk.transitions(SKEW_PROTOTYPES, points, 0.1)
    np.testing.assert_allclose(
        leave[0], [0.8 + 0.1 / 3, 0.05 + 0.1 / 3, 0.05 + 0.1 / 3]
    )
    np.testing.assert_allclose(leave[1], [1 / 3, 1 / 3, 1 / 3])
    np.testing.assert_allclose(arrive[0], [0.65, 0.35])
    np.testing.assert_allclose(arrive[1], [0.15, 0.85])


def test_wander_of_three_points_on_a_line():
    wander = walk.wander_probability(np.array([[0.0], [ROOT2], [3.0 * ROOT2]]))
    expected = [[0, 256 / 257, 1 / 257], [8 / 9, 0, 1 / 9], [1 / 33, 32 / 33, 0]]
    np.testing.assert_allclose(wander, expected)


def test_landing_matrix_by_hand():
    np.testing.assert_allclose(
        walk.landing_matrix(SKEW_PROTOTYPES, SKEW_POINTS, 0, 0.0),
        [[97 / 153, 56 / 153], [7 / 18, 11 / 18]],
    )
    np.testing.assert_allclose(
        walk.landing_matrix(SKEW_PROTOTYPES, SKEW_POINTS, 1, 0.0),
        [[22 / 153, 131 / 153], [7 / 18, 11 / 18]],
    )


@pytest.mark.parametrize("steps", [0, 1, 2])
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_enumeration_equals_products(steps, smoothing):
    protos, points = _random_graph(seed=steps)
    enumerated = walk.landing_matrix_by_enumeration(protos, points, steps, smoothing)
    multiplied = walk.landing_matrix(protos, points, steps, smoothing)
    np.testing.assert_allclose(enumerated, multiplied, rtol=1e-12)
    np.testing.assert_allclose(multiplied.sum(axis=1), 1.0)


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.5])
def test_log_space_losses_equal_plain_probabilities(smoothing):
    protos, points = _random_graph(seed=7)
    walker, visit, landing = walk.walk_losses(protos, points, 3, 0.7, smoothing)
    expected_walker = 0.0
    for t in range(4):
        diagonal = np.diag(walk.landing_matrix(protos, points, t, smoothing))
        expected_walker -= 0.7**t * np.mean(np.log(diagonal))
        assert landing[t] == pytest.approx(np.mean(diagonal))
    visits = walk.visit_probability(protos, points, smoothing)
    assert walker == pytest.approx(expected_walker)
    assert visit == pytest.approx(-np.mean(np.log(visits)))
    assert visits.sum() == pytest.approx(1.0)


def test_losses_of_the_mirror_graph():
    # Leaving and arriving are (3/4, 1/4); every hop swaps the two points, so the
    # return probability alternates 10/16, 6/16.
    walker, visit, landing = walk.walk_losses(MIRROR, MIRROR, 3, 0.7, 0.0)
    np.testing.assert_allclose(landing, [0.625, 0.375, 0.625, 0.375])
    # 1.49 * 0.4700036 + 1.043 * 0.9808293
    assert walker == pytest.approx(1.7233103, abs=1e-6)
    assert visit == pytest.approx(math.log(2.0))


def test_losses_of_the_mirror_graph_with_default_smoothing():
    # 0.725^2 + 0.275^2 = 0.60125 and 2 * 0.725 * 0.275 = 0.39875.
    walker, visit, landing = walk.walk_losses(MIRROR, MIRROR)
    np.testing.assert_allclose(landing, [0.60125, 0.39875, 0.60125, 0.39875])
    # 1.49 * 0.5087444 + 1.043 * 0.9194207
    assert walker == pytest.approx(1.7169849, abs=1e-6)
    assert visit == pytest.approx(math.log(2.0))


def test_losses_of_the_skew_graph():
    walker, visit, landing = walk.walk_losses(SKEW_PROTOTYPES, SKEW_POINTS, 1, 0.5, 0.0)
    np.testing.assert_allclose(
        landing, [(97 / 153 + 11 / 18) / 2, (22 / 153 + 11 / 18) / 2]
    )
    expected = -0.5 * (math.log(97 / 153) + math.log(11 / 18))
    expected -= 0.25 * (math.log(22 / 153) + math.log(11 / 18))
    assert walker == pytest.approx(expected)
    assert visit == pytest.approx(-0.5 * (math.log(49 / 68) + math.log(19 / 68)))


def test_large_distances_stay_finite_without_smoothing():
    # d2 = 1e4: returning after one hop takes one unlikely edge, out or back.
    far = np.array([[0.0], [100.0]])
    walker, visit, landing = walk.walk_losses(far, far, 1, 1.0, 0.0)
    assert walker == pytest.approx(1e4 - math.log(2.0), rel=1e-12)
    assert visit == pytest.approx(math.log(2.0))
    np.testing.assert_allclose(landing, [1.0, 0.0])
    # One prototype, one point on it and one far away: P = (1, exp(-1e4)).
    _, visit, _ = walk.walk_losses(far[:1], far, 0, 1.0, 0.0)
    assert visit == pytest.approx(5e3, rel=1e-12)


def test_coincident_points_visit_alike():
    same = np.zeros((4, 2))
    walker, visit, landing = walk.walk_losses(np.zeros((5, 2)), same, 2, 1.0, 0.0)
    np.testing.assert_allclose(landing, [0.2, 0.2, 0.2])
    assert walker == pytest.approx(3.0 * math.log(5.0))
    assert visit == pytest.approx(math.log(4.0))


def test_one_point_cannot_wander():
    one = np.zeros((1, 2))
    with pytest.raises(ValueError, match="2 or more points, got 1"):
        walk.transitions(np.zeros((2, 2)), one)
    with pytest.raises(ValueError, match="2 or more points, got 1"):
        walk.walk_losses(np.zeros((2, 2)), one, steps=1)
    _, visit, landing = walk.walk_losses(np.zeros((2, 2)), one, steps=0)
    assert visit == pytest.approx(0.0)
    np.testing.assert_allclose(landing, [0.5])


def test_visit_probability_and_success_score():
    np.testing.assert_allclose(
        walk.visit_probability(SKEW_PROTOTYPES, SKEW_POINTS, 0.0), [49 / 68, 19 / 68]
    )
    np.testing.assert_allclose(
        walk.success_score(SKEW_PROTOTYPES, SKEW_POINTS, 0.0), [27 / 34, 23 / 51]
    )
    np.testing.assert_allclose(walk.visit_probability(MIRROR, MIRROR), [0.5, 0.5])
    # 0.725^2 + 0.275^2
    np.testing.assert_allclose(walk.success_score(MIRROR, MIRROR), [0.60125, 0.60125])


@pytest.mark.parametrize(
    ("scores", "kept"),
    [
        ([4.0, 1.0, 3.0, 2.0], [1, 0, 1, 0]),
        ([3.0, 1.0, 2.0], [1, 0, 1]),
        ([1.0, 1.0, 1.0, 5.0], [1, 1, 1, 1]),
        ([1.0, 3.0, 3.0, 3.0], [0, 1, 1, 1]),
    ],
)
def test_keep_above_median(scores, kept):
    np.testing.assert_array_equal(walk.keep_above_median(np.array(scores)), kept)


def test_scores_and_classification_loss():
    support = np.array([[[0.0, 0.0], [2.0, 0.0]], [[1.0, 3.0], [1.0, 5.0]]])
    protos = prototypes.prototypes(support)
    np.testing.assert_allclose(protos, [[1.0, 0.0], [1.0, 4.0]])
    queries = np.array([[1.0, 1.0], [0.0, 2.0]])
    scores = prototypes.scores(protos, queries)
    np.testing.assert_allclose(scores, [[-1.0, -9.0], [-5.0, -5.0]])
    # (log(1 + e^8) + log 2) / 2
    loss = prototypes.classification_loss(scores, np.array([1, 0]))
    assert loss == pytest.approx((8.000335406 + 0.693147181) / 2)
    far = prototypes.classification_loss(np.array([[0.0, -1e4]]), np.array([1]))
    assert far == pytest.approx(1e4)


def test_refine_takes_one_soft_step():
    support = MIRROR[:, np.newaxis, :]  # [N, 1, D]
    refined = prototypes.refine(support, MIRROR)
    np.testing.assert_allclose(refined, [[ROOT3 / 8], [7 * ROOT3 / 8]])
    filtered = prototypes.refine(support, MIRROR, np.array([1.0, 0.0]))
    np.testing.assert_allclose(filtered, [[0.0], [0.8 * ROOT3]])
    untouched = prototypes.refine(support, MIRROR, np.zeros(2))
    np.testing.assert_allclose(untouched, MIRROR)


def test_refine_counts_every_shot():
    # Means 0 and a; the point at 0 joins with weights 3/4 and 1/4 to two shots each.
    support = np.array([[[-1.0], [1.0]], [[ROOT3 - 1.0], [ROOT3 + 1.0]]])
    refined = prototypes.refine(support, np.array([[0.0]]))
    np.testing.assert_allclose(refined, [[0.0], [2 * ROOT3 / 2.25]], atol=1e-15)


def test_convolve_pads_with_zeros_and_does_not_flip():
    ones = encoder.convolve(np.ones((1, 3, 3, 1)), np.ones((3, 3, 1, 1)))
    np.testing.assert_allclose(ones[0, :, :, 0], [[4, 6, 4], [6, 9, 6], [4, 6, 4]])
    image = np.arange(1.0, 5.0).reshape(1, 2, 2, 1)
    kernel = np.zeros((3, 3, 1, 1))
    kernel[0, 1] = 1.0  # the tap above: every pixel takes the value of the row above
    moved = encoder.convolve(image, kernel)
    np.testing.assert_allclose(moved[0, :, :, 0], [[0, 0], [1, 2]])


def test_batch_statistics_are_biased():
    mean, variance = encoder.batch_statistics(
        np.array([0.0, 0.0, 0.0, 4.0]).reshape(2, 1, 2, 1)
    )
    np.testing.assert_allclose(mean, [1.0])
    np.testing.assert_allclose(variance, [3.0])


def test_max_pool_drops_the_odd_row_and_column():
    image = np.array([[1.0, 2.0, 9.0], [3.0, 0.0, 9.0], [9.0, 9.0, 9.0]])
    pooled = encoder.max_pool(image.reshape(1, 3, 3, 1))
    np.testing.assert_allclose(pooled.ravel(), [3.0])


def _centre_tap_kernels(channels):
    kernel = np.zeros((3, 3, channels, channels))
    kernel[1, 1] = np.eye(channels)
    return [kernel] * 4


def test_conv4_with_moving_statistics_flattens_rows_then_columns_then_channels():
    # The centre tap and (x - 0) / sqrt(1) pass the image on, so that only the pooling
    # acts: each output is the maximum of one 16 x 16 quarter of one channel.
    image = np.zeros((1, 33, 33, 2))
    for value, (row, column) in enumerate(
        [(3, 5), (0, 31), (16, 0), (20, 20)], start=1
    ):
        image[0, row, column] = [value, value + 0.5]
    image[0, 32, :] = 99.0  # beyond the last whole quarter
    features = encoder.conv4_forward(
        image,
        _centre_tap_kernels(2),
        scales=[np.ones(2)] * 4,
        offsets=[np.zeros(2)] * 4,
        means=[np.zeros(2)] * 4,
        variances=[np.full(2, 0.75)] * 4,
        epsilon=0.25,
    )
    np.testing.assert_allclose(features, [[1, 1.5, 2, 2.5, 3, 3.5, 4, 4.5]])


def test_conv4_with_batch_statistics():
    # Two flat images, 0 and 1: mean 1/2, biased variance 1/4, so with epsilon 0 they
    # become -1 and 1, after scale 2, offset 3 and ReLU 1 and 5; the next block again
    # sends them to -1 and 1 and so on.
    images = np.zeros((2, 16, 16, 1))
    images[1] = 1.0
    features = encoder.conv4_forward(
        images,
        _centre_tap_kernels(1),
        scales=[np.array([2.0])] * 4,
        offsets=[np.array([3.0])] * 4,
        epsilon=0.0,
    )
    np.testing.assert_allclose(features, [[1.0], [5.0]])


@pytest.mark.parametrize(("side", "size"), [(28, 64), (84, 1600)])
def test_conv4_embedding_size(side, size):
    generator = np.random.default_rng(0)
    kernels = [generator.normal(size=(3, 3, c, 64)) for c in (1, 64, 64, 64)]
    features = encoder.conv4_forward(
        generator.uniform(size=(2, side, side, 1)),
        kernels,
        scales=[np.ones(64)] * 4,
        offsets=[np.zeros(64)] * 4,
    )
    assert features.shape == (2, size)


def test_accuracy_and_interval():
    accuracy, half_width = report.accuracy_and_interval(np.array([3, 5]), 5)
    assert accuracy == pytest.approx(0.8)
    # 1.96 * 0.2 / sqrt(2), population deviation
    assert half_width == pytest.approx(0.277186, abs=1e-6)
