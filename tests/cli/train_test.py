import csv
import json
import os
import pathlib
import shutil
import signal

import numpy as np
import pytest
import tensorflow as tf

from prwn_tf.config import ADAPTATIONS
from tests.cli import program


def test_prints_both_specs_and_where_the_result_is(first_run):
    workdir, result = first_run
    assert "training episodes: 3-way 1-shot, 1 query and 2 unlabelled" in result.stdout
    assert (
        "test episodes:     5-way 1-shot, 14 queries and 5 unlabelled" in result.stdout
    )
    assert result.stdout.splitlines()[-1].endswith(str(workdir))
    assert result.stderr == ""


def test_workdir_holds_the_whole_run(first_run):
    workdir, _ = first_run
    names = {path.name for path in workdir.iterdir()}
    assert names >= {
        "config.json",
        "flags.txt",
        "versions.json",
        "label_split.json",
        "checkpoints",
        "result.json",
        "episodes.csv",
    }
    assert not [name for name in names if name.endswith(".tmp")]
    assert (workdir / "checkpoints" / "ckpt-12.index").exists()
    split = json.loads((workdir / "label_split.json").read_text())
    assert all(len(images) == 2 for images in split["labelled"].values())


def test_its_flags_make_the_same_run_again(first_run, data_dir, tmp_path):
    workdir, _ = first_run
    again = tmp_path / "again"
    result = program.run(
        "train", f"--flagfile={workdir / 'flags.txt'}", f"--workdir={again}"
    )
    assert result.returncode == 0, result.stderr
    for name in ("config.json", "flags.txt", "episodes.csv"):
        assert (again / name).read_bytes() == (workdir / name).read_bytes()


def test_result_and_episodes_agree(first_run):
    workdir, result = first_run
    stored = json.loads((workdir / "result.json").read_text())
    assert stored["method"] == "prwn"
    assert stored["dataset"] == "glyphs"
    assert stored["step"] == 12
    assert stored["test_spec"]["way"] == 5
    assert [row["adapt"] for row in stored["test"]] == list(ADAPTATIONS)
    assert "validation, 1-shot: none " in result.stdout
    with (workdir / "episodes.csv").open(encoding="utf-8") as file:
        episodes = list(csv.DictReader(file))
    assert len(episodes) == 50
    for row in stored["test"]:
        values = [float(episode[f"accuracy_{row['adapt']}"]) for episode in episodes]
        assert row["accuracy"] == pytest.approx(np.mean(values), abs=1e-6)
        interval = 1.96 * np.std(values) / np.sqrt(50)
        assert row["interval"] == pytest.approx(interval, abs=1e-6)
        assert (
            f"{100 * row['accuracy']:.2f} ± {100 * row['interval']:.2f}"
            in result.stdout
        )


def test_tensorboard_has_every_curve(first_run):
    workdir, _ = first_run
    curves = scalars(workdir)
    for name in (
        "train/loss",
        "train/classification",
        "train/walker",
        "train/visit",
        "train/weight_decay",
        "train/accuracy",
        "train/landing/0_steps",
        "train/landing/3_steps",
        "train/visit_entropy",
        "train/learning_rate",
        "train/episodes_per_second",
    ):
        assert sorted(curves[name]) == [2, 4, 6, 8, 10, 12], name
    assert sorted(curves["validation/accuracy"]) == [6, 12]
    assert (workdir / "projector" / "vectors.tsv").exists()
    assert (workdir / "projector_config.pbtxt").exists()


def test_tensorboard_has_the_tests_the_config_and_pictures(first_run):
    workdir, _ = first_run
    shown = {(step, name) for step, name, _ in events(workdir)}
    assert {(12, f"test/{adapt}") for adapt in ("none", "refine", "filter")} <= shown
    assert {(0, "config"), (0, "episode"), (6, "landing"), (12, "landing")} <= shown
    stored = json.loads((workdir / "result.json").read_text())
    for row in stored["test"]:
        curve = scalars(workdir)[f"test/{row['adapt']}"]
        assert curve == {12: pytest.approx(row["accuracy"])}
    labels = (workdir / "projector" / "labels.tsv").read_text()
    assert labels.startswith("val")  # classes of validation


def test_a_finished_run_is_not_run_again(first_run, data_dir, tmp_path):
    workdir, before = first_run
    copy = shutil.copytree(workdir, tmp_path / "run")
    again = program.run("train", *program.quick(copy, data_dir))
    assert again.returncode == 0
    assert "resuming" in again.stdout
    lines = again.stdout.replace(str(copy), str(workdir)).splitlines()
    assert lines[-4:] == before.stdout.splitlines()[-4:]


@pytest.fixture(
    scope="module",
    params=[
        pytest.param((signal.SIGKILL, -9), id="SIGKILL"),
        pytest.param((signal.SIGINT, 130), id="SIGINT"),  # SIGTERM: row 1, tests/faults
    ],
)
def interrupted(request, tmp_path_factory, data_dir) -> pathlib.Path:
    """The workdir of a run that was stopped after step 6 and started again."""
    number, code = request.param
    workdir = tmp_path_factory.mktemp("interrupted")
    flags = program.quick(workdir, data_dir, checkpoint_every=5)
    process = program.start("train", *flags)
    for line in process.stdout:
        if line.startswith("step 6:"):
            os.kill(process.pid, number)
            break
    _, errors = process.communicate(timeout=120)
    assert process.returncode == code, errors
    if number != signal.SIGKILL:
        assert "with a checkpoint" in errors
        assert "Traceback" not in errors
    assert not (workdir / "result.json").exists()
    again = program.run("train", *flags)
    assert again.returncode == 0, again.stderr
    assert "resuming" in again.stdout
    return workdir


def test_an_interrupted_run_ends_with_the_same_bits(interrupted, finished):
    ours, theirs = weights(interrupted), weights(finished)
    assert ours.keys() == theirs.keys()
    for name, value in ours.items():
        np.testing.assert_array_equal(value, theirs[name], err_msg=name)


def test_an_interrupted_run_has_no_step_twice_in_its_curves(interrupted):
    steps = [step for step, name, _ in events(interrupted) if name == "train/loss"]
    assert sorted(steps) == [2, 4, 6, 8, 10, 12]


def test_compare_shows_what_the_walk_adds(data_dir, tmp_path):
    flags = program.quick(tmp_path, data_dir, episodes=4, **program.SIMPLE)
    flags.remove("--nocompare")
    result = program.run("train", *flags)
    assert result.returncode == 0, result.stderr
    assert "without walk" in result.stdout
    assert "The walk through unlabelled images adds" in result.stdout
    stored = json.loads((tmp_path / "without_walk" / "result.json").read_text())
    assert stored["method"] == "pn"
    # Ended before: the other run is as long as this one is, and not as was asked.
    shutil.rmtree(tmp_path / "without_walk")
    flags[flags.index("--episodes=4")] = "--episodes=2"
    result = program.run("train", *flags)
    assert result.returncode == 0, result.stderr
    stored = json.loads((tmp_path / "without_walk" / "result.json").read_text())
    assert stored["step"] == 4


@pytest.mark.slow  # tests/training has what is the best, and where a run goes on
def test_select_best_and_longer_run(data_dir, tmp_path):
    changes = {"select": "best"} | program.SIMPLE
    flags = program.quick(tmp_path, data_dir, episodes=6, **changes)
    assert program.run("train", *flags).returncode == 0
    record = tmp_path / "checkpoints" / "best.json"
    best = json.loads(record.read_text())
    assert json.loads((tmp_path / "result.json").read_text())["step"] == best["step"]
    record.write_text(json.dumps(best | {"accuracy": 2}))  # and remains the best
    longer = program.quick(tmp_path, data_dir, episodes=8, eval_episodes=60, **changes)
    result = program.run("train", *longer)
    assert result.returncode == 0, result.stderr
    assert "at step 6" in result.stdout
    assert "8 episodes trained" in result.stdout.splitlines()[-1]
    stored = json.loads((tmp_path / "result.json").read_text())
    assert stored["step"] == best["step"] == 6
    assert stored["seconds"] == round(seconds(tmp_path, "ckpt-8"), 1)
    assert seconds(tmp_path, "ckpt-8") > seconds(tmp_path, "best/ckpt-6")
    config = json.loads((tmp_path / "config.json").read_text())
    assert (config["episodes"], config["eval_episodes"]) == (8, 60)
    assert "--episodes=8" in (tmp_path / "flags.txt").read_text()

    shorter = program.quick(tmp_path, data_dir, episodes=4, **changes)
    result = program.run("train", *shorter)
    assert "8 episodes trained" in result.stdout.splitlines()[-1]
    assert json.loads((tmp_path / "config.json").read_text())["episodes"] == 8
    assert "--episodes=8" in (tmp_path / "flags.txt").read_text()


@pytest.mark.parametrize(
    "changes",
    [
        # tests/training/compiled_step_test.py has such steps of every encoder.
        pytest.param({"xla": "step", "encoder": "mlp"}, marks=pytest.mark.slow),
        pytest.param({"xla": "walk", "deterministic": None}, marks=pytest.mark.slow),
        {"method": "pn"} | program.PLAIN,
    ],
)
def test_other_ways_to_compute(data_dir, tmp_path, changes):
    flags = program.quick(tmp_path, data_dir, episodes=3, validate_every=2, **changes)
    result = program.run("train", *flags)
    assert result.returncode == 0, result.stderr
    assert json.loads((tmp_path / "result.json").read_text())["step"] == 3


def weights(workdir: pathlib.Path) -> dict[str, np.ndarray]:
    """All variables of the last checkpoint but the clock."""
    reader = tf.train.load_checkpoint(str(workdir / "checkpoints" / "ckpt-12"))
    names = reader.get_variable_to_shape_map()
    assert any("moving_mean" in name for name in names)
    skipped = ("seconds", "save_counter", "_CHECKPOINTABLE")
    return {
        name: reader.get_tensor(name) for name in names if not name.startswith(skipped)
    }


def seconds(workdir: pathlib.Path, name: str) -> float:
    """Those of the training that led to a checkpoint."""
    reader = tf.train.load_checkpoint(str(workdir / "checkpoints" / name))
    return float(reader.get_tensor("seconds/.ATTRIBUTES/VARIABLE_VALUE"))


def events(workdir: pathlib.Path):
    for path in workdir.glob("events.*"):
        for event in tf.compat.v1.train.summary_iterator(str(path)):
            for value in event.summary.value:
                yield event.step, value.tag, value


def scalars(workdir: pathlib.Path) -> dict[str, dict[int, float]]:
    found = {}
    for step, name, value in events(workdir):
        found.setdefault(name, {})[step] = tf.make_ndarray(value.tensor)
    return found
