"""Ten kills at random moments; a thousand by hand, with tools/soak.py itself."""

import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[2]


@pytest.mark.slow  # tests/faults/training_test.py kills at chosen moments
def test_ten_kills_at_random_moments_change_no_weight(tmp_path):
    done = subprocess.run(
        [
            *(sys.executable, "tools/soak.py", "--dataset=spiral", "--kills=10"),
            f"--soak_dir={tmp_path / 'soak'}",
        ],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    last = done.stdout.splitlines()[-1]
    assert last.startswith("10 kills in")
    assert last.endswith("weights are equal")
