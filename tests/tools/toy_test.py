"""The study in the plane: quick training is training, and its numbers are right."""

import dataclasses
import json
import pathlib
import shutil
import subprocess
import sys

import numpy as np
import pytest
import tensorflow as tf

from prwn_tf import build
from prwn_tf.config import WalkConfig
from prwn_tf.episodes import pipeline
from prwn_tf.errors import UserError
from tests.children import child

TOOLS = pathlib.Path(__file__).parents[2] / "tools"
sys.path.insert(0, str(TOOLS))

from toy import settings, study, summary, tables, tuning, whole  # noqa: E402


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return study.Data("spiral", tmp_path_factory.mktemp("points"))


@pytest.fixture
def setting():
    return dataclasses.replace(
        settings.equal_training("spiral"),
        steps=(100, 100, 100),
        walk=WalkConfig(weight=1.0, steps=1),
    )


@pytest.fixture(scope="module")
def outcomes(data):
    """Runs settings on one study, which compiles each kind of model once."""
    shared = study.Study(data)

    def run(setting, models, seeds=(3,), look_at=()):
        jobs = {"job": study.Job(setting, models, seeds)}
        return [outcome for _, outcome in shared.run(jobs, look_at)]

    return run


@pytest.mark.parametrize("model", ["few", pytest.param("walk", marks=pytest.mark.slow)])
def test_quick_training_is_the_ordinary_one(data, outcomes, setting, model):
    config = dataclasses.replace(setting.config(model), seed=3, label_seed=3)
    expected = build.build_model(config)
    expected.compile(optimizer=build.build_optimizer(config.optimizer))
    episodes = pipeline.episodes(
        data.stores["train"],
        data.labels(config.label_ratio, 3),
        config.train,
        seed=3,
        start=0,
        stop=100,
    )
    # Compiled, too: Adam makes whole steps of gradients that are nothing but rounding.
    step = tf.function(expected.train_step, autograph=False, jit_compile=True)
    for episode in episodes:
        step(episode)
    [found] = outcomes(setting, (model,))
    start = build.build_model(config).get_weights()
    assert np.abs(found.weights[0] - start[0]).max() > 0.05
    for mine, ordinary in zip(found.weights, expected.get_weights(), strict=True):
        np.testing.assert_allclose(mine, ordinary, rtol=1e-4, atol=1e-5)


def test_seeds_begin_anew_whatever_came_before(outcomes, setting):
    several = outcomes(setting, ("walk",), (1, 2))
    [alone] = outcomes(setting, ("walk",), (2,))
    assert several[1].one_shot == alone.one_shot
    assert several[0].one_shot != alone.one_shot


def test_rates_do_not_leak_into_each_other(outcomes, setting):
    fast = dataclasses.replace(setting, learning_rate=0.03)
    found = [outcomes(each, ("few",))[0] for each in (setting, fast, setting)]
    assert found[0].one_shot == found[2].one_shot
    assert found[0].one_shot != found[1].one_shot


def test_curve_holds_the_steps_asked_for(outcomes, setting):
    setting = dataclasses.replace(setting, steps=(200, 200, 200))
    [found] = outcomes(setting, ("full",), look_at=(0, 200, 300))
    assert list(found.curve) == [0, 200]
    assert found.curve[200] == found.one_shot
    assert set(found.one_shot) == {"train", "val", "test"}
    assert found.curve[0]["test"] < 0.4  # five classes and an untrained network
    with pytest.raises(ValueError, match="whole 100s, got 150"):
        outcomes(dataclasses.replace(setting, steps=(150, 150, 150)), ("few",))


def test_prototypes_are_means_of_labelled_points(data, setting):
    model = build.build_model(setting.config("few"))
    pools = data.labels(0.1, 0)
    found = data.prototypes(model, pools)
    chosen = pools.labeled_images()["class2"]
    points = data.stores["train"].read(data.stores["train"].offsets[2] + chosen)
    np.testing.assert_allclose(found[2], np.mean(model(points), axis=0), rtol=1e-4)


def test_settings_of_the_three_models():
    setting = settings.equal_training("gaussian_circles")
    few, walk, full = (setting.config(model) for model in settings.MODELS)
    assert few.train.unlabeled == full.train.unlabeled == 0
    assert walk.train.unlabeled > 0
    assert (few.walk.weight, full.walk.weight) == (0, 0)
    assert walk.walk.weight > 0
    assert few.label_ratio == walk.label_ratio == pytest.approx(16 / 333)
    assert full.label_ratio == 1
    assert few.episodes == walk.episodes == full.episodes
    epochs = settings.equal_epochs("gaussian_circles")
    assert epochs.steps == (300, 6200, 6200)  # 300 passes by 16 points of a class
    fewer = dataclasses.replace(setting, labels=4)
    assert fewer.config("few").train.query == 3


def made(model, seed, test, curve=None):
    accuracies = {"train": test, "val": test, "test": test}
    return study.Outcome(model, seed, accuracies, accuracies, curve or {}, [])


def test_gain_is_paired():
    few, walk = [0.5, 0.7, 0.9], [0.52, 0.73, 0.91]
    found = summary.gain(few, walk)
    assert found.mean == pytest.approx(2)
    assert found.interval == pytest.approx(4.302653 * 1 / np.sqrt(3))
    assert (found.better, found.seeds) == (3, 3)
    assert found.verdict == "no clear difference"
    assert summary.gain(few, [0.6, 0.8, 1.0]).verdict == "helps"
    assert summary.gain([0.6, 0.8, 1.0], few).verdict == "hurts"


def test_stopping_uses_validation_to_choose_and_test_to_report():
    curve = {100: {"val": 0.9, "test": 0.6}, 200: {"val": 0.8, "test": 0.7}}
    assert summary.stopped([made("few", 0, 0.7, curve)], "test") == [0.6]


def test_the_end_of_training_may_be_the_best_step():
    curve = {100: {"val": 0.5, "test": 0.6}, 200: {"val": 0.6, "test": 0.5}}
    assert summary.stopped([made("few", 0, 0.7, curve)], "test") == [0.7]


def test_report_has_the_papers_numbers_beside_ours():
    curve = {step: {"train": 0.5, "val": 0.5, "test": 0.5} for step in (0, 100, 3000)}
    trained = {}
    for name in settings.DATASETS:
        everything = [
            made(model, seed, 0.5 + 0.1 * index + 0.01 * seed, curve)
            for index, model in enumerate(settings.MODELS)
            for seed in range(3)
        ]
        for kind in ("training", "epochs", "lengths"):
            setting = settings.equal_training(name)
            trained[name, kind, 0] = whole.Trained(setting, everything)
    text = tables.report(trained, "the command", 3000)
    assert "`the command`" in text
    assert "| 89.25 |" not in text
    assert "| few labels + walk | " in text
    assert "94.67 / 97.17 | 61.0 ± 1.0" in text
    assert "51.00 / 48.33 | 51.0 ± 1.0" in text
    assert "Gain on test: +10.0 ± 0.0 (3 of 3 seeds): helps." in text
    assert "untrained" in text


def row(model, validation, **changes):
    numbers = {
        "learning_rate": 0.01,
        "walk_weight": 0.3,
        "visit_weight": 1.0,
        "walk_steps": 0,
        "walk_decay": 0.7,
        "steps": 1000,
    }
    return {"model": model} | numbers | {"validation": validation} | changes


def test_models_are_trained_at_the_settings_that_validation_prefers(tmp_path):
    path = tmp_path / "tuning.json"
    assert tuning.chosen(path, "spiral") == {}
    best = [
        row("walk", 97.0, walk_steps=2, walk_decay=1.0, steps=6000),
        row("walk", 95.0),
        row("few", 90.0, learning_rate=0.03, steps=300),
    ]
    path.write_text(json.dumps({"spiral": best}))
    jobs = whole._jobs("spiral", range(3), quick=False, tuned=path)
    few, walk = (jobs["spiral", f"tuned_{model}", 0] for model in ("few", "walk"))
    assert (few.models, walk.models) == (("few",), ("walk",))
    assert few.setting.config("few").optimizer.learning_rate == 0.03
    assert few.setting.config("few").episodes == 300
    config = walk.setting.config("walk")
    assert (config.walk.steps, config.walk.decay, config.episodes) == (2, 1.0, 6000)
    untuned = whole._jobs("gaussian_circles", range(3), quick=False, tuned=path)
    assert not [key for key in untuned if key[1].startswith("tuned")]


@pytest.mark.parametrize("dataset", settings.DATASETS)
def test_the_shipped_setting_is_what_validation_prefers(dataset):
    path = TOOLS.parent / "results" / "toy" / tuning.FILE
    best = tuning.chosen(path, dataset)
    assert best["walk"] == settings.equal_training(dataset)
    assert best["few"] != best["walk"]


def test_the_table_of_tuning_is_of_the_stored_numbers():
    results = TOOLS.parent / "results" / "toy"
    text = tuning.report(json.loads((results / tuning.FILE).read_text()))
    assert text == (results / "tuning.md").read_text(encoding="utf-8")
    assert "| few | 0.01 | – | – | – | – | 3000 |" in text


def test_inner_steps_are_tried_at_what_was_best():
    found = tuning.walks_like("spiral", row("walk", 97.0, walk_weight=3.0))
    walks = [setting.walk for _, setting in found]
    assert {walk.weight for walk in walks} == {3.0}
    tried = [(walk.steps, walk.decay) for walk in walks]
    assert tried == [(0, 0.7), *((n, a) for n in (1, 2, 3) for a in (0.7, 1.0))]


def test_tuned_models_have_a_table_and_a_gain():
    setting = settings.equal_training("spiral")
    trained = {}
    for model, accuracy in (("few", 0.5), ("walk", 0.6)):
        outcomes = [made(model, seed, accuracy + 0.01 * seed) for seed in range(3)]
        trained["spiral", f"tuned_{model}", 0] = whole.Trained(setting, outcomes)
    text = "\n".join(tables._tuned(trained))
    assert "| Spiral | few labels | 6000 | 20 labels a class, Adam 0.01 |" in text
    assert "Gain on test, Spiral: +10.0 ± 0.0 (3 of 3 seeds): helps." in text
    del trained["spiral", "tuned_few", 0]
    assert tables._tuned(trained) == []


def reproduce(*arguments: str) -> subprocess.CompletedProcess:
    return child.run(TOOLS / "reproduce.py", *arguments)


@pytest.mark.slow  # its parts are tested above
def test_the_command(tmp_path):
    result = reproduce(
        "toy",
        "--quick",
        "--dataset=gaussian_circles",
        f"--output={tmp_path}",
        f"--data_dir={tmp_path / 'data'}",
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout.splitlines()[-1].endswith(f"are in {tmp_path}")
    text = (tmp_path / "toy.md").read_text()
    assert "python tools/reproduce.py toy --quick" in text
    assert text in result.stdout
    for name in ("toy", "toy_gaussian_circles", "toy_curves"):
        assert 5_000 < (tmp_path / f"{name}.png").stat().st_size < 150_000


def test_the_page_is_of_the_stored_numbers(tmp_path):
    results = TOOLS.parent / "results" / "toy"
    for name in ("toy.json", tuning.FILE):
        shutil.copy(results / name, tmp_path)
    result = reproduce("toy", "--tables", f"--output={tmp_path}")
    assert result.returncode == 0, result.stderr
    assert (tmp_path / "toy.md").read_bytes() == (results / "toy.md").read_bytes()


def test_numbers_of_other_settings_are_not_tabulated(tmp_path):
    content = json.loads((TOOLS.parent / "results" / "toy" / "toy.json").read_text())
    content["trained"][0]["configs"]["walk"]["walk"]["weight"] = 0.5
    (tmp_path / "toy.json").write_text(json.dumps(content))
    with pytest.raises(UserError, match="spiral training 0 of other settings"):
        whole.read(tmp_path / "toy.json")


def test_one_seed_has_no_deviation():
    result = reproduce("toy", "--seeds=1")
    assert result.returncode == 2
    assert result.stderr == (
        "error: a deviation over seeds takes at least 2 of them, got --seeds=1\n"
    )


def test_the_released_results_are_not_replaced_by_a_part_of_them():
    result = reproduce("toy", "--quick")
    assert result.returncode == 2
    assert "these would replace; give another --output" in result.stderr


def test_an_unknown_experiment():
    result = reproduce("sculpture")
    assert result.returncode == 2
    assert "invalid choice: 'sculpture'" in result.stderr
