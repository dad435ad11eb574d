"""What is given for mini-ImageNet and is not: one line, and nothing is written."""

import itertools
import os
import tarfile

import numpy as np
import pytest

from prwn_tf.data.sets import wnids
from prwn_tf.data.store import reader
from tests.data import made
from tests.data.sets.imagenet_made import (
    mini_pickles,
    packed_folders,
    prepare,
    refused,
    wnid_folders,
)

NO_CLASS = "holds no class of mini-ImageNet; accepted are mini-imagenet-cache-"
ALL = [*itertools.chain(*wnids.mini().values())]


def test_nothing_is_given(tmp_path):
    refused(
        "mini", tmp_path, None, "made from files of yours, .* give them as .*source"
    )
    refused("mini", tmp_path, tmp_path / "nowhere", "nowhere does not exist; give wh")
    (tmp_path / "in").mkdir()
    refused("mini", tmp_path, tmp_path / "in", NO_CLASS)


def test_no_file_of_it_at_all(tmp_path):
    path = made.write(tmp_path / "in/a.txt", b"hi")
    refused("mini", tmp_path, path.parent, NO_CLASS)
    refused("mini", tmp_path, path, "neither a tar nor a zip archive")
    os.mkfifo(tmp_path / "pipe")
    refused("mini", tmp_path, tmp_path / "pipe", "neither a file nor a folder")


# --- Archives that are not whole


@pytest.mark.parametrize("keep", [0, 1, 10, 0.2, 0.5, 0.9, 0.999])
@pytest.mark.parametrize("as_folder", [False, True])
def test_a_download_that_was_cut_short(tmp_path, keep, as_folder):
    path = packed_folders(tmp_path / "made")
    content = path.read_bytes()
    cut = content[: keep if isinstance(keep, int) else int(keep * len(content))]
    path = made.write(tmp_path / "in" / path.name, cut)
    reason = {
        0: "is empty: the download failed",
        1: "is neither a tar nor a zip archive",
    }
    message = rf"mini_imagenet.tar.xz {reason.get(keep, 'cannot be unpacked')}"
    refused("mini", tmp_path, path.parent if as_folder else path, message)


def test_a_web_page_for_the_archive(tmp_path):
    path = made.write(tmp_path / "mini_imagenet.tar.xz", b"<!DOCTYPE html>")
    refused("mini", tmp_path, path, "is a web page, not an archive: the download was")


def test_an_archive_of_something_else(tmp_path):
    made.class_folders(tmp_path / "raw", ["cat", "dog"])
    with tarfile.open(tmp_path / "a.tar.xz", "w:xz") as archive:
        archive.add(tmp_path / "raw", "pictures")
    refused("mini", tmp_path, tmp_path / "a.tar.xz", rf"a.tar.xz {NO_CLASS}")


# --- Other versions


def test_the_training_classes_alone(tmp_path):
    names = wnids.mini()["train"]
    made.class_folders(tmp_path / "in", names, images=2)
    message = (
        "lacks 36 of the 100 classes of mini-ImageNet: n01855672, .* and 31 more; "
        "complete it, or accept what is there with .*allow_partial"
    )
    refused("mini", tmp_path, tmp_path / "in", message, allow_partial=None)

    stores = prepare("mini", tmp_path, tmp_path / "in")
    assert [len(store.names) for store in stores.values()] == [64, 0, 0]


def test_the_training_pickle_alone(tmp_path):
    path = mini_pickles(tmp_path / "in") / "mini-imagenet-cache-train.pkl"
    refused("mini", tmp_path, path, "lacks 98 of the 100", allow_partial=None)


def test_another_hundred_classes(tmp_path):
    tiered = itertools.chain(*wnids.tiered().values())
    others = [name for name in tiered if name not in ALL]
    made.class_folders(tmp_path / "in", [*ALL[:80], *others[:20]], images=2)
    message = "lacks 20 of the 100 classes .* n01930112, n01981276, "
    refused("mini", tmp_path, tmp_path / "in", message, allow_partial=None)


@pytest.mark.parametrize(
    "name",
    ["{label}/{index}.jpg", "house_finch_{label}/{index}.jpg", "{label}_{index}.jpg"],
)
def test_classes_that_are_not_named_by_wnid(tmp_path, name):
    for label in range(100):
        for index in range(2):
            path = tmp_path / "in" / name.format(label=label, index=index)
            made.write(path, made.png(label, index))
    refused("mini", tmp_path, tmp_path / "in", NO_CLASS)


@pytest.mark.parametrize(
    "name",
    ["{wnid}_{index}.JPEG", "{wnid}0000000{index}.jpg", "{index}.png", "{index}"],
)
def test_files_may_be_called_anything_in_class_folders(tmp_path, name):
    for label, wnid in enumerate(ALL):
        for index in range(2):
            path = tmp_path / "in/images" / wnid / name.format(wnid=wnid, index=index)
            made.write(path, made.png(label, index))
    stores = prepare("mini", tmp_path, tmp_path / "in", allow_partial=None)

    assert [len(store.names) for store in stores.values()] == [64, 16, 20]
    uneven = reader.read_manifest(tmp_path / "mini")["uneven"]
    assert uneven["classes"] == dict.fromkeys(ALL, 2)


@pytest.mark.parametrize(
    "name", ["train-00000-of-00003.parquet", "train_data.hdf5", "train.tfrecord"]
)
def test_formats_of_other_libraries(tmp_path, name):
    path = made.write(tmp_path / "in" / name, b"PAR1" + bytes(1000))
    refused("mini", tmp_path, path.parent, NO_CLASS)
    refused("mini", tmp_path, path, "neither a tar nor a zip archive")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({0: [np.zeros((84, 84, 3), np.uint8)]}, "found '0'; get mini-imagenet-cache-"),
        (
            {"data": np.zeros((2, 84, 84, 3), np.uint8), "labels": [0, 1]},
            "found 'data', 'labels'; get mini-imagenet-cache-train.pkl",
        ),
        ([np.zeros(9, np.uint8)], "found a list; get mini-imagenet-cache-train.pkl"),
    ],
    ids=["of EGNN", "of a classifier", "of tiered-ImageNet"],
)
def test_pickles_of_other_programs(tmp_path, content, message):
    path = tmp_path / "in/mini_imagenet_train.pickle"
    made.write(path, made.pickled(content, 2))
    for source in (path, path.parent):
        refused("mini", tmp_path, source, f"no keys 'image_data' .*, {message}")


def test_images_that_are_cut_short(tmp_path):
    source = wnid_folders(tmp_path / "in")
    path = source / "n01532829/1.png"
    path.write_bytes(path.read_bytes()[:50])
    refused(
        "mini", tmp_path, source, r"1 image cannot be decoded: .*n01532829/1.png is"
    )
