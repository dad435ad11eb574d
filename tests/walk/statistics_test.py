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
@pytest.mark.parametrize("name", ["visit_probability", "success_score"])
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_matches_oracle(mode, name, smoothing, episode):
    function = getattr(statistics, name)
    found = modes.run(
        mode, lambda p, u: function(graph.transitions(p, u, smoothing)), *episode
    )
    np.testing.assert_allclose(
        found, getattr(oracle, name)(*episode, smoothing), rtol=1e-9
    )


def test_visits_sum_to_one(episode):
    visits = statistics.visit_probability(graph.transitions(*episode))
    assert np.sum(visits) == pytest.approx(1)


def test_distractors_score_below_clean_points():
    prototypes = 5 * np.eye(3)
    clean = np.repeat(prototypes, 4, axis=0)
    distractors = np.full((12, 3), 20.0)
    found = statistics.success_score(
        graph.transitions(prototypes, np.concatenate([clean, distractors]))
    )
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
