"""A killed writer is taken up where it stopped, and nobody else's files are touched."""

import json
import pathlib
import signal
import subprocess
import sys

import numpy as np
import pytest

from prwn_tf.data.store import reader
from prwn_tf.data.store import writer as writer_lib
from prwn_tf.data.store.journal import JOURNAL
from prwn_tf.errors import StorageError, UserError
from tests.data import made

CLASSES = [("train", "a"), ("train", "b"), ("val", "c"), ("test", "d"), ("train", "e")]


def images(name):
    random = np.random.default_rng(ord(name))
    return random.integers(0, 256, (4, 8, 8, 1), np.uint8)


def writer(directory, key="same"):
    return writer_lib.StoreWriter(
        directory, image_shape=(8, 8, 1), about={}, resume_key=key
    )


def write(directory, classes=CLASSES, key="same"):
    """Writes what is missing; returns the classes that were not."""
    with writer(directory, key) as open_writer:
        there = [each for each in classes if open_writer.has(*each)]
        for split, name in classes:
            if not open_writer.has(split, name):
                dropped = [f"{name}.png is empty"]
                batches = iter([images(name)[:3], images(name)[3:]])
                open_writer.add_batches(split, name, batches, dropped)
        open_writer.about["dropped"] = open_writer.dropped
    return there


def fail(directory, classes, error):
    with writer(directory) as open_writer:
        for split, name in classes:
            dropped = [f"{name}.png is empty"]
            open_writer.add_batches(split, name, [images(name)], dropped)
        raise error


def interrupt(directory, classes):
    with pytest.raises(KeyboardInterrupt):
        fail(directory, classes, KeyboardInterrupt)


def manifest(directory):
    return json.loads((directory / reader.MANIFEST).read_text())


@pytest.fixture
def reference(tmp_path):
    write(tmp_path / "reference")
    return manifest(tmp_path / "reference")


@pytest.mark.parametrize("done", range(len(CLASSES) + 1))
def test_an_interrupted_writer_is_continued(tmp_path, reference, done):
    interrupt(tmp_path / "new", CLASSES[:done])
    assert not (tmp_path / "new").exists()

    assert write(tmp_path / "new") == CLASSES[:done]
    assert manifest(tmp_path / "new") == reference
    reader.verify(tmp_path / "new")
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == [
        *("manifest.json", "test.bin", "train.bin", "val.bin")
    ]


def test_a_torn_class_is_written_again(tmp_path, reference):
    interrupt(tmp_path / "new", CLASSES[:2])
    with (tmp_path / ".new.incomplete/train.bin").open("ab") as file:
        file.write(b"half of an image")

    assert write(tmp_path / "new") == CLASSES[:2]
    assert manifest(tmp_path / "new") == reference


@pytest.mark.parametrize("place", [0, 300])
def test_a_damaged_class_is_written_again(tmp_path, reference, place):
    interrupt(tmp_path / "new", CLASSES[:3])
    path = tmp_path / ".new.incomplete/train.bin"
    content = bytearray(path.read_bytes())
    content[place] ^= 1
    path.write_bytes(content)

    assert write(tmp_path / "new") == CLASSES[: place // 256]
    assert manifest(tmp_path / "new") == reference


@pytest.mark.parametrize("damage", [b"", b"{", b'{"key": "same"}\n{"spl', b"[1]\nx\n"])
def test_a_damaged_journal_starts_over(tmp_path, reference, damage):
    interrupt(tmp_path / "new", CLASSES[:3])
    (tmp_path / ".new.incomplete" / JOURNAL).write_bytes(damage)

    assert write(tmp_path / "new") == []
    assert manifest(tmp_path / "new") == reference


@pytest.mark.parametrize("key", ["other", None])
def test_another_import_starts_over(tmp_path, key):
    interrupt(tmp_path / "new", [*CLASSES[:2], ("unlabeled", "u")])

    assert write(tmp_path / "new", CLASSES[3:], key) == []
    assert manifest(tmp_path / "new")["splits"]["train"]["images"] == 4
    assert not (tmp_path / "new/unlabeled.bin").exists()


KILLED = """
import os, pathlib, signal, sys
sys.path.insert(0, {root!r})
from tests.data.store import journal_test as case
with case.writer(pathlib.Path(sys.argv[1])) as writer:
    for split, name in case.CLASSES[:3]:
        writer.add_batches(split, name, [case.images(name)], [f"{{name}}.png is empty"])
    def batches():
        yield case.images("d")[:2]
        os.kill(os.getpid(), signal.SIGKILL)
    writer.add_batches("test", "d", batches())
"""


def test_a_killed_writer_is_continued(tmp_path, reference):
    root = pathlib.Path(__file__).parents[3]
    code = KILLED.format(root=str(root))
    killed = subprocess.run([sys.executable, "-c", code, str(tmp_path / "new")])

    assert killed.returncode == -signal.SIGKILL
    assert write(tmp_path / "new") == CLASSES[:3]
    assert manifest(tmp_path / "new") == reference


def test_an_error_leaves_nothing(tmp_path):
    with pytest.raises(UserError, match="a bad image"):
        fail(tmp_path / "new", CLASSES, UserError("a bad image"))
    assert list(tmp_path.iterdir()) == []


def test_two_writers_of_one_data_set(tmp_path):
    with writer(tmp_path / "new") as first:
        first.add("train", "a", images("a"))
        with pytest.raises(UserError, match="another process is writing"):
            write(tmp_path / "new")
        first.add("train", "b", images("b"))
    assert len(reader.open_dataset(tmp_path / "new")["train"]) == 8


def test_files_of_others_are_never_replaced(tmp_path):
    (tmp_path / "pictures").mkdir()
    (tmp_path / "pictures/cat.jpg").write_bytes(b"mine")
    with pytest.raises(UserError, match="holds files that are no prepared data set"):
        write(tmp_path / "pictures")

    assert (tmp_path / "pictures/cat.jpg").read_bytes() == b"mine"
    assert [path.name for path in tmp_path.iterdir()] == ["pictures"]


@pytest.mark.parametrize(
    "content",
    [
        {"manifest.json": b'{"format": "prwn_tf export"}', "saved_model.pb": b"graph"},
        {"manifest.json": b'{"name": "a web page"}'},
        {"manifest.json": b"{", "train.bin": b"somebody's"},
        {"train.bin": b"somebody's"},
    ],
)
def test_a_manifest_makes_no_data_set(tmp_path, content):
    for name, text in content.items():
        made.write(tmp_path / "new" / name, text)
    with pytest.raises(UserError, match="that are no prepared data set, and"):
        write(tmp_path / "new")
    left = {path.name: path.read_bytes() for path in (tmp_path / "new").iterdir()}
    assert left == content


def test_a_data_set_with_files_of_others_is_not_replaced(tmp_path):
    write(tmp_path / "new")
    (tmp_path / "new/thesis.txt").write_text("years of work")
    with pytest.raises(UserError, match="no prepared data set"):
        write(tmp_path / "new")
    (tmp_path / "new/thesis.txt").unlink()

    def late():
        with writer(tmp_path / "new") as open_writer:
            open_writer.add("train", "a", images("a"))
            (tmp_path / "new/thesis.txt").write_text("years of work")

    with pytest.raises(UserError, match="no prepared data set"):
        late()
    assert (tmp_path / "new/thesis.txt").read_text() == "years of work"
    assert [path.name for path in tmp_path.iterdir()] == ["new"]


def test_a_place_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match=r"cannot write .*new"):
        write(tmp_path / "file" / "new")


def test_images_of_no_class(tmp_path):
    with writer(tmp_path / "new") as open_writer:
        open_writer.add("train", "a", images("a"))
        open_writer.add(reader.UNLABELED, reader.UNLABELED, images("u"))
    stores = reader.open_dataset(tmp_path / "new")
    joined = reader.training_store(stores)

    assert len(stores[reader.UNLABELED]) == 4
    np.testing.assert_array_equal(
        joined.read(np.array([5, 0, 7, 3])),
        np.concatenate([images("a"), images("u")])[[5, 0, 7, 3]],
    )
    assert len(joined) == 8
    (tmp_path / "new/unlabeled.bin").write_bytes(bytes(4 * 64))
    with pytest.raises(UserError, match=r"unlabeled.bin was altered"):
        reader.verify(tmp_path / "new")
