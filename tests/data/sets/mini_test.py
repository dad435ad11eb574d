"""mini-ImageNet, from every layout that users have, into the same store."""

import itertools
import shutil

import numpy as np
import pytest

from prwn_tf.data.sets import wnids
from prwn_tf.data.store import reader
from tests.data import made
from tests.data.sets.imagenet_made import (
    IMAGES,
    MINI,
    assert_right,
    mini_pickles,
    misplaced_folders,
    named_folders,
    packed_folders,
    packed_pickles,
    prepare,
    ravi_files,
    refused,
    wnid_folders,
    zipped_folders,
)


@pytest.mark.parametrize(
    ("layout", "words"),
    [
        (mini_pickles, "pickles of pixels"),
        (lambda folder: mini_pickles(folder, 2), "pickles of pixels"),
        (lambda folder: mini_pickles(folder, 4), "pickles of pixels"),
        (ravi_files, "files named by their wnid"),
        (lambda folder: ravi_files(folder, lists=True), "and csv files"),
        (wnid_folders, "class folders"),
        (misplaced_folders, "class folders"),
        (named_folders, "class folders"),
        (zipped_folders, "class folders"),
        (packed_folders, "class folders"),
        (packed_pickles, "pickles of pixels"),
    ],
)
def test_every_layout_of_mini(tmp_path, layout, words):
    stores = prepare("mini", tmp_path, layout(tmp_path / "in"))

    assert_right(stores, MINI)
    assert words in reader.read_manifest(tmp_path / "mini")["layout"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in", "mini"]


def test_all_classes_of_mini_need_no_permission(tmp_path):
    names = [*itertools.chain(*wnids.mini().values())]
    made.class_folders(tmp_path / "in", names, images=2)
    stores = prepare("mini", tmp_path, tmp_path / "in", allow_partial=None)

    assert [len(part.names) for part in stores.values()] == [64, 16, 20]
    assert "partial" not in reader.read_manifest(tmp_path / "mini")
    assert stores["val"].names == tuple(wnids.mini()["val"])


def test_missing_classes_are_counted_and_named(tmp_path):
    source = wnid_folders(tmp_path / "in")
    refused(
        "mini",
        tmp_path,
        source,
        "lacks 94 of the 100 classes of mini-ImageNet: n01704323, .*allow_partial",
        allow_partial=None,
    )


def test_a_partial_copy_is_recorded(tmp_path):
    prepare("mini", tmp_path, wnid_folders(tmp_path / "in"))
    partial = reader.read_manifest(tmp_path / "mini")["partial"]

    assert partial["missing"] == len(partial["classes"]) == 94
    assert "n01532829" not in partial["classes"]


def test_uneven_classes_are_recorded(tmp_path):
    prepare("mini", tmp_path, wnid_folders(tmp_path / "in"))
    uneven = reader.read_manifest(tmp_path / "mini")["uneven"]

    assert uneven["published"] == 600
    assert uneven["classes"]["n01532829"] == IMAGES


@pytest.mark.parametrize(
    "written", [str.encode, lambda text: text.replace(",", ";").encode("utf-8-sig")]
)
def test_csv_files_choose_among_more_images(tmp_path, written):
    wnid_folders(tmp_path / "in")
    name = MINI["train"][0]
    text = f"class_name,image_name\n{name},1.JPEG\n{name},2.JPEG\n"
    made.write(tmp_path / "in/train.csv", written(text))
    stores = prepare("mini", tmp_path, tmp_path / "in")

    counts = dict(zip(stores["train"].names, stores["train"].counts, strict=True))
    assert counts == {MINI["train"][0]: 2, MINI["train"][1]: IMAGES}
    skipped = reader.read_manifest(tmp_path / "mini")["skipped"]
    assert skipped["images that the csv files do not list"] == 1


def test_a_file_in_two_folders_counts_once(tmp_path):
    source = wnid_folders(tmp_path / "in")
    name = MINI["test"][0]
    shutil.copytree(source / name, source / "train" / name)

    assert_right(prepare("mini", tmp_path, source), MINI)
    skipped = reader.read_manifest(tmp_path / "mini")["skipped"]
    assert skipped["copies of another file"] == IMAGES


def test_two_files_of_one_name_in_different_folders(tmp_path):
    source = wnid_folders(tmp_path / "in")
    name = MINI["test"][0]
    made.write(source / "train" / name / "0.png", made.png(77, 0))

    message = f"class {name} has two different images of the same name: .*train"
    refused("mini", tmp_path, source, message)


def test_a_class_in_two_pickles(tmp_path):
    source = mini_pickles(tmp_path / "in")
    path = source / "mini-imagenet-cache-val.pkl"
    path.write_bytes((source / "mini-imagenet-cache-test.pkl").read_bytes())
    refused(
        "mini", tmp_path, source, r"class n\d+ is in image 0 of mini-.* and in image"
    )


def test_images_of_another_size(tmp_path):
    stores = prepare("mini", tmp_path, mini_pickles(tmp_path / "in"), image_size=20)
    assert stores["train"].image_shape == (20, 20, 3)
    assert (
        stores["val"].images[:, :, :, 0] == stores["val"].images[:, :1, :1, 0]
    ).all()


def spoiled(folder, **changes):
    """A pickle of mini-ImageNet with other values."""
    content = {
        "image_data": np.zeros((4, 8, 8, 3), np.uint8),
        "class_dict": {"n01532829": [0, 1], "n01558993": [2, 3]},
    }
    content |= changes
    content = {key: value for key, value in content.items() if value is not None}
    made.write(folder / "mini-imagenet-cache-train.pkl", made.pickled(content, 2))
    return folder


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"image_data": None},
            r"cache-train.pkl has no key 'image_data', found 'class_di",
        ),
        ({"class_dict": None}, "has no key 'class_dict', found 'image_data'"),
        (
            {"image_data": None, "class_dict": None, "data": 1},
            "no keys .*, found 'data'; get",
        ),
        (
            {"image_data": np.zeros((4, 8, 8), np.uint8)},
            "found an array of .4, 8, 8. u",
        ),
        ({"image_data": np.zeros((4, 8, 8, 3))}, "'image_data' should be .* float64"),
        (
            {"image_data": [np.zeros((8, 8, 3))]},
            "'image_data' should be .*found a list",
        ),
        ({"class_dict": [1, 2]}, "'class_dict' should be a dictionary .* found a list"),
        (
            {"class_dict": {"n01532829": [0, 4]}},
            r"class_dict\[n01532829\].* has row 4, b",
        ),
        ({"class_dict": {"n01532829": [-1, 2]}}, "has row -1, but 'image_data' has 4"),
        ({"class_dict": {"n01532829": [1, 1]}}, "has a row twice"),
        ({"class_dict": {"n01532829": [[1], [2, 3]]}}, "should be a list of whole num"),
        ({"class_dict": {"n01532829": "abc"}}, "whole numbers, found a str"),
        ({"class_dict": {"n01532829": range(10**15)}}, "has row 4"),
        ({"class_dict": {"n01532829": [10**30]}}, "whole numbers"),
        (
            {"class_dict": {"n01532829": [1]}},
            "class 'n01532829' .* has 1 image, at leas",
        ),
        ({"class_dict": {"cat": [0, 1]}}, "holds no class of mini-ImageNet; accepted"),
    ],
)
def test_wrong_pickles_of_mini(tmp_path, changes, message):
    refused("mini", tmp_path, spoiled(tmp_path / "in", **changes), message)


@pytest.mark.parametrize("as_file", [False, True])
def test_a_web_page_for_a_pickle(tmp_path, as_file):
    path = made.write(tmp_path / "in/mini-imagenet-cache-train.pkl", b"<!DOCTYPE html>")
    message = "is a web page.*the download was refused"
    refused("mini", tmp_path, path if as_file else path.parent, message)


def test_one_pickle_is_a_source_too(tmp_path):
    source = mini_pickles(tmp_path / "in") / "mini-imagenet-cache-val.pkl"
    stores = prepare("mini", tmp_path, source)
    assert [len(part.names) for part in stores.values()] == [0, 2, 0]
