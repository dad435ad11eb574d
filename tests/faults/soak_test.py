"""Ten kills at random changes of the disk; a thousand by hand, with tools/soak.py."""

import functools
import itertools
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys

import pytest

from tests.children import child
from tests.faults import kills

ROOT = pathlib.Path(__file__).parents[2]
sys.path.append(str(ROOT / "tools"))
from soaking import comparing  # noqa: E402

KILLS = 10


def test_ten_kills_at_changes_of_the_disk(tmp_path):
    place = tmp_path / "data"
    command = ("-m", "prwn_tf.prepare", "--dataset=spiral", f"--data_dir={place}")
    assert child.run(*command).returncode == 0
    expected = comparing.content(place)
    chance, last = random.Random(0), KILLS * 2
    for kill in range(KILLS):
        if kill == KILLS // 2:
            shutil.rmtree(place)  # from here on there is nothing to replace
        for _ in itertools.count():
            end = functools.partial(kills.kill_at, chance.randint(1, last))
            code = child.run(*command, before=end).returncode
            if code == -signal.SIGKILL:
                break
            assert code == 0  # it changes the disk less often than that
            last -= 1
        if kill < KILLS // 2:
            found = comparing.content(place)
            there = {name: found[name] for name in expected if name in found}
            assert not comparing.differences(expected, there)
    assert child.run(*command).returncode == 0
    assert not comparing.differences(expected, comparing.content(place))


@pytest.mark.slow  # the same for every program, and changes of TensorFlow's own code
@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
def test_ten_kills_of_every_program(tmp_path):
    done = subprocess.run(
        [sys.executable, "tools/soak.py", "--kills=10", f"--soak_dir={tmp_path}"],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    last = done.stdout.splitlines()[-1]
    assert last.startswith("10 kills (")
    assert last.endswith("all files are equal")
