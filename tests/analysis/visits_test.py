import tracemalloc

import numpy as np
import pytest
from sklearn import metrics

from prwn_tf.analysis.visits import Visits, follow_walker, separate
from prwn_tf.config import EpisodeSpec
from prwn_tf.errors import UserError
from tests.oracle import prototypes as prototype_oracle
from tests.oracle import walk as oracle

SPEC = EpisodeSpec(way=3, shot=2, query=1, unlabeled=4, distractors=2)


def test_every_number_of_every_episode_matches_the_oracle(make_subject):
    subject = make_subject()
    visits = follow_walker(subject, SPEC, 7)
    vectors = subject.embeddings.gather(range(72)).numpy()
    for index in range(7):
        plan = subject.plan(SPEC, index)
        means = prototype_oracle.prototypes(vectors[plan.support])
        points = vectors[plan.unlabeled]
        for values, smoothing in ((visits.raw, 0.0), (visits.smoothed, 0.1)):
            visit = oracle.visit_probability(means, points, smoothing)
            assert values[index] == pytest.approx(visit[:12].sum(), rel=1e-4)
        scores = oracle.success_score(means, points)
        above = np.exp(visits.scores[index]) + 0.1 / len(points)
        np.testing.assert_allclose(above, scores, rtol=1e-4)
        np.testing.assert_array_equal(
            visits.kept[index], oracle.keep_above_median(visits.scores[index])
        )


def test_smoothing_takes_its_uniform_share(make_subject):
    visits = follow_walker(make_subject(), SPEC, 5, smoothing=0.3)
    np.testing.assert_allclose(visits.smoothed, 0.7 * visits.raw + 0.3 * 12 / 20, 1e-4)


def test_the_filter_is_the_one_that_all_programs_use(make_subject):
    usual, other = (
        follow_walker(make_subject(), SPEC, 5, smoothing=s) for s in (0.1, 0.9)
    )
    np.testing.assert_array_equal(usual.scores, other.scores)


def test_better_embeddings_lead_the_walker_to_clean_points(make_subject):
    near, far = (follow_walker(make_subject(spread=s), SPEC, 40) for s in (0.05, 1.5))
    assert near.raw.mean() > far.raw.mean()
    assert near.separation.area.mean() > 0.95 > far.separation.area.mean()
    assert near.kept_clean.mean() > far.kept_clean.mean()


def test_area_matches_scikit_learn():
    generator = np.random.default_rng(0)
    scores = generator.normal(size=(6, 15)).round(1)  # with ties
    scores[:, :9] += 0.5
    truth = np.arange(15) < 9
    expected = [metrics.roc_auc_score(truth, row) for row in scores]
    np.testing.assert_allclose(separate(scores, 9).area, expected)


def test_the_curve_by_hand():
    scores = np.array([[0.9, 0.6, 0.4, 0.1, 0.7, 0.2]])  # four clean, two distractors
    curve = separate(scores, 4)
    np.testing.assert_allclose(curve.alarms, [0, 0.5, 1])
    np.testing.assert_allclose(curve.caught, [[0.25, 0.75, 1]])
    np.testing.assert_allclose(curve.area, [0.5])


def test_a_pool_of_thousands_takes_no_square_of_memory():
    scores = np.random.default_rng(0).normal(size=(1, 40_000))
    tracemalloc.start()
    area = separate(scores, 20_000).area
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert area == pytest.approx(0.5, abs=0.01)
    assert peak < 100 * scores.nbytes


def test_area_is_that_under_the_steps_of_the_curve(make_subject):
    curve = follow_walker(make_subject(), SPEC, 6).separation
    steps = np.diff(curve.alarms)
    np.testing.assert_allclose(curve.area, curve.caught[:, :-1] @ steps)


def test_what_filter_and_gate_keep_by_hand():
    kept = np.array([[1, 1, 0, 1.0, 0, 0]])  # three of four clean, none of two
    zeros = np.zeros(1)
    belongs = np.array([[1, 0.5, 0, 0, 0.5, 0]])
    visits = Visits("PN", 4, zeros, zeros, 0.1, np.zeros((1, 6)), kept, belongs)
    assert visits.kept_clean == [1.0]
    assert visits.clean_kept == [0.75]
    assert visits.distractors_kept == [0.0]
    assert visits.belonging_clean == [0.75]


def test_summary_has_means_with_intervals(make_subject):
    visits = follow_walker(make_subject(), SPEC, 30)
    row = visits.summary()
    assert row["run"] == "PRWN"
    assert row["p_clean_raw"] == pytest.approx(visits.raw.mean())
    assert row["p_clean_raw"] + row["p_dist_raw"] == pytest.approx(1)
    interval = 1.96 * visits.raw.std() / np.sqrt(30)
    assert row["p_clean_raw_interval"] == pytest.approx(interval)


def test_all_subjects_see_the_same_episodes(make_subject):
    one, other = make_subject("PN", seed=1), make_subject("PRWN", seed=2)
    for mine, yours in zip(one.plan(SPEC, 3), other.plan(SPEC, 3), strict=True):
        np.testing.assert_array_equal(mine, yours)


@pytest.mark.parametrize("changes", [{"distractors": 0}, {"unlabeled": 0}])
def test_episodes_without_distractors_are_refused(make_subject, changes):
    spec = EpisodeSpec(**{"way": 3, "shot": 1, "query": 1, "unlabeled": 2} | changes)
    with pytest.raises(UserError, match="distractors=0"):
        follow_walker(make_subject(), spec, 2)


def test_too_few_classes(make_subject):
    with pytest.raises(UserError, match=r"5 classes \+ 5 distractor .* split has 8"):
        follow_walker(make_subject(), EpisodeSpec(5, 1, 1, 2, 5), 2)
