"""Runs our programs as a user does, in child processes."""

import os
import pathlib
import subprocess
import sys


def start(program: str, *flags: str, **environment: str) -> subprocess.Popen:
    """Starts `python -m prwn_tf.<program>` with its output in pipes."""
    return subprocess.Popen(
        [sys.executable, "-m", f"prwn_tf.{program}", *flags],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        text=True,
        env=os.environ | environment,
    )


def run(program: str, *flags: str, **environment: str) -> subprocess.CompletedProcess:
    """Runs a program to its end."""
    process = start(program, *flags, **environment)
    output, errors = process.communicate(timeout=600)
    return subprocess.CompletedProcess(process.args, process.returncode, output, errors)


def quick(
    workdir: pathlib.Path, data_dir: pathlib.Path, **changes: object
) -> list[str]:
    """Flags of a run of a few seconds on glyphs."""
    values = {
        "workdir": workdir,
        "data_dir": data_dir,
        "nocompare": None,
        "channels": 8,
        "episodes": 12,
        "train_way": 3,
        "train_unlabeled": 2,
        "checkpoint_every": 4,
        "validate_every": 6,
        "validation_episodes": 20,
        "eval_episodes": 50,
        "report_every": 2,
    } | changes
    return [
        f"--{name}" if value is None else f"--{name}={value}"
        for name, value in values.items()
    ]


def assert_one_line(
    result: subprocess.CompletedProcess, code: int, *texts: str
) -> None:
    """The program failed as promised: its code, one line, no traceback."""
    assert result.returncode == code, result.stderr
    assert "Traceback" not in result.stderr
    lines = result.stderr.strip().splitlines()
    assert len(lines) == 1, result.stderr
    for text in texts:
        assert text in lines[0]
