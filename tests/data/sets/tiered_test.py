"""tiered-ImageNet, from every layout that users have, into the same store."""

import numpy as np
import pytest

from prwn_tf.data.store import reader
from tests.data import made
from tests.data.sets.imagenet_made import (
    TIERED,
    arrays,
    assert_right,
    folder_of_tars,
    ilsvrc,
    ilsvrc_tar,
    named_in_words,
    pickles_beside_arrays,
    png_pickles,
    prepare,
    refused,
    tiered_labels,
)


@pytest.mark.parametrize(
    ("layout", "words"),
    [
        (png_pickles, "pickles of PNG images"),
        (lambda folder: png_pickles(folder, 3), "pickles of PNG images"),
        (arrays, "arrays of pixels, blue first"),
        (lambda folder: arrays(folder, np.savez_compressed), "arrays of pixels"),
        (pickles_beside_arrays, "pickles of PNG images"),
        (ilsvrc, "class folders"),
        (ilsvrc_tar, "class folders"),
        (folder_of_tars, "class folders"),
        (named_in_words, "pickles of PNG images"),
    ],
)
def test_every_layout_of_tiered(tmp_path, layout, words):
    (tmp_path / "in").mkdir()
    stores = prepare("tiered", tmp_path, layout(tmp_path / "in"))

    assert_right(stores, TIERED)
    assert words in reader.read_manifest(tmp_path / "tiered")["layout"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in", "tiered"]


def test_classes_and_images_of_others_are_counted(tmp_path):
    prepare("tiered", tmp_path, ilsvrc(tmp_path / "in"))
    assert reader.read_manifest(tmp_path / "tiered")["skipped"] == {
        "validation images of ILSVRC-2012": 2,
        "classes that tiered-ImageNet does not have": 1,
    }


def test_names_in_words_keep_the_split_of_their_file(tmp_path):
    source = named_in_words(tmp_path / "in")
    (source / "synsets.txt").unlink()
    refused("tiered", tmp_path, source, "lacks 602 of the 608", allow_partial=None)

    stores = prepare("tiered", tmp_path, source)
    assert [len(part.names) for part in stores.values()] == [2, 2, 2]
    assert all("Avis" in name for part in stores.values() for name in part.names)
    assert reader.read_manifest(tmp_path / "tiered")["partial"] == {
        "missing": 602,
        "of": 608,
        "classes": [],  # which ones cannot be told
    }


def test_labels_that_do_not_fit(tmp_path):
    source = png_pickles(tmp_path / "in")
    content = {"label_specific": [0, 1], "label_specific_str": ["n1", "n2"]}
    path = made.write(source / "val_labels.pkl", made.pickled(content, 2))
    refused("tiered", tmp_path, source, "6 images but val_labels.pkl has 2 labels")

    content["label_specific"] = np.array([0, 1, 0, 7, 1, 0])
    path.write_bytes(made.pickled(content, 2))
    refused("tiered", tmp_path, source, "image 3 has label 7, but .* names 2 classes")

    path.write_bytes(made.pickled({"labels": [0, 1]}, 2))
    message = r"val_images_png.pkl was given without its labels; .* val_labels.pkl"
    refused("tiered", tmp_path, source, message)
    refused("tiered", tmp_path, source / "val_images_png.pkl", message)


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ({0: "n1", "a": "n2"}, "should be a list, or number -> name, found a dict"),
        ([["n1"], "n2"], "'label_specific_str' should be of names, found a list"),
        (3, "should be a list, or number -> name, found a int"),
    ],
)
def test_names_that_are_none(tmp_path, names, message):
    source = png_pickles(tmp_path / "in")
    tiered_labels(source, "val", 2, names)
    refused("tiered", tmp_path, source, message)


def test_names_by_number(tmp_path):
    source = png_pickles(tmp_path / "in")
    tiered_labels(source, "val", 2, dict(enumerate(TIERED["val"])))
    assert_right(prepare("tiered", tmp_path, source), TIERED)


@pytest.mark.parametrize(
    ("item", "message"),
    [
        (
            np.zeros((4, 4), np.uint8),
            "image 6 should be .* found an array of .4, 4. uint8",
        ),
        (np.zeros(9), "image 6 should be .* found an array of .9,. float64"),
        ("text", "image 6 should be an array .* found a str"),
    ],
)
def test_wrong_lists_of_images(tmp_path, item, message):
    source = png_pickles(tmp_path / "in")
    images = [np.zeros(9, np.uint8)] * 6
    path = source / "test_images_png.pkl"
    path.write_bytes(made.pickled([*images, item], 4))
    refused("tiered", tmp_path, source, message)


def test_an_image_of_a_pickle_that_cannot_be_decoded(tmp_path):
    source = png_pickles(tmp_path / "in")
    path = source / "test_images_png.pkl"
    path.write_bytes(made.pickled([np.zeros(9, np.uint8)] * 6, 4))
    refused(
        "tiered", tmp_path, source, "6 images cannot be .* image 0 of test_images_png"
    )


def test_a_file_without_a_split_in_its_name(tmp_path):
    source = png_pickles(tmp_path / "in")
    (source / "test_labels.pkl").rename(source / "labels.pkl")
    refused(
        "tiered", tmp_path, source, "labels.pkl should have train, val or test in it"
    )
