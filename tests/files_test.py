import csv
import errno
import fcntl
import os
import resource
import subprocess
import threading
import types

import pytest

from prwn_tf import files
from prwn_tf.errors import StorageError, UserError


def test_a_file_is_replaced_whole(tmp_path):
    path = tmp_path / "new folder" / "a.json"
    files.write_json(path, {"größe": [1, 2]})
    files.write_json(path, {"größe": [3]})
    assert files.read_json(path) == {"größe": [3]}
    assert [each.name for each in path.parent.iterdir()] == ["a.json"]


def test_a_full_disk_leaves_the_old_file(tmp_path):
    path = tmp_path / "a.txt"
    files.write_text(path, "old")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))
    try:
        with pytest.raises(StorageError, match=r"cannot write .*a.txt.*bytes free"):
            files.write_text(path, "new" * 1000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["a.txt"]


def test_unreadable_json(tmp_path):
    with pytest.raises(UserError, match="cannot read"):
        files.read_json(tmp_path / "missing.json")
    (tmp_path / "broken.json").write_bytes(b"\xff{")
    with pytest.raises(UserError, match="not valid JSON"):
        files.read_json(tmp_path / "broken.json")


def test_a_table(tmp_path):
    files.write_csv(tmp_path / "t.csv", ["näme", "value"], [["a,b", 1], ["c", 2]])
    text = (tmp_path / "t.csv").read_text(encoding="utf-8")
    assert text == 'näme,value\n"a,b",1\nc,2\n'


@pytest.mark.parametrize(
    "name",
    [
        "=1+1",
        "+cmd|' /C calc'!A0",
        "-2+3",
        "@SUM(A1)",
        "\t=1",
        "'quoted",
        "''",
        "=a\nb",
    ],
)
def test_no_cell_is_a_formula(tmp_path, name):
    rows = [[name, "-0.5", -1.5], ["plain", "+1e-05", ""]]
    files.write_csv(tmp_path / "t.csv", ["file", "margin", "more"], rows)
    with (tmp_path / "t.csv").open(newline="") as file:
        _, first, second = csv.reader(file)
    assert first == [f"'{name}", "-0.5", "-1.5"]  # numbers stay numbers
    assert second == ["plain", "+1e-05", ""]
    assert files.read_csv(tmp_path / "t.csv")[1:] == [
        [name, "-0.5", "-1.5"],
        ["plain", "+1e-05", ""],
    ]


def test_two_threads_may_write_one_file(tmp_path, monkeypatch):
    path = tmp_path / "classes.json"
    fsync = os.fsync

    def while_another_writes(file):
        monkeypatch.setattr(os, "fsync", fsync)
        other = threading.Thread(target=files.write_text, args=(path, "another"))
        other.start()
        other.join()
        assert path.read_text() == "another"
        fsync(file)

    monkeypatch.setattr(os, "fsync", while_another_writes)
    files.write_text(path, "the first")
    assert path.read_text() == "the first"
    assert list(tmp_path.iterdir()) == [path]


def test_what_a_dead_process_left_is_removed(tmp_path):
    dead = subprocess.Popen(["true"])
    dead.wait()
    path = tmp_path / "a [1].csv"
    abandoned = tmp_path / f".{path.name}.{dead.pid}-1.tmp"
    living = tmp_path / f".{path.name}.{os.getppid()}-1.tmp"
    elsewhere = tmp_path / f".other.csv.{dead.pid}.tmp"
    for each in (abandoned, living, elsewhere):
        each.write_text("half")
    files.write_text(path, "whole")
    kept = {path.name, living.name, elsewhere.name}
    assert {each.name for each in tmp_path.iterdir()} == kept
    abandoned.write_text("half")
    with abandoned.open() as file:  # as a program on another machine holds it
        fcntl.flock(file, fcntl.LOCK_EX)
        files.remove(path)
        assert abandoned.exists()
    files.remove(path)
    assert not abandoned.exists()
    assert not path.exists()


@pytest.mark.parametrize(
    ("number", "inodes", "texts"),
    [
        (errno.ENOSPC, 5, ["bytes free there)", "free some space"]),
        (errno.ENOSPC, 0, ["no inode for another file", "free some space"]),
        (errno.EROFS, 5, ["Read-only file system; choose another folder"]),
    ],
)
def test_the_systems_reason(tmp_path, monkeypatch, number, inodes, texts):
    room = types.SimpleNamespace(f_files=9, f_favail=inodes)
    monkeypatch.setattr(os, "statvfs", lambda path: room)
    monkeypatch.setattr(files, "free_space", lambda path: 20_889_600)
    with pytest.raises(StorageError) as caught, files.storage_errors(tmp_path / "a"):
        raise OSError(number, os.strerror(number))
    for text in texts:
        assert text in str(caught.value)


@pytest.mark.parametrize("name", ["run[1]", "r?", "*", "a\\b"])
def test_names_that_are_patterns_to_tensorflow(tmp_path, name):
    with pytest.raises(UserError, match="in its name; choose another"):
        files.check_name(tmp_path / name / "model")
    files.check_name(tmp_path / "run (1), ü]" / "model")
