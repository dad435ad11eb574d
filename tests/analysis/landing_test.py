import dataclasses

import numpy as np
import pytest

from prwn_tf.analysis import landing, scale
from prwn_tf.analysis.landing import View
from prwn_tf.analysis.settings import Settings
from prwn_tf.config import EpisodeSpec
from prwn_tf.errors import UserError
from prwn_tf.evaluation.embeddings import Embeddings
from prwn_tf.heads.prototypes import PrototypeHead
from tests.oracle import prototypes as prototype_oracle
from tests.oracle import walk as oracle

SPEC = EpisodeSpec(way=2, shot=2, query=1, unlabeled=3)
VIEW = View(SPEC, 0.1, "own")


def test_curve_of_every_episode_matches_the_oracle(make_subject):
    subject = make_subject()
    landings = landing.measure_landing(subject, VIEW, 5, steps=3)
    assert landings.probability.shape == (5, 4)
    vectors = subject.embeddings.gather(range(72)).numpy()
    for index, curve in enumerate(landings.probability):
        plan = subject.plan(SPEC, index)
        means = prototype_oracle.prototypes(vectors[plan.support])
        for steps, probability in enumerate(curve):
            matrix = oracle.landing_matrix(means, vectors[plan.unlabeled], steps)
            assert probability == pytest.approx(np.trace(matrix) / 2, rel=1e-4)


def test_without_smoothing_too(make_subject):
    subject = make_subject()
    landings = landing.measure_landing(subject, View(SPEC, 0.0, "own"), 2, steps=1)
    vectors = subject.embeddings.gather(range(72)).numpy()
    plan = subject.plan(SPEC, 1)
    means = prototype_oracle.prototypes(vectors[plan.support])
    matrix = oracle.landing_matrix(means, vectors[plan.unlabeled], 1, smoothing=0.0)
    assert landings.probability[1, 1] == pytest.approx(np.trace(matrix) / 2, rel=1e-4)


def test_at_the_common_scale_a_stretched_picture_is_the_same(make_subject):
    subject = make_subject()
    vectors = subject.embeddings.gather(range(72)).numpy()
    stretched = dataclasses.replace(subject, embeddings=Embeddings.of(3 * vectors))
    own, others = (
        [landing.measure_landing(each, VIEW, 5).probability for each in subjects]
        for subjects in (
            (subject, stretched),
            map(scale.at_common_scale, (subject, stretched)),
        )
    )
    assert abs(own[0].mean() - own[1].mean()) > 0.02
    np.testing.assert_allclose(*others, rtol=1e-4)


@pytest.mark.parametrize(
    ("way", "smoothing", "ceiling"), [(5, 0.1, 0.848), (5, 0.0, 1.0), (20, 0.1, 0.8195)]
)
def test_the_ceiling_is_what_a_perfect_embedding_reaches(way, smoothing, ceiling):
    view = View(EpisodeSpec(way, 1, 1, unlabeled=10), smoothing, "own")
    assert view.ceiling == pytest.approx(ceiling)
    places = 50 * np.eye(way)
    for steps in (0, 4):
        matrix = oracle.landing_matrix(
            places, np.repeat(places, 10, axis=0), steps, smoothing=smoothing
        )
        assert np.trace(matrix) / way == pytest.approx(ceiling)


def test_distractors_come_home_to_somebody():
    view = View(EpisodeSpec(5, 1, 1, unlabeled=10, distractors=5), 0.1, "own")
    places = 50 * np.eye(10)
    points = np.repeat(places, 10, axis=0)
    matrix = oracle.landing_matrix(places[:5], points, 0, smoothing=0.1)
    assert np.trace(matrix) / 5 == pytest.approx(view.ceiling)


def test_the_head_says_where_a_walk_begins(make_subject):
    """Not the means of the support, if it moves them."""

    class Moved(PrototypeHead):
        def prototypes(self, support, unlabeled):
            return super().prototypes(support, unlabeled) + 1

    subject = make_subject()
    [usual] = subject.episodes(SPEC, 3)
    subject.model.head = Moved()
    [moved] = subject.episodes(SPEC, 3)
    np.testing.assert_allclose(moved.prototypes, usual.prototypes + 1)
    np.testing.assert_array_equal(moved.unlabeled, usual.unlabeled)


def test_finding_has_a_row_for_each_view_run_and_step(make_subject):
    subjects = [make_subject("PN", spread=1.0), make_subject("PRWN", spread=0.3)]
    finding = landing.analyze(subjects, Settings(SPEC, SPEC, episodes=20, steps=4))
    rows = finding.tables["landing"]
    views = [(2, "own", 0.1), (2, "common", 0.1), (2, "common", 0), (8, "common", 0)]
    assert [
        (row["way"], row["scale"], row["smoothing"], row["run"], row["steps"])
        for row in rows
    ] == [
        (*view, label, steps)
        for view in views
        for label in ("PN", "PRWN")
        for steps in range(5)
    ]
    for view in views:
        by_run = {
            row["run"]: row["landing"]
            for row in rows
            if row["steps"] == 4
            and (row["way"], row["scale"], row["smoothing"]) == view
        }
        assert by_run["PRWN"] > by_run["PN"]
    assert "8-way, common scale, unsmoothed" in finding.lines[9]
    assert list(finding.figures) == ["landing"]


def test_views_are_those_that_there_are_classes_for():
    settings = Settings(EpisodeSpec(3, 1, 1, 2), SPEC)
    assert [view.spec.way for view in landing.views(settings, 11)] == [3, 3, 3]
    assert [view.spec.way for view in landing.views(settings, 12)] == [3, 3, 3, 12]


def test_a_walk_needs_points(make_subject):
    view = View(EpisodeSpec(3, 1, 1), 0.1, "own")
    with pytest.raises(UserError, match="raise unlabeled"):
        landing.measure_landing(make_subject(), view, 2)
