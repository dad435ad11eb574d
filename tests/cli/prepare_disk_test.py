"""prepare on a disk that is full, or that cannot be written."""

import os
import zipfile

from tests.children import child
from tests.cli import program
from tests.data import made
from tests.faults import harness

NAMES = [f"class {letter}" for letter in "abcdefghijkl"]


def test_a_target_that_cannot_be_written(tmp_path):
    made.class_folders(tmp_path / "in", NAMES, images=2)
    (tmp_path / "data").write_text("a file")
    result = program.run(
        *("prepare", "--dataset=folder", f"--source={tmp_path / 'in'}"),
        f"--data_dir={tmp_path / 'data'}",
    )
    program.assert_one_line(result, 4, "cannot write", "data", "Not a directory")


def test_a_disk_that_fills_up(tmp_path):
    made.class_folders(tmp_path / "in", NAMES, images=40)
    result = child.run(
        *("-m", "prwn_tf.prepare", "--dataset=folder", "--image_size=64"),
        *(f"--source={tmp_path / 'in'}", f"--data_dir={tmp_path / 'data'}"),
        before=harness.file_limit(2**21),
    )
    program.assert_one_line(result, 4, "cannot write", "File too large", "free some")
    assert not any((tmp_path / "data").iterdir())


def test_a_disk_that_fills_up_while_unpacking(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("cat/1.png", os.urandom(2**21))
    result = child.run(
        *("-m", "prwn_tf.prepare", "--dataset=folder"),
        *(f"--source={tmp_path / 'a.zip'}", f"--data_dir={tmp_path / 'data'}"),
        before=harness.file_limit(2**20),
    )
    where = f"cannot write {tmp_path / 'data'}"
    program.assert_one_line(result, 4, where, "File too large", "free some")
    assert not any((tmp_path / "data").iterdir())
