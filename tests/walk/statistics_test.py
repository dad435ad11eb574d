import numpy as np
import pytest

from prwn_tf.walk import graph, statistics
from tests import modes
from tests.oracle import walk as oracle


@pytest.fixture
def episode():
    generator = np.random.default_rng(0)
    return generator.normal(size=(3, 4)), generator.normal(size=(9, 4))


@pytest.mark.parametrize("mode", modes.MODES)
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_visits_match_oracle(mode, smoothing, episode):
    def function(prototypes, unlabeled):
        steps = graph.transitions(prototypes, unlabeled, smoothing)
        return statistics.visit_probability(steps.leave)

    found = modes.run(mode, function, *episode)
    expected = oracle.visit_probability(*episode, smoothing)
    np.testing.assert_allclose(found, expected, rtol=1e-9)


@pytest.mark.parametrize("mode", modes.MODES)
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_success_matches_oracle_but_for_what_all_have(mode, smoothing, episode):
    found = modes.run(
        mode, lambda p, u: statistics.log_success(p, u, smoothing), *episode
    )
    expected = oracle.success_score(*episode, smoothing)
    np.testing.assert_allclose(np.exp(found) + smoothing / 9, expected, rtol=1e-9)


@pytest.mark.parametrize("scale", [1, 10, 30])
def test_far_points_keep_their_order_in_float32(scale):
    generator = np.random.default_rng(0)
    prototypes, unlabeled = (generator.normal(size=(n, 64)) for n in (5, 100))
    near = unlabeled[:50] + 2 * np.repeat(prototypes, 10, axis=0)
    episode = [scale * part for part in (prototypes, np.concatenate([near, unlabeled]))]
    found = statistics.log_success(*(part.astype(np.float32) for part in episode))
    exact = statistics.log_success(*episode).numpy()  # float64
    assert len(np.unique(found)) > 140
    kept = statistics.keep_above_median(found)
    assert np.sum(kept) == 75
    np.testing.assert_array_equal(kept, oracle.keep_above_median(exact))


def test_visits_sum_to_one(episode):
    visits = statistics.visit_probability(graph.transitions(*episode).leave)
    assert np.sum(visits) == pytest.approx(1)


def test_distractors_score_below_clean_points():
    prototypes = 5 * np.eye(3)
    clean = np.repeat(prototypes, 4, axis=0)
    distractors = np.full((12, 3), 20.0)
    found = statistics.log_success(prototypes, np.concatenate([clean, distractors]))
    assert np.min(found[:12]) > np.max(found[12:])


@pytest.mark.parametrize("mode", modes.MODES)
@pytest.mark.parametrize(
    ("scores", "kept"),
    [
        ([4.0, 1.0, 3.0, 2.0], [1, 0, 1, 0]),  # exactly half of an even number
        ([5.0, 1.0, 3.0], [1, 0, 1]),  # the median itself is kept
        ([2.0, 2.0, 2.0, 2.0], [1, 1, 1, 1]),
        ([1.0, 2.0, 2.0, 2.0, 0.0], [0, 1, 1, 1, 0]),
        ([7.0], [1]),
        # Neighbouring floats, whose mean rounds to the lower one.
        ([1.0, 1.0 + 2.0**-52, 0.5, 2.0], [0, 1, 0, 1]),
    ],
)
def test_keep_above_median(mode, scores, kept):
    found = modes.run(mode, statistics.keep_above_median, np.array(scores))
    np.testing.assert_array_equal(found, kept)
    np.testing.assert_array_equal(found, oracle.keep_above_median(np.array(scores)))


def test_median_is_taken_in_each_episode():
    scores = np.array([[1.0, 2.0, 3.0, 4.0], [400.0, 300.0, 200.0, 100.0]])
    found = statistics.keep_above_median(scores)
    np.testing.assert_array_equal(found, [[0, 0, 1, 1], [1, 1, 0, 0]])
