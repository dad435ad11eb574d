"""One program at a time, and nothing of a killed one stays."""

import errno
import fcntl
import pathlib
import subprocess
import sys

import pytest

from prwn_tf import files, locks
from prwn_tf.data import preparation
from prwn_tf.data.store import reader
from prwn_tf.errors import StorageError, UserError
from prwn_tf.training import workdir
from tests.cli import program
from tests.data import made

ROOT = pathlib.Path(__file__).parents[1]
NAMES = [f"class {letter}" for letter in "abcdefg"]


def enter(folder):
    with locks.scratch(folder):
        pass


def test_a_scratch_folder_has_one_owner_and_goes_with_it(tmp_path):
    with locks.scratch(tmp_path / "a/b") as folder:
        made.write(folder / "deep/file", b"mine")
        with pytest.raises(UserError, match=r"is writing .*b; wait for it"):
            enter(folder)
        assert (folder / "deep/file").read_bytes() == b"mine"
    assert list((tmp_path / "a").iterdir()) == []


def test_what_a_killed_program_left_is_removed(tmp_path):
    code = (
        "import os, pathlib, sys\n"
        "from prwn_tf import locks\n"
        "with locks.scratch(pathlib.Path(sys.argv[1])) as folder:\n"
        "    (folder / 'deep').mkdir()\n"
        "    (folder / 'deep/file').write_bytes(b'gigabytes')\n"
        "    os.kill(os.getpid(), 9)\n"
    )
    subprocess.run([sys.executable, "-c", code, tmp_path / "a"], cwd=ROOT)
    assert (tmp_path / "a/deep/file").exists()
    with locks.scratch(tmp_path / "a") as folder:
        assert [path.name for path in folder.iterdir()] == [locks.LOCK]
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_was_replaced_is_not_held(tmp_path):
    """A waiting program gets the lock of a file that its owner has removed."""
    first = locks.hold(tmp_path / "a/lock")
    code = (
        "import pathlib, sys\n"
        "from prwn_tf import locks\n"
        "print('waiting', flush=True)\n"
        "file = locks.hold(pathlib.Path(sys.argv[1]), wait=True)\n"
        "print('held', flush=True)\n"
        "sys.stdin.read()\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code, tmp_path / "a/lock"],
        cwd=ROOT,
        text=True,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert process.stdout.readline() == "waiting\n"
    locks.remove(tmp_path / "a/lock")
    first.close()
    assert process.stdout.readline() == "held\n"
    with pytest.raises(UserError, match="another process"):
        locks.hold(tmp_path / "a/lock")
    process.communicate()
    locks.hold(tmp_path / "a/lock").close()


def test_a_place_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match="cannot write"):
        enter(tmp_path / "file/b")


def test_a_disk_without_locks(tmp_path, monkeypatch):
    def refuse(*unused):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", refuse)
    with pytest.raises(locks.LockingError, match="No locks available"):
        locks.hold(tmp_path / "a/lock")
    with pytest.raises(StorageError, match=r"cannot write .*No locks available"):
        enter(tmp_path / "a")
    with pytest.raises(UserError, match=r"cannot lock workdir .*: No locks available;"):
        take(tmp_path / "run")


def test_a_folder_that_was_deleted_under_our_feet(tmp_path, monkeypatch):
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    with pytest.raises(FileNotFoundError):
        locks.hold(pathlib.Path("lock"))
    with pytest.raises(UserError, match=r"cannot write to workdir \.: No such file"):
        take(pathlib.Path())


# --- Who holds them


def take(path):
    with workdir.Workdir(path).taken():
        pass


def test_a_workdir_has_one_owner(tmp_path):
    with (
        workdir.Workdir(tmp_path / "run").taken(),
        pytest.raises(UserError, match=r"another process is training in .*run; wait"),
    ):
        take(tmp_path / "run")


def test_a_workdir_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match=r"cannot write to workdir .*Not a directory"):
        take(tmp_path / "file/run")


def test_a_second_import_leaves_the_first_alone(tmp_path):
    made.class_folders(tmp_path / "in", NAMES, images=2)
    options = preparation.Options(source=tmp_path / "in", image_size=made.SIZE)
    with locks.scratch(tmp_path / "data/.folder.scratch") as scratch:
        made.write(scratch / "source/cat/1.png", b"unpacked")
        with pytest.raises(UserError, match="another process is writing"):
            preparation.prepare("folder", tmp_path / "data", options)
        assert (scratch / "source/cat/1.png").exists()
    preparation.prepare("folder", tmp_path / "data", options)
    assert [path.name for path in (tmp_path / "data").iterdir()] == ["folder"]


def test_a_data_set_is_locked_until_it_is_in_its_place(tmp_path, make_store):
    refused = []
    write_json = files.write_json

    def second_writer(path, content):
        write_json(path, content)
        with pytest.raises(UserError, match="another process") as caught:
            make_store([1, 1])
        refused.append(caught)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(files, "write_json", second_writer)
        make_store([3, 2])
    assert len(refused) == 1
    assert len(reader.open_dataset(tmp_path / "made")["train"]) == 5
    assert sorted(path.name for path in (tmp_path / "made").iterdir()) == [
        *("manifest.json", "test.bin", "train.bin", "val.bin")
    ]


def test_drawn_data_sets_are_drawn_by_one_and_awaited_by_all(tmp_path):
    code = (
        "import pathlib, sys\n"
        "from prwn_tf.data import catalog\n"
        "stores = catalog.open_prepared('glyphs', pathlib.Path(sys.argv[1]))\n"
        "print(len(stores['test']))\n"
    )
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", code, tmp_path / "data"],
            cwd=ROOT,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        for _ in range(3)
    ]
    printed = [process.communicate() for process in processes]
    assert [errors for _, errors in printed] == [""] * 3
    lines = [output.splitlines() for output, _ in printed]
    assert sorted(map(len, lines)) == [1, 1, 2]
    assert len({some[-1] for some in lines}) == 1
    assert [path.name for path in (tmp_path / "data").iterdir()] == ["glyphs"]


def test_prepare_names_the_flag_that_is_wrong(tmp_path):
    made.class_folders(tmp_path / "in", NAMES, images=2)
    result = program.run(
        "prepare",
        "--dataset=folder",
        f"--source={tmp_path / 'in'}",
        f"--unlabeled_source={tmp_path / 'nowhere'}",
        f"--data_dir={tmp_path / 'data'}",
    )
    program.assert_one_line(
        result, 2, "nowhere does not exist; give what you have as --unlabeled_source"
    )
    assert not (tmp_path / "data").exists()
