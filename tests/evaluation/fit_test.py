"""A calibration from made embeddings, whose truth is known."""

import dataclasses

import numpy as np
import pytest

from prwn_tf import protocols
from prwn_tf.config import ADAPTATIONS, EpisodeSpec
from prwn_tf.episodes import pools
from prwn_tf.evaluation import calibration as calibration_lib
from prwn_tf.evaluation import fit as fit_lib
from prwn_tf.evaluation import report
from prwn_tf.evaluation.embeddings import Embeddings
from prwn_tf.evaluation.evaluate import Evaluator
from prwn_tf.heads.prototypes import PrototypeHead

CONFIG = dataclasses.replace(
    protocols.protocol(protocols.Task("glyphs", "prwn")),
    test=EpisodeSpec(way=3, shot=1, query=4, unlabeled=4),
    validation_episodes=60,
)


@pytest.fixture
def make(make_store):
    """Pools and embeddings of classes around corners, ten times too long."""

    def make(classes=8, images=14, spread=6.0):
        store = make_store([images] * classes, name=f"{classes}x{images}")["val"]
        noise = np.random.default_rng(0).normal(size=(len(store), 16))
        corners = 20 * np.eye(16)[store.labels()]
        return pools.whole(store, "val"), Embeddings.of(corners + spread * noise)

    return make


def test_temperatures_make_probabilities_honest(make):
    split, embeddings = make()
    known = fit_lib.fit(split, embeddings, PrototypeHead(), CONFIG)
    assert {fit.shot for fit in known.fits} == {1, 5}
    assert {fit.adapt for fit in known.fits} == set(ADAPTATIONS)
    evaluate = Evaluator(split, PrototypeHead(), seed=5)
    names = ["none", "gate", "auto"]
    found = evaluate(embeddings, CONFIG.test, names, 60, known)
    for evaluation in found:
        errors = evaluation.confidence.errors()
        assert errors["temperature"] > 2  # embeddings are too long for a softmax
        assert errors["calibrated_error"] < errors["calibration_error"] / 2
    none, gate, auto = (each.accuracy for each in found)
    assert gate > none
    assert known.best(1) == found[-1].chosen
    assert auto >= none


def test_strangers_are_further_than_images_of_the_classes(make):
    known = fit_lib.fit(*make(), PrototypeHead(), CONFIG)
    assert {each.adapt for each in known.novelties} == set(ADAPTATIONS)
    for each in known.novelties:
        assert each.area > 0.7
        assert each.nearest > 0
        assert 0 < each.threshold < 1


def test_few_classes_have_no_strangers_and_few_images_no_many_shots(make):
    known = fit_lib.fit(*make(classes=3, images=6), PrototypeHead(), CONFIG)
    assert not known.novelties
    assert {fit.shot for fit in known.fits} == {1}


def test_where_no_class_is_left_over_no_stranger_is_measured(make):
    pools, embeddings = make()
    head, task = PrototypeHead(), CONFIG.test
    known = fit_lib.fit(pools, embeddings, head, CONFIG)
    exam = pools, embeddings, head, known, 0, 5
    assert fit_lib.measure(*exam, task)
    every = dataclasses.replace(task, way=len(pools.names), distractors=0)
    assert fit_lib.measure(*exam, every) == []
    assert "no class that could be a stranger's" in report.stranger_lines([])


def test_what_a_single_episode_says_is_kept_without_an_interval(make, tmp_path):
    config = dataclasses.replace(CONFIG, validation_episodes=1)
    known = fit_lib.fit(*make(), PrototypeHead(), config)
    assert all(np.isnan(fit.interval) for fit in known.fits)
    assert known.best(1) == "none"  # nothing is sure to gain
    path = tmp_path / "calibration.json"
    calibration_lib.write(path, known)
    assert repr(calibration_lib.read(path)) == repr(known)


@pytest.mark.parametrize(("classes", "images"), [(1, 9), (4, 2)])
def test_too_few_of_anything_is_uncalibrated(make, classes, images):
    split, embeddings = make(classes=classes, images=images)
    assert fit_lib.fit(split, embeddings, PrototypeHead(), CONFIG) is None
