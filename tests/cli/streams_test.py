"""Programs whose output is closed, full or plain ASCII do their work all the same."""

import errno
import io
import os
import subprocess
import sys

import pytest

from prwn_tf.cli import streams
from tests.children import child
from tests.cli import program


def full_and_closed() -> None:
    """For `before`: standard output is full, and standard error closed."""
    os.dup2(os.open("/dev/full", os.O_WRONLY), 1)
    os.close(2)
    sys.stderr = None


def test_a_stream_that_fails_costs_no_step(tmp_path):
    values = {"dataset": "spiral", "data_dir": tmp_path / "data", "nocompare": None}
    values |= {"workdir": tmp_path / "run", "episodes": 4, "checkpoint_every": 2}
    values |= {"validate_every": 2, "validation_episodes": 5, "eval_episodes": 5}
    flags = [f"--{k}" if v is None else f"--{k}={v}" for k, v in values.items()]
    result = child.run("-m", "prwn_tf.train", *flags, before=full_and_closed)
    assert result.returncode == 4  # what it said is lost, which is an error
    assert (tmp_path / "run" / "result.json").exists()
    assert (tmp_path / "run" / "checkpoints" / "ckpt-4.index").exists()


@pytest.mark.parametrize("closed", ["2>&-", ">&- 2>&-", "<&- >&- 2>&-"])
def test_closed_streams(tmp_path, closed):
    command = 'exec "$0" -m prwn_tf.prepare --dataset=spiral "--data_dir=$1"'
    found = subprocess.run(
        ["sh", "-c", f"{command} {closed}", sys.executable, str(tmp_path)],
        capture_output=True,
    )
    assert found.returncode == 0
    assert found.stderr == b""
    assert sorted(os.listdir(tmp_path / "spiral"))[0] == "manifest.json"


def test_signs_that_ascii_has_not(monkeypatch):
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding="ascii"))
    with streams.patient():
        print("50.00 ± 1.39 in größe")
    assert raw.getvalue() == b"50.00 +- 1.39 in gr\\xf6\\xdfe\n"


def test_the_first_failure_is_kept_and_the_rest_goes_nowhere(monkeypatch):
    with open("/dev/full", "w") as stream:
        monkeypatch.setattr(sys, "stdout", stream)
        with streams.patient() as (output, _):
            print("first")
            output.flush()
            print("second", flush=True)
            assert output.error.errno == errno.ENOSPC


@pytest.mark.parametrize(
    ("name", "flag"),
    [("export", "output"), ("predict", "query"), ("analyze", "workdir")],
)
def test_a_flag_that_is_empty(name, flag):
    given = {"workdir": "run", "output": "out", "query": "in", "model": "run"}
    needed = {
        "export": ("workdir", "output"),
        "predict": ("model", "query", "output"),
        "analyze": ("workdir",),
    }[name]
    flags = [f"--{each}={'' if each == flag else given[each]}" for each in needed]
    result = program.run(name, *flags)
    program.assert_one_line(result, 2, f"--{flag} was given and is empty", "leave it")
