import numpy as np
import pytest

from prwn_tf.analysis import landing
from prwn_tf.analysis.settings import Settings
from prwn_tf.config import EpisodeSpec
from prwn_tf.errors import UserError
from tests.oracle import prototypes as prototype_oracle
from tests.oracle import walk as oracle

SPEC = EpisodeSpec(way=3, shot=2, query=1, unlabeled=3)


def test_curve_of_every_episode_matches_the_oracle(make_subject):
    subject = make_subject()
    landings = landing.measure_landing(subject, SPEC, 5, steps=3)
    assert landings.probability.shape == (5, 4)
    vectors = subject.embeddings.gather(range(72)).numpy()
    for index, curve in enumerate(landings.probability):
        plan = subject.plan(SPEC, index)
        means = prototype_oracle.prototypes(vectors[plan.support])
        for steps, probability in enumerate(curve):
            matrix = oracle.landing_matrix(means, vectors[plan.unlabeled], steps)
            assert probability == pytest.approx(np.trace(matrix) / 3, rel=1e-4)


def test_without_smoothing_too(make_subject):
    subject = make_subject()
    landings = landing.measure_landing(subject, SPEC, 2, steps=1, smoothing=0.0)
    vectors = subject.embeddings.gather(range(72)).numpy()
    plan = subject.plan(SPEC, 1)
    means = prototype_oracle.prototypes(vectors[plan.support])
    matrix = oracle.landing_matrix(means, vectors[plan.unlabeled], 1, smoothing=0.0)
    assert landings.probability[1, 1] == pytest.approx(np.trace(matrix) / 3, rel=1e-4)


def test_finding_has_a_row_for_each_run_and_step(make_subject):
    subjects = [make_subject("PN", spread=1.0), make_subject("PRWN", spread=0.3)]
    finding = landing.analyze(subjects, Settings(SPEC, SPEC, episodes=20, steps=4))
    rows = finding.tables["landing"]
    assert [(row["run"], row["steps"]) for row in rows] == [
        (label, steps) for label in ("PN", "PRWN") for steps in range(5)
    ]
    by_run = {row["run"]: row["landing"] for row in rows if row["steps"] == 4}
    assert by_run["PRWN"] > by_run["PN"]
    assert "PRWN" in finding.lines[2]
    assert list(finding.figures) == ["landing"]


def test_a_walk_needs_points(make_subject):
    with pytest.raises(UserError, match="raise unlabeled"):
        landing.measure_landing(make_subject(), EpisodeSpec(3, 1, 1), 2)
