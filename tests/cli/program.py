"""Runs our programs as a user does, in child processes."""

import os
import pathlib
import subprocess
import sys

from tests.children import child


def start(program: str, *flags: str, **environment: str) -> child.Child:
    """Starts `python -m prwn_tf.<program>` with its output in pipes."""
    return child.start("-m", f"prwn_tf.{program}", *flags, env=os.environ | environment)


def run(program: str, *flags: str, **environment: str) -> subprocess.CompletedProcess:
    """Runs a program to its end."""
    return child.run("-m", f"prwn_tf.{program}", *flags, env=os.environ | environment)


def run_fresh(
    program: str, *flags: str, **environment: str
) -> subprocess.CompletedProcess:
    """Runs a program in an interpreter of its own, which takes seconds longer.

    Locale, time zone and what TensorFlow prints count when an interpreter starts.
    """
    return subprocess.run(
        [sys.executable, "-m", f"prwn_tf.{program}", *flags],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=600,
        env=os.environ | environment,
    )


# Half the time of a short training goes into tracing fast blocks, a third into plain
# ones. For tests of other things: plain blocks, or an encoder without any.
PLAIN = {"conv_block": "plain"}
SIMPLE = {"encoder": "mlp", "mlp_size": 8}


def quick(
    workdir: pathlib.Path, data_dir: pathlib.Path, **changes: object
) -> list[str]:
    """Flags of a run of a few seconds on glyphs."""
    values = {
        "workdir": workdir,
        "data_dir": data_dir,
        "nocompare": None,
        "episodes": 12,
        "train_way": 3,
        "train_unlabeled": 2,
        "checkpoint_every": 4,
        "validate_every": 6,
        "validation_episodes": 20,
        "eval_episodes": 50,
        "report_every": 2,
    } | changes
    if not str(changes.get("encoder")).startswith("keras"):  # which have their own
        values.setdefault("channels", 8)
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
