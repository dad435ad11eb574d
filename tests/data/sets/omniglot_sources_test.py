"""Omniglot from every form that users have it in, and what can be wrong with it."""

import shutil

import numpy as np
import pytest

from prwn_tf.data.sets import omniglot
from prwn_tf.data.store import reader
from prwn_tf.errors import UserError
from tests.data import made
from tests.data.sets.omniglot_made import (
    as_folder_of_one_archive,
    as_folder_of_zips,
    as_halves_and_merged,
    as_links_to_alphabets,
    as_merged_folder,
    as_misnamed_tar,
    as_one_of_two_folders,
    as_one_of_two_zips,
    assert_refused,
    build,
    draw,
    drawing_path,
    encode_png,
    write_halves,
)


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    """A folder of `images_background` and `images_evaluation`, not to be changed."""
    return write_halves(tmp_path_factory.mktemp("original"))


@pytest.fixture
def halves(original, tmp_path):
    """A copy of `original` that a test may spoil."""
    return shutil.copytree(original, tmp_path / "halves")


@pytest.mark.parametrize(
    "layout",
    [
        as_merged_folder,
        as_links_to_alphabets,
        as_one_of_two_folders,
        as_halves_and_merged,
        as_misnamed_tar,
        as_folder_of_one_archive,
        as_folder_of_zips,
        as_one_of_two_zips,
    ],
)
def test_every_source_gives_the_same_data(original, tmp_path, layout):
    (tmp_path / "in").mkdir()
    build(tmp_path / "reference", original)

    build(tmp_path / "out", layout(original, tmp_path / "in"))

    reference = reader.read_manifest(tmp_path / "reference")
    assert reader.read_manifest(tmp_path / "out")["splits"] == reference["splits"]


def test_the_manifest_names_the_source(original, tmp_path):
    (tmp_path / "in").mkdir()
    source = as_misnamed_tar(original, tmp_path / "in")
    build(tmp_path / "out", source)

    manifest = reader.read_manifest(tmp_path / "out")
    assert manifest["dataset"] == "omniglot"
    assert manifest["source"][0]["file"] == "omniglot.zip"
    assert len(manifest["source"][0]["sha256"]) == 64


# --- What can be wrong with it


def test_a_missing_source_is_refused(tmp_path):
    assert_refused(tmp_path / "out", tmp_path / "nowhere", "nowhere does not exist")


def test_an_empty_folder_is_refused(tmp_path):
    (tmp_path / "in").mkdir()
    assert_refused(tmp_path / "out", tmp_path / "in", "holds no Omniglot drawing")


def test_a_pickle_of_others_is_named(tmp_path):
    images = np.zeros((2, 28, 28, 1), np.uint8)
    content = {"images": images, "labels": np.array([0, 1]), "label_str": ["a", "b"]}
    path = tmp_path / "in/train_vinyals_aug90.pkl"
    made.write(path, made.pickled(content, "python2"))
    for source in (path, path.parent):
        message = r"vinyals_aug90.pkl is a pickle; .* give .*source the folder with im"
        assert_refused(tmp_path / "out", source, message)


def test_half_of_omniglot_is_refused(halves, tmp_path):
    shutil.rmtree(halves / "images_background")
    assert_refused(
        tmp_path / "out",
        halves,
        "lacks 3 of 4 characters: Angelic/character01, Hebrew/character01, .*source",
    )


def test_a_long_list_of_missing_characters_is_cut(original, tmp_path):
    with pytest.raises(UserError, match=r"lacks 1,6\d\d of .* and 1,6\d\d more; give"):
        omniglot.build(tmp_path / "out", source=original)


def test_a_missing_drawing_is_refused(halves, tmp_path):
    drawing_path(halves / "images_background", "Hebrew/character01", 7).unlink()
    assert_refused(
        tmp_path / "out", halves, "1 character of .* each: Hebrew/character01 has 19;"
    )


def test_a_drawing_too_many_is_refused(halves, tmp_path):
    path = drawing_path(halves / "images_background", "Hebrew/character01", 7)
    shutil.copy(path, path.with_name("0003_21.png"))
    assert_refused(tmp_path / "out", halves, "Hebrew/character01 has 21;")


@pytest.mark.parametrize("content", [b"", b"<!DOCTYPE html>", b"\x89PNG\r\n\x1a\ncut"])
def test_a_file_that_is_no_image_is_refused(halves, tmp_path, content):
    path = drawing_path(halves / "images_background", "Angelic/character01", 3)
    path.write_bytes(content)
    assert_refused(
        tmp_path / "out",
        halves,
        "1 drawing cannot be used: .*Angelic/character01/0001_03.png is not a PNG",
    )


def test_a_truncated_image_is_refused(halves, tmp_path):
    path = drawing_path(halves / "images_background", "Angelic/character01", 3)
    path.write_bytes(path.read_bytes()[:60])
    assert_refused(tmp_path / "out", halves, "0001_03.png is not a PNG")


def test_images_of_another_size_are_refused(halves, tmp_path):
    for drawer in range(1, 9):
        path = drawing_path(halves / "images_background", "Hebrew/character01", drawer)
        path.write_bytes(encode_png(np.zeros((28, 30), np.uint8)))
    assert_refused(
        tmp_path / "out",
        halves,
        "8 drawings cannot be used: .*_01.png has 28x30 pixels, .* and 3 more; .*105x",
    )


def test_two_versions_of_a_drawing_are_refused(halves, tmp_path):
    as_merged_folder(halves, halves)
    path = drawing_path(halves / "images_all", "Hebrew/character01", 7)
    path.write_bytes(encode_png(draw("other", 1)))
    assert_refused(tmp_path / "out", halves, "differs from another drawing 7 of Hebrew")


def test_a_web_page_for_one_of_two_zips_is_refused(original, tmp_path):
    (tmp_path / "in").mkdir()
    source = as_folder_of_zips(original, tmp_path / "in")
    (source / "images_evaluation.zip").write_text("<!DOCTYPE html>")
    assert_refused(
        tmp_path / "out", source, "images_evaluation.zip is a web page, not an archive"
    )


def test_a_folder_of_other_archives_is_refused(original, tmp_path):
    (tmp_path / "in").mkdir()
    source = as_misnamed_tar(original, tmp_path / "in")
    shutil.copy(source, source.with_name("another.tar"))
    assert_refused(
        tmp_path / "out", source.parent, "2 archives: another.tar, omniglot.zip; give"
    )
