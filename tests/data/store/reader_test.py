import gc
import json
import os

import numpy as np
import pytest

from prwn_tf.data.store import reader
from prwn_tf.data.store import writer as writer_lib
from prwn_tf.errors import UserError


@pytest.fixture
def folder(make_store):
    return make_store([3, 5, 2])["train"].path.parent


def test_reads_what_was_written(folder):
    part = reader.open_dataset(folder)["train"]
    assert part.names == ("class0", "class1", "class2")
    assert len(part) == 10
    assert list(part.rows(1)) == [3, 4, 5, 6, 7]
    np.testing.assert_array_equal(part.labels(), [0, 0, 0, 1, 1, 1, 1, 1, 2, 2])
    images = part.read(np.array([9, 3, 3]))
    np.testing.assert_array_equal(images[:, 0, 0, 0], [2, 1, 1])
    np.testing.assert_array_equal(images[:, 0, 1, 0], [1, 0, 0])
    np.testing.assert_array_equal(part.images[[9, 3, 3]], images)
    assert isinstance(part.images, np.memmap)
    reader.verify(folder)


def test_nothing_appears_when_writing_fails(tmp_path):
    def fail():
        with writer_lib.StoreWriter(
            tmp_path / "new", image_shape=(2, 2, 1), about={}
        ) as writer:
            writer.add("train", "a", np.zeros((1, 2, 2, 1), np.uint8))
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert list(tmp_path.iterdir()) == []


def test_an_older_version_is_replaced_only_when_the_new_one_is_whole(folder):
    old = (folder / "manifest.json").read_text()
    with (
        pytest.raises(RuntimeError),
        writer_lib.StoreWriter(folder, image_shape=(2, 2, 1), about={}),
    ):
        raise RuntimeError
    assert (folder / "manifest.json").read_text() == old
    with writer_lib.StoreWriter(
        folder, image_shape=(2, 2, 1), about={"note": 1}
    ) as writer:
        writer.add("train", "a", np.zeros((1, 2, 2, 1), np.uint8))
    assert reader.read_manifest(folder)["note"] == 1
    assert [path.name for path in folder.parent.iterdir()] == [folder.name]


def test_a_program_goes_on_with_the_data_that_it_opened(folder):
    rows = np.array([9, 3])
    opened, before = reader.open_dataset(folder), reader.open_dataset(folder)
    expected = before["train"].read(rows)
    with writer_lib.StoreWriter(folder, image_shape=(2, 2, 1), about={}) as writer:
        writer.add("train", "a", np.full((10, 2, 2, 1), 99, np.uint8))

    np.testing.assert_array_equal(opened["train"].read(rows), expected)


def test_leftovers_of_a_killed_program_are_removed(folder, make_store):
    leftover = folder.with_name(f".{folder.name}.incomplete")
    leftover.mkdir()
    (leftover / "train.bin").write_bytes(b"half")
    make_store([1, 1])
    assert not leftover.exists()


@pytest.mark.parametrize(
    "images",
    [np.zeros((1, 2, 2, 1), np.float32), np.zeros((1, 3, 2, 1), np.uint8)],
)
def test_wrong_images_are_refused(tmp_path, images):
    with (
        writer_lib.StoreWriter(
            tmp_path / "x", image_shape=(2, 2, 1), about={}
        ) as writer,
        pytest.raises(ValueError, match="class 'a': expected uint8"),
    ):
        writer.add("train", "a", images)


def test_two_classes_of_one_name_are_refused(tmp_path):
    image = np.zeros((1, 2, 2, 1), np.uint8)
    with writer_lib.StoreWriter(
        tmp_path / "x", image_shape=(2, 2, 1), about={}
    ) as writer:
        writer.add("train", "a", image)
        with pytest.raises(UserError, match="'a'"):
            writer.add("train", "a", image)


def test_a_flipped_byte_is_found_by_its_hash(folder):
    path = folder / "val.bin"
    content = bytearray(path.read_bytes())
    content[100] ^= 1
    path.write_bytes(content)
    reader.open_dataset(folder)  # the size is right
    with pytest.raises(UserError, match=r"val.bin was altered: expected sha256"):
        reader.verify(folder)


def test_a_truncated_file_is_found_by_its_size(folder):
    path = folder / "test.bin"
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(UserError, match=r"test.bin should have 640 bytes, found 639"):
        reader.open_dataset(folder)
    path.unlink()
    with pytest.raises(UserError, match="no such file"):
        reader.open_dataset(folder)


@pytest.mark.parametrize(
    "change",
    [
        {"splits": None},
        {"splits": {}},
        {"splits": {"train": {"classes": ["a"]}}},
        {"image_shape": "large"},
        {"format": 99},
    ],
)
def test_a_damaged_manifest(folder, change):
    path = folder / "manifest.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(UserError, match="prepare the data again"):
        reader.open_dataset(folder)


def test_files_are_closed_with_their_store(folder):
    gc.collect()
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(5):
        reader.open_dataset(folder)["train"].read(np.array([0]))
    gc.collect()
    assert len(os.listdir("/proc/self/fd")) == before
