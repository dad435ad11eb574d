"""One training by several processes on loopback: trained, killed, taken up, refused."""

import json
import os
import pathlib
import shutil
import subprocess
import sys

import numpy as np
import pytest

from tests.children import child
from tests.cli import program
from tests.faults import harness
from tools import cluster

ROOT = pathlib.Path(__file__).parents[2]


def start(workdir, data_dir, count=2, **changes) -> list[child.Child]:
    """Starts all workers of a run of 12 episodes; the first is the chief."""
    flags = program.quick(workdir, data_dir, **program.PLAIN | changes)
    return [
        program.start("train", *flags, **each) for each in cluster.environments(count)
    ]


def ends(workers: list[child.Child]) -> list[subprocess.CompletedProcess]:
    """Waits for all workers."""
    outputs = [worker.communicate(timeout=120) for worker in workers]
    return [
        subprocess.CompletedProcess(worker.args, worker.returncode, *output)
        for worker, output in zip(workers, outputs, strict=True)
    ]


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory, data_dir) -> pathlib.Path:
    """The workdir of a run by two workers."""
    workdir = tmp_path_factory.mktemp("cluster") / "two"
    chief, other = ends(start(workdir, data_dir))
    assert chief.returncode == 0, chief.stderr
    assert "a step:            2 episodes, one a replica" in chief.stdout
    assert "12 episodes trained" in chief.stdout
    assert (other.returncode, other.stdout, other.stderr) == (0, "", "")
    assert chief.stderr == ""
    return workdir


def mirrored(workdir, data_dir, **changes) -> subprocess.CompletedProcess:
    """Runs the same training on two devices of one process."""
    flags = program.quick(
        workdir, data_dir, strategy="mirrored", **program.PLAIN | changes
    )
    run = child.start("-m", "prwn_tf.train", *flags, before=harness.two_devices)
    return ends([run])[0]


def test_two_workers_make_one_run(unbroken):
    steps = [step for step, _ in harness.curve(unbroken, "train/loss")]
    assert steps == [2, 4, 6, 8, 10, 12]
    assert json.loads((unbroken / "result.json").read_text())["step"] == 12
    assert (
        harness.tensors(unbroken, 12)[
            "optimizer/_iterations/.ATTRIBUTES/VARIABLE_VALUE"
        ]
        == 6
    )


@pytest.mark.slow
def test_two_workers_train_as_two_devices_do(unbroken, tmp_path, data_dir):
    """Episodes of a step are the same set, wherever they land."""
    result = mirrored(tmp_path / "mirrored", data_dir)
    assert result.returncode == 0, result.stderr
    assert result.stderr == ""
    both = [harness.tensors(each, 12) for each in (unbroken, tmp_path / "mirrored")]
    assert both[0].keys() == both[1].keys()
    for name, value in both[0].items():
        np.testing.assert_allclose(value, both[1][name], 1e-3, 1e-5, err_msg=name)


@pytest.mark.slow
def test_other_replicas_go_on_where_it_stopped(tmp_path, data_dir):
    """Two devices go on from the step that one has made, in whole steps."""
    flags = program.quick(tmp_path, data_dir, **program.PLAIN | {"episodes": 3})
    assert program.run("train", *flags).returncode == 0
    last = mirrored(tmp_path, data_dir, episodes=8)
    assert "at step 3" in last.stdout, last.stderr
    assert "9 episodes trained" in last.stdout
    assert json.loads((tmp_path / "config.json").read_text())["episodes"] == 9


@pytest.mark.slow
def test_a_lost_worker_ends_the_others_and_all_go_on(unbroken, tmp_path, data_dir):
    for lost in (1, 0):
        workers = start(tmp_path, data_dir)
        for line in workers[0].stdout:
            if line.startswith("step 6: validation"):
                break
        workers[lost].kill()
        results = ends(workers)
        assert results[lost].returncode == -9
        words = f"worker {1 - lost} lost another one", "start all workers again"
        program.assert_one_line(results[1 - lost], 5, *words)
    results = ends(start(tmp_path, data_dir))
    assert [each.returncode for each in results] == [0, 0], results
    assert "at step 4" in results[0].stdout
    assert harness.weights(unbroken, 12) == harness.weights(tmp_path, 12)


@pytest.mark.slow
def test_a_signal_to_any_worker_stops_all_with_a_checkpoint(tmp_path, data_dir):
    workers = start(tmp_path, data_dir, episodes=2000)
    for line in workers[0].stdout:
        if line.startswith("step 6: validation"):
            break
    workers[1].terminate()
    chief, other = ends(workers)
    program.assert_one_line(chief, 143, "stopped by SIGTERM at step", "continues")
    program.assert_one_line(other, 143, "stopped with the other workers at step")
    step = int(chief.stderr.partition("at step ")[2].split()[0])
    assert (tmp_path / "checkpoints" / f"ckpt-{step}.index").exists()
    assert other.stderr.strip().endswith(f"at step {step}")


@pytest.mark.slow
def test_three_workers_by_the_tool(tmp_path, data_dir):
    flags = program.quick(tmp_path / "three", data_dir, **program.PLAIN)
    result = subprocess.run(
        [sys.executable, "tools/cluster.py", "--workers=3", "--", *flags],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=200,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )
    assert result.returncode == 0, result.stderr
    assert "12 episodes trained" in result.stdout
    steps = [step for step, _ in harness.curve(tmp_path / "three", "train/loss")]
    assert steps == [3, 6, 9, 12]


@pytest.mark.parametrize(
    ("flags", "variable", "texts"),
    [
        ({"strategy": "multi_worker"}, "", ["TF_CONFIG", "is not set"]),
        ({}, "{", ["TF_CONFIG cannot be understood"]),
        (
            {},
            '{"cluster": {"worker": ["a:1", "b:2"]}, "task": '
            '{"type": "worker", "index": 2}}',
            ["there is no worker 2"],
        ),
        (
            {},
            '{"cluster": {"ps": ["a:1"]}, "task": {"type": "ps", "index": 0}}',
            ["only chief and worker train"],
        ),
        ({"strategy": "mirrored"}, "", ["one device", "--strategy=one"]),
    ],
)
def test_what_cannot_be_is_one_line(tmp_path, data_dir, flags, variable, texts):
    flags = program.quick(tmp_path / "run", data_dir, **flags)
    result = program.run("train", *flags, TF_CONFIG=variable)
    program.assert_one_line(result, 2, *texts)


def test_a_restart_that_is_refused_deletes_nothing(tmp_path, data_dir, finished):
    copy = shutil.copytree(finished, tmp_path / "run")
    flags = program.quick(copy, data_dir, strategy="mirrored", restart=None)
    program.assert_one_line(program.run("train", *flags), 2, "found one device")
    assert (copy / "result.json").exists()
    assert harness.weights(copy, 12) == harness.weights(finished, 12)
