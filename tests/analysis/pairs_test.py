import dataclasses

import numpy as np
import pytest

from prwn_tf.analysis import pairs
from prwn_tf.analysis.settings import Settings
from prwn_tf.config import ADAPTATIONS, EpisodeSpec
from prwn_tf.evaluation.evaluate import Evaluator

SPEC = EpisodeSpec(way=3, shot=1, query=1, unlabeled=2)
TEST = EpisodeSpec(way=3, shot=1, query=4, unlabeled=3)
EPISODES = 30


def test_differences_are_those_of_the_same_episodes(make_subject):
    subjects = [make_subject("PN", spread=1.0), make_subject("PRWN", spread=0.5)]
    finding = pairs.analyze(subjects, Settings(SPEC, TEST, EPISODES))
    crowded = dataclasses.replace(TEST, distractors=3)
    rows = iter(finding.tables["pairs_differences"])
    for spec in (TEST, crowded):
        before, after = (
            Evaluator(each.pools, each.model.head, 0)(
                each.embeddings, spec, ADAPTATIONS, EPISODES
            )
            for each in subjects
        )
        for mine, yours in zip(after, before, strict=True):
            row = next(rows)
            gap = mine.accuracies - yours.accuracies
            assert (row["run"], row["base"]) == ("PRWN", "PN")
            assert (row["adapt"], row["distractors"]) == (mine.adapt, spec.distractors)
            assert row["difference"] == pytest.approx(gap.mean())
            interval = 1.96 * gap.std() / np.sqrt(EPISODES)
            assert row["interval"] == pytest.approx(interval)
    assert not list(rows)
    assert len(finding.tables["pairs"]) == 2 * 2 * len(ADAPTATIONS)
    assert finding.lines[1].strip().startswith("PRWN - PN")


def test_a_split_without_classes_for_distractors(make_subject):
    test = dataclasses.replace(TEST, way=5)
    finding = pairs.analyze([make_subject()], Settings(SPEC, test, 5))
    assert {row["distractors"] for row in finding.tables["pairs"]} == {0}
    assert "pairs_differences" not in finding.tables  # of one run
