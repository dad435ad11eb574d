import numpy as np
import pytest

from prwn_tf.analysis import ways
from prwn_tf.analysis.settings import Settings
from prwn_tf.config import EpisodeSpec
from prwn_tf.errors import UserError
from prwn_tf.evaluation.evaluate import Evaluation, Evaluator

SPEC = EpisodeSpec(way=3, shot=2, query=1, unlabeled=4)
TEST = EpisodeSpec(way=5, shot=2, query=3)


def test_published_ways_as_far_as_there_are_classes():
    assert ways.default_ways(1692) == [5, 10, 15, 20, 50, 100, 200, 400, 800]
    assert ways.default_ways(20) == [5, 10, 15, 20]
    assert ways.default_ways(3) == [3]


def test_fewer_episodes_of_many_ways():
    assert ways.episodes_for(5, 300) == 300
    assert ways.episodes_for(800, 300) == 75
    assert ways.episodes_for(8000, 300) == 20
    assert ways.episodes_for(800, 10) == 10


def test_the_same_as_evaluating_each_way_alone(make_subject):
    subject = make_subject()
    finding = ways.analyze([subject], Settings(SPEC, TEST, episodes=40, ways=(2, 6)))
    evaluator = Evaluator(subject.pools, subject.model.head, 0)
    for row, way in zip(finding.tables["ways"], (2, 6), strict=True):
        [expected] = evaluator(subject.embeddings, EpisodeSpec(way, 2, 3), ["none"], 40)
        assert row == {"run": "PRWN", **expected.row()}
    assert finding.numbers["relative_gain"] == []


def test_more_ways_are_harder(make_subject):
    finding = ways.analyze([make_subject()], Settings(SPEC, TEST, 40, ways=(2, 8)))
    two, eight = (row["accuracy"] for row in finding.tables["ways"])
    assert two > eight + 0.1


def test_every_run_has_a_gain_on_those_before_it(make_subject):
    spreads = {"PN": 1.0, "PN_20way": 0.7, "PRWN": 0.3}
    subjects = [make_subject(label, spread=each) for label, each in spreads.items()]
    finding = ways.analyze(subjects, Settings(SPEC, TEST, episodes=40, ways=(2, 8)))
    accuracy = {
        (row["run"], row["way"]): row["accuracy"] for row in finding.tables["ways"]
    }
    gains = finding.numbers["relative_gain"]
    assert [(row["base"], row["run"], row["way"]) for row in gains] == [
        (base, run, way)
        for base, run in [("PN", "PN_20way"), ("PN", "PRWN"), ("PN_20way", "PRWN")]
        for way in (2, 8)
    ]
    for row in gains:
        way = row["way"]
        expected = accuracy[row["run"], way] / accuracy[row["base"], way] - 1
        assert row["gain"] == pytest.approx(expected)
        assert row["interval"] > 0
    assert finding.lines[-2].startswith("PRWN over PN: +")
    assert finding.lines[-1].startswith("PRWN over PN_20way: +")


def test_interval_of_the_gain_is_that_of_resampled_episodes():
    generator = np.random.default_rng(0)
    before = 0.6 + 0.1 * generator.normal(size=400)
    after = 0.3 + 0.7 * before + 0.05 * generator.normal(size=400)
    evaluations = [Evaluation(SPEC, "none", values) for values in (before, after)]
    gain, interval = ways.relative_gain(*evaluations)
    draws = generator.integers(0, 400, (3000, 400))
    ratios = after[draws].mean(axis=1) / before[draws].mean(axis=1) - 1
    assert gain == pytest.approx(after.mean() / before.mean() - 1)
    assert interval == pytest.approx(1.96 * ratios.std(), rel=0.1)


def test_more_ways_than_classes(make_subject):
    with pytest.raises(UserError, match=r"9 classes .* has 8"):
        ways.analyze([make_subject()], Settings(SPEC, TEST, episodes=5, ways=(9,)))


def test_no_gain_over_nothing():
    nothing, something = (
        [Evaluation(SPEC, "none", np.array(values))] for values in ([0.0], [0.5])
    )
    assert ways._gain_rows(nothing, something) == []
    [row] = ways._gain_rows(something, something)
    assert row["gain"] == 0


def test_a_line_for_each_way(make_subject):
    finding = ways.analyze([make_subject()], Settings(SPEC, TEST, 40, ways=(2, 8)))
    assert [line.split()[0] for line in finding.lines] == ["accuracy", "way", "2", "8"]
