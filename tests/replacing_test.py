"""Whatever a program that replaces a folder is stopped at, a whole one is in place."""

import functools
import itertools
import pathlib
import shutil
import signal

import pytest

from prwn_tf import replacing
from prwn_tf.data.store import reader
from tests.children import child
from tests.data.store import journal_test
from tests.faults import kills

WRITE = """
import pathlib, sys
from prwn_tf import replacing
from tests.data.store import journal_test

def refuse(*unused):
    raise OSError("a disk that cannot")

if sys.argv[2] == "cannot exchange":
    replacing._exchange = refuse
replacing.recover(pathlib.Path(sys.argv[1]))
journal_test.write(pathlib.Path(sys.argv[1]), key=sys.argv[3])
"""


def write(folder: pathlib.Path, disk: str, key: str, before=None) -> int:
    return child.run("-c", WRITE, folder, disk, key, before=before).returncode


def seen(folder: pathlib.Path) -> list[str]:
    return sorted(path.name for path in folder.parent.iterdir())


def test_a_killed_replacement_leaves_a_whole_data_set(tmp_path):
    folder = tmp_path / "made"
    journal_test.write(folder)
    for number in itertools.count(1):
        # Another key each time, so that nothing is taken up.
        die = functools.partial(kills.kill_at, number)
        code = write(folder, "can exchange", f"key {number}", before=die)
        reader.verify(folder)
        if code == 0:
            break
        assert code == -signal.SIGKILL
    assert number > 10
    assert seen(folder) == ["made"]
    assert len(list(folder.iterdir())) == 4


@pytest.mark.parametrize("disk", ["can exchange", "cannot exchange"])
def test_the_next_start_puts_back_what_was_moved_aside(tmp_path, disk):
    folder = tmp_path / "made"
    journal_test.write(folder)
    before = (folder / "train.bin").read_bytes()
    shutil.copytree(folder, tmp_path / "new")
    # As a kill between the two steps would leave it.
    folder.rename(tmp_path / ".made.old")
    replacing.recover(folder)
    assert (folder / "train.bin").read_bytes() == before
    assert write(folder, disk, "another") == 0
    reader.verify(folder)
    assert seen(folder) == ["made", "new"]


def test_what_was_replaced_before_a_kill_is_deleted(tmp_path):
    for name in ("made", ".made.old"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text(name)
    replacing.recover(tmp_path / "made")
    assert seen(tmp_path / "made") == ["made"]
    assert (tmp_path / "made" / "file").read_text() == "made"


def test_a_replacement_that_is_refused_leaves_the_old(tmp_path, monkeypatch):
    def refuse(*unused):
        raise OSError("a disk that cannot")

    monkeypatch.setattr(replacing, "_exchange", refuse)
    (tmp_path / "made").mkdir()
    with pytest.raises(FileNotFoundError):
        replacing.replace(tmp_path / "nowhere", tmp_path / "made")
    assert seen(tmp_path / "made") == ["made"]
