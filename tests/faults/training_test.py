"""A run that is killed, starved and damaged ends with the weights of one that is not.

The tests are named by the rows of the table in BUILD.md, "Promises".
"""

import dataclasses
import json
import pathlib
import shutil
import signal
import subprocess

import numpy as np
import pytest

from prwn_tf.config import TrainConfig
from prwn_tf.config_json import from_dict
from prwn_tf.data.sets import toy
from prwn_tf.data.store import reader
from prwn_tf.episodes import plan, pools
from prwn_tf.errors import UserError
from prwn_tf.protocols import Task, protocol
from prwn_tf.training.workdir import Workdir
from tests.cli import program
from tests.faults import harness


@dataclasses.dataclass
class Battered:
    """A run that was killed twice in a save and then damaged, and its three starts."""

    workdir: pathlib.Path
    interrupted: subprocess.CompletedProcess
    killed: subprocess.CompletedProcess
    last: subprocess.CompletedProcess
    left: list[str]  # what the two kills left behind


@pytest.fixture(scope="module")
def battered(tmp_path_factory, data_dir, sandbox) -> Battered:
    workdir = tmp_path_factory.mktemp("battered") / "run"
    checkpoints = workdir / "checkpoints"
    flags = program.quick(workdir, data_dir)
    # The first Ctrl-C asks for a checkpoint of step 5; the second comes in that save.
    interrupted = sandbox.run("train", *flags, faults="4:SIGINT 5:SIGINT")
    left = harness.leftovers(workdir)
    killed = sandbox.run("train", *flags, faults="12:SIGKILL")
    left += harness.leftovers(workdir)

    newest = checkpoints / "ckpt-8.data-00000-of-00001"
    newest.write_bytes(newest.read_bytes()[:-100])
    flipped = checkpoints / "ckpt-4.data-00000-of-00001"
    content = bytearray(flipped.read_bytes())
    content[len(content) // 2] ^= 1
    flipped.write_bytes(content)
    (checkpoints / "checkpoint").write_text("")
    (workdir / ".result.json.1234.tmp").write_text("{")

    last = sandbox.run("train", *flags)
    return Battered(workdir, interrupted, killed, last, left)


def test_row_01_a_killed_run_ends_as_the_unbroken_one(battered, finished):
    assert battered.last.returncode == 0, battered.last.stderr
    ours, theirs = battered.workdir, finished
    assert harness.weights(ours, 12) == harness.weights(theirs, 12)
    for name in ("train/loss", "validation/accuracy"):
        assert harness.curve(ours, name) == harness.curve(theirs, name)
    steps = [step for step, _ in harness.curve(ours, "train/loss")]
    assert steps == [2, 4, 6, 8, 10, 12]
    for name in ("episodes.csv", "config.json", "label_split.json", "losses.json"):
        assert (ours / name).read_bytes() == (theirs / name).read_bytes(), name
    accuracy = [
        json.loads((each / "result.json").read_text())["test"]
        for each in (ours, theirs)
    ]
    assert accuracy[0] == accuracy[1]


@pytest.mark.slow  # tests/cli/train_test.py looks at the curves of a killed run
def test_row_01_a_stop_between_two_reports_leaves_no_trace_in_the_curves(
    finished, data_dir, tmp_path, sandbox
):
    flags = program.quick(tmp_path / "run", data_dir)
    stopped = sandbox.run("train", *flags, faults="4:SIGTERM")
    assert stopped.returncode == 143
    assert "at step 5" in stopped.stderr  # reports are at the even ones
    assert "with a checkpoint" in stopped.stderr
    assert "Traceback" not in stopped.stderr
    assert not (tmp_path / "run" / "result.json").exists()
    assert sandbox.run("train", *flags).returncode == 0
    assert harness.weights(tmp_path / "run", 12) == harness.weights(finished, 12)
    names = ("loss", "accuracy", "walker", "visit", "landing/3_steps")
    for name in names:
        found, expected = (
            harness.curve(each, f"train/{name}")
            for each in (tmp_path / "run", finished)
        )
        assert found == expected, name
    ours, theirs = ((each / "losses.json") for each in (tmp_path / "run", finished))
    assert ours.read_bytes() == theirs.read_bytes()


def test_row_03_a_second_interrupt_ends_at_once(battered):
    assert battered.interrupted.returncode == -signal.SIGINT
    assert "Traceback" not in battered.interrupted.stderr
    assert "ckpt-5_temp" in battered.left


def test_row_04_a_kill_during_a_save_loses_that_save_alone(battered):
    assert battered.killed.returncode == -signal.SIGKILL
    assert "at step 4" in battered.killed.stdout
    assert "removing" in battered.killed.stderr
    assert "ckpt-5_temp, left by a killed save" in battered.killed.stderr
    assert "ckpt-12_temp" in battered.left
    for name in ("ckpt-12_temp", ".result.json.1234.tmp"):
        assert f"{name}, left by" in battered.last.stderr
    assert not harness.leftovers(battered.workdir)


def test_row_05_a_truncated_checkpoint_is_passed_over(battered):
    assert "ckpt-8 is corrupt and passed over" in battered.last.stderr


def test_row_06_a_flipped_byte_is_noticed(battered):
    assert "ckpt-4 is corrupt and passed over" in battered.last.stderr
    assert "at step 0" in battered.last.stdout
    assert "Traceback" not in battered.last.stderr


def test_row_07_checkpoints_without_a_config_are_not_trained_over(
    finished, data_dir, tmp_path, sandbox
):
    workdir = shutil.copytree(finished, tmp_path / "run")
    (workdir / "config.json").unlink()
    result = sandbox.run("train", *program.quick(workdir, data_dir))
    program.assert_one_line(
        result, 2, "holds checkpoints", "no config.json", "--restart"
    )
    assert harness.weights(workdir, 12) == harness.weights(finished, 12)


def test_row_08_a_full_disk_while_saving(finished, data_dir, tmp_path, sandbox):
    workdir = shutil.copytree(finished, tmp_path / "run")
    flags = program.quick(workdir, data_dir, episodes=14)
    size = (workdir / "checkpoints" / "ckpt-12.data-00000-of-00001").stat().st_size
    result = sandbox.run("train", *flags, before=harness.file_limit(size - 1000))
    program.assert_one_line(
        result, 4, "cannot save step 14", "bytes needed", "free", "is intact"
    )
    assert not list((workdir / "checkpoints").glob("ckpt-14.*"))
    assert harness.weights(workdir, 12) == harness.weights(finished, 12)


def test_row_09_logs_are_given_up_and_results_are_not(
    finished, data_dir, tmp_path, sandbox
):
    workdir = shutil.copytree(finished, tmp_path / "run")
    (workdir / "tensorboard").write_text("a file, where no curve can be written")
    (workdir / "episodes.csv").unlink()
    (workdir / "episodes.csv").mkdir()
    (workdir / "result.json").unlink()
    result = sandbox.run("train", *program.quick(workdir, data_dir, episodes=14))
    assert result.returncode == 4
    assert "Traceback" not in result.stderr
    *warnings, error = result.stderr.strip().splitlines()
    [warning] = warnings
    assert "nothing more is written to" in warning  # of the curves
    assert "cannot write" in error
    assert "episodes.csv" in error
    assert (workdir / "checkpoints" / "ckpt-14.index").exists()
    assert not (workdir / "result.json").exists()


def test_row_10_a_workdir_that_may_not_be_written(data_dir, tmp_path, sandbox):
    workdir = tmp_path / "run"
    workdir.mkdir(mode=0o500)
    result = sandbox.run(
        "train",
        *program.quick(workdir, tmp_path / "no data, and none is drawn"),
        before=harness.bound_by_permissions,
    )
    program.assert_one_line(result, 2, "cannot write to workdir", "Permission denied")
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_row_12_two_processes_in_one_workdir(finished, data_dir, tmp_path, sandbox):
    flags = program.quick(tmp_path / "run", data_dir)
    first = sandbox.start("train", *flags)
    # It is said when the lock is held.
    assert first.stdout.readline().startswith("training episodes")
    second = sandbox.run("train", *flags)
    program.assert_one_line(second, 2, "another process is training in")
    first.kill()
    first.communicate()
    config = from_dict(TrainConfig, json.loads((finished / "config.json").read_text()))
    Workdir(tmp_path / "run").claim(config)  # the lock of a killed process is free


def test_row_13_an_episode_that_makes_the_loss_infinite(tmp_path, sandbox):
    toy.build("spiral", tmp_path / "data" / "spiral")
    stores = reader.open_dataset(tmp_path / "data" / "spiral")
    values = {"dataset": "spiral", "workdir": tmp_path / "run", "nocompare": None}
    values |= {"data_dir": tmp_path / "data", "episodes": 9, "checkpoint_every": 2}
    values |= {"validate_every": 2, "validation_episodes": 10, "report_every": 3}
    flags = [f"--{k}" if v is None else f"--{k}={v}" for k, v in values.items()]
    train = pools.split_labels(stores["train"], "train", ratio=0.1, seed=0)
    spec = protocol(Task("spiral", "prwn")).train
    rows = [
        set(np.concatenate([np.ravel(part) for part in planned[1:]]).tolist())
        for planned in map(plan.planner(train, spec, seed=0), range(6))
    ]
    bad = min(rows[5] - set().union(*rows[:5]))
    with (tmp_path / "data" / "spiral" / "train.bin").open("r+b") as file:
        file.seek(bad * 8)
        file.write(np.array([np.inf], "<f4").tobytes())

    result = sandbox.run("train", *flags)
    program.assert_one_line(result, 3, "not finite at step 6", "training episode 5")
    report = json.loads((tmp_path / "run" / "nan_report.json").read_text())
    assert report == {"step": 6, "episode": 5}
    checkpoints = tmp_path / "run" / "checkpoints"
    steps = sorted(path.stem for path in checkpoints.glob("*.index"))
    assert steps == ["ckpt-0", "ckpt-2", "ckpt-4"]
    assert json.loads((checkpoints / "best.json").read_text())["step"] <= 4


def test_row_26_data_altered_after_it_was_prepared(data_dir, tmp_path, sandbox):
    shutil.copytree(data_dir, tmp_path / "data")
    path = tmp_path / "data" / "glyphs" / "train.bin"
    with path.open("r+b") as file:
        file.seek(1000)
        file.write(b"\xff\xfe\xfd")
    flags = program.quick(tmp_path / "run", tmp_path / "data")
    result = sandbox.run("train", *flags, "--verify_data")
    program.assert_one_line(
        result, 2, "train.bin was altered", "expected sha256", "found"
    )
    with path.open("ab") as file:
        file.write(b"\0")
    result = sandbox.run("train", *flags)
    program.assert_one_line(result, 2, "train.bin should have", "bytes, found")


def test_a_claimed_workdir_keeps_files_of_others(tmp_path):
    (tmp_path / ".thesis.tmp").write_text("mine")
    config = from_dict(TrainConfig, minimal())
    with pytest.raises(UserError, match=r"\.thesis\.tmp"):
        Workdir(tmp_path).claim(config)
    assert (tmp_path / ".thesis.tmp").read_text() == "mine"


def minimal() -> dict:
    spec = {"way": 2, "shot": 1, "query": 1}
    return {
        "dataset": "glyphs",
        "method": "pn",
        "train": spec,
        "test": spec,
        "image_shape": [28, 28, 1],
    }
