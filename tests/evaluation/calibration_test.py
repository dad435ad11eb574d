"""What is fitted to answers, and what is kept of it."""

import dataclasses
import json
from unittest import mock

import numpy as np
import pytest

from prwn_tf.config import EpisodeSpec
from prwn_tf.errors import UserError
from prwn_tf.evaluation import calibration as calibration_lib
from prwn_tf.evaluation import curves
from prwn_tf.evaluation.calibration import Calibration, Fit, Novelty
from tests.oracle import calibration as oracle

SPEC = EpisodeSpec(5, 1, 14, 5)


def some_answers(scale=1.0):
    """Scores [400, 3] that say the truth when divided by `scale`, and labels."""
    generator = np.random.default_rng(0)
    scores = 2 * generator.normal(size=(400, 3))
    noise = generator.gumbel(size=scores.shape)
    return scale * scores, (scores + noise).argmax(axis=-1)


@pytest.mark.parametrize("scale", [1e-3, 1.0, 300.0])
def test_the_temperature_has_the_greatest_likelihood(scale):
    scores, labels = some_answers(scale)
    found = curves.fitted_temperature(scores, labels)
    assert found == pytest.approx(scale, rel=0.2)  # up to what 400 answers tell
    losses = [
        oracle.negative_log_likelihood(scores, labels, found * factor)
        for factor in (0.97, 1, 1.03)
    ]
    assert losses[1] == min(losses)


def test_answers_that_are_all_right_or_all_the_same_have_a_temperature():
    certain = curves.fitted_temperature(np.eye(3) * 100, np.arange(3))
    nothing = curves.fitted_temperature(np.zeros((3, 3)), np.arange(3))
    assert np.isfinite([certain, nothing]).all()
    assert min(certain, nothing) > 0


def test_the_calibration_error_matches_oracle():
    generator = np.random.default_rng(1)
    sure = np.append(generator.uniform(0.2, 1, size=299), 1.0)
    right = (generator.uniform(size=300) < sure**2).astype(float)
    expected = oracle.calibration_error(sure, right)
    assert curves.calibration_error(sure, right) == pytest.approx(expected)
    assert expected > 0.05


def test_strangers_are_told_by_their_distance():
    generator = np.random.default_rng(2)
    units = np.exp(generator.normal(size=1500))  # in which distances are told
    distances = np.exp(generator.normal(-1, 0.5, size=1500)) * units
    distances[1000:] *= np.exp(1.2)
    own, strangers = np.split(curves.log_distances(distances, units), [1000])
    novelty = Novelty("gate", 1, *curves.fitted_curve(own, strangers), 0.0)
    # Equal spreads have their middle half way, whatever their numbers are.
    assert novelty.nearest == pytest.approx(1.2 / 0.5**2, rel=0.15)
    assert novelty.stranger == pytest.approx(-novelty.nearest, rel=0.05)
    assert -novelty.bias / novelty.nearest == pytest.approx(-0.4, abs=0.05)
    alarms, found = map(novelty.probabilities, (own, strangers))
    assert np.mean(alarms > novelty.threshold) == pytest.approx(0.05, abs=0.002)
    assert np.mean(found > novelty.threshold) > 0.6
    pairs = (found[:, None] > alarms).mean()
    assert curves.area(alarms, found) == pytest.approx(pairs)
    assert curves.area(np.ones(3), np.ones(2)) == 0.5


def fit(adapt, shot, temperature=1.0, gain=0.0, interval=0.01, accuracy=0.5):
    return Fit(adapt, shot, temperature, accuracy + gain, gain, interval)


def test_shots_between_are_interpolated_on_the_scale_of_ratios():
    known = Calibration(SPEC, 9, (fit("none", 1, 2.0), fit("none", 4, 8.0)))
    found = [known.temperature("none", shot) for shot in (1, 2, 4, 50)]
    np.testing.assert_allclose(found, [2, 4, 8, 8])
    assert known.temperature("gate", 1) is None
    assert known.novelty("none", 1) is None


def test_auto_is_the_best_of_what_helps():
    fits = (
        *(fit("none", 1), fit("refine", 1, gain=0.02), fit("gate", 1, gain=0.03)),
        *(fit("none", 5), fit("refine", 5, gain=0.005), fit("gate", 5, gain=-0.02)),
    )
    known = Calibration(SPEC, 9, fits)
    assert [known.best(shot) for shot in (1, 2, 3, 40)] == [
        *("gate", "gate"),
        *("none", "none"),
    ]
    line, other = known.lines()
    assert line.endswith("gate +3.00 ± 1.00; auto is gate")
    assert other.endswith("auto is none")
    assert "gate" not in {each.adapt for each in known.without("gate").fits}
    assert known.without("none", "refine", "gate") is None
    served = known.without("none")  # of a head that answers "none" in its own way
    assert [served.best(shot) for shot in (1, 5)] == ["gate", "refine"]


def test_why_nothing_is_known_of_strangers():
    why = calibration_lib.nothing_of_strangers
    known = Calibration(SPEC, 9, (fit("none", 1), fit("refine", 1)))
    some = (Novelty(each, 1, 2.0, -1.5, -0.5, 0.9, 0.97) for each in ("none", "refine"))
    told = dataclasses.replace(known, novelties=tuple(some))
    assert "--calibrate does that to a run" in why(None)
    assert "too few" in why(known)
    assert "learn them with such images" in why(told.without("none"))
    assert "learn them again" in why(told)


def test_who_validates_on_learned_classes_is_warned():
    stores = {"train": mock.Mock(names=("a", "b")), "val": mock.Mock(names=("c",))}
    assert calibration_lib.caution(stores) == []
    stores["val"].names = ("c", "a")
    stores["val"].visible = False  # points of a plane
    assert calibration_lib.caution(stores) == []
    stores["val"].visible = True
    [text] = calibration_lib.caution(stores)
    assert "--hold_out=images" in text


def test_it_is_kept_in_a_file(tmp_path):
    path = tmp_path / "calibration.json"
    assert calibration_lib.read(path) is None
    with pytest.raises(UserError, match="--calibrate makes it"):
        calibration_lib.require(path, "--strangers")
    novelty = Novelty("gate", 1, 2.0, -1.5, -0.5, 0.9, 0.97)
    known = Calibration(SPEC, 9, (fit("none", 1),), (novelty,))
    [text] = calibration_lib.update(path, None)
    assert text.startswith("uncalibrated, for lack of 2 validation classes of 3 images")
    assert not path.exists()
    assert calibration_lib.update(path, known) == known.lines()
    assert calibration_lib.read(path) == known
    assert calibration_lib.update(path, None)[0].endswith("calibration.json stays")
    assert calibration_lib.read(path) == known
    calibration_lib.write(path, None)
    assert not path.exists()


@pytest.mark.parametrize(
    "change",
    [
        lambda content: content.pop("fits"),
        lambda content: content.update(fits=[{"adapt": "none"}]),
        lambda content: content.update(fits=3),
        lambda content: content.update(fits=[]),
        lambda content: content.update(episodes="many"),
        lambda content: content.update(spec=None),
        lambda content: content["fits"][0].update(temperature="warm"),
    ],
)
def test_a_damaged_file_is_an_error(tmp_path, change):
    path = tmp_path / "calibration.json"
    calibration_lib.write(path, Calibration(SPEC, 9, (fit("none", 1),)))
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content))
    with pytest.raises(UserError):
        calibration_lib.read(path)


def test_specs_are_kept_whole():
    unequal = dataclasses.replace(SPEC, balance="dirichlet")
    content = json.loads(
        json.dumps(Calibration(unequal, 1, (fit("none", 1),)).to_dict())
    )
    assert calibration_lib.from_dict(content, "here").spec == unequal
