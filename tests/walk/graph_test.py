import numpy as np
import pytest
import tensorflow as tf

from prwn_tf.walk import graph
from tests import modes
from tests.oracle import prototypes as prototypes_oracle
from tests.oracle import walk as oracle


def points(*shape, seed=0, scale=1.0):
    return scale * np.random.default_rng(seed).normal(size=shape)


def test_squared_distance_matches_oracle():
    a, b = points(5, 3), points(7, 3, seed=1)
    np.testing.assert_allclose(
        graph.squared_distance(a, b),
        prototypes_oracle.squared_distances(a, b),
        rtol=1e-12,
    )


def test_squared_distance_of_points_far_from_the_origin():
    a, b = (points(6, 64, seed=seed).astype(np.float32) for seed in (0, 1))
    expected = prototypes_oracle.squared_distances(a, b)
    offset = np.float32(1024)
    found = graph.squared_distance(offset + a, offset + b)
    np.testing.assert_allclose(found, expected, rtol=1e-3)


def test_squared_distance_to_no_points():
    assert graph.squared_distance(points(3, 4), points(0, 4)).shape == (3, 0)
    assert graph.squared_distance(points(0, 4), points(3, 4)).shape == (0, 3)


def test_squared_distance_is_never_negative():
    a = np.float32(1000) + points(50, 64).astype(np.float32)
    assert np.min(graph.squared_distance(a, a)) >= 0


@pytest.mark.parametrize("mode", modes.MODES)
@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.5])
def test_transitions_match_oracle(mode, smoothing):
    prototypes, unlabeled = points(3, 4), points(9, 4, seed=1)
    found = modes.run(
        mode, lambda p, u: graph.transitions(p, u, smoothing), prototypes, unlabeled
    )
    expected = oracle.transitions(prototypes, unlabeled, smoothing)
    for name, ours, theirs in zip(found._fields, found, expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-15, err_msg=name)


@pytest.mark.parametrize("scale", [1e-3, 1.0, 30.0])
def test_rows_sum_to_one(scale):
    found = graph.transitions(
        points(4, 5, scale=scale).astype(np.float32),
        points(20, 5, seed=1, scale=scale).astype(np.float32),
    )
    for step in found:
        np.testing.assert_allclose(tf.reduce_sum(step, -1), 1, rtol=1e-5)


def test_walker_never_stays_where_it_is():
    # Points so far apart that the authors' penalty of 1000 would not be enough.
    unlabeled = points(6, 3, scale=100.0)
    masked = graph.transitions(points(2, 3), unlabeled).wander
    np.testing.assert_array_equal(tf.linalg.diag_part(masked), 0)
    authors = graph.transitions(points(2, 3), unlabeled, self_loop_penalty=1000).wander
    assert np.max(tf.linalg.diag_part(authors)) > 0.99


def test_leading_axes_are_episodes():
    prototypes, unlabeled = points(2, 3, 4), points(2, 9, 4, seed=1)
    together = graph.transitions(prototypes, unlabeled)
    for episode in range(2):
        alone = graph.transitions(prototypes[episode], unlabeled[episode])
        for ours, theirs in zip(together, alone, strict=True):
            np.testing.assert_allclose(ours[episode], theirs, rtol=1e-12)


def test_identical_points_are_visited_alike():
    found = graph.transitions(points(3, 4), np.ones((5, 4)))
    np.testing.assert_allclose(found.leave, 1 / 5)
    np.testing.assert_allclose(found.wander, (1 - np.eye(5)) / 4)
