"""Which data set is made from what, where it goes, and what it replaces."""

import dataclasses
import json
import shutil

import numpy as np
import pytest

from prwn_tf.data import catalog, preparation
from prwn_tf.data.store import reader, summary
from prwn_tf.errors import UserError
from tests.data import made
from tests.data.packing import content_of, packed

NAMES = [f"class {letter}" for letter in "abcdefg"]


@pytest.fixture
def source(tmp_path):
    return made.class_folders(tmp_path / "in", NAMES, images=4)


def prepare(tmp_path, source, **options):
    options = {"image_size": made.SIZE, "replace": True} | options
    preparation.prepare(
        "folder", tmp_path, preparation.Options(source=source, **options)
    )
    return reader.open_dataset(tmp_path / "folder")


def test_what_is_replaced_is_said(tmp_path, source):
    options = preparation.Options(source=source, image_size=made.SIZE)
    found = f"found own images in class folders in {source}: 28 images"
    with preparation.described("folder", tmp_path, options) as plan:
        assert plan.lines == (found,)
        plan.write()
    with (
        pytest.raises(UserError, match=f"already, from {source}.* replace"),
        preparation.described("folder", tmp_path, options),
    ):
        pass
    options = dataclasses.replace(options, replace=True)
    with preparation.described("folder", tmp_path, options) as plan:
        replaced = f"this replaces the data set of {source}"
        assert plan.lines == (found, replaced)


def test_what_is_only_described_is_not_written(tmp_path, source):
    options = preparation.Options(source=source, image_size=made.SIZE)
    with preparation.described("folder", tmp_path, options):
        pass
    assert [path.name for path in tmp_path.iterdir()] == ["in"]


def test_images_without_labels(tmp_path, source):
    made.class_folders(source, ["loose"], images=5)
    stores = prepare(tmp_path, source, unlabeled_source=source / "loose")

    assert len(stores[reader.UNLABELED]) == 5
    assert "loose" not in json.dumps(
        reader.read_manifest(tmp_path / "folder")["splits"]
    )
    assert "without a class: 5 images" in summary.lines(tmp_path / "folder")


def test_images_of_the_source_are_not_taken_for_unlabelled_ones(tmp_path, source):
    """Those that are held out for test would be trained on."""
    made.class_folders(tmp_path / "all", ["loose"], images=5)
    source = source.rename(tmp_path / "all/labelled")
    stores = prepare(tmp_path, source, unlabeled_source=tmp_path / "all")

    assert len(stores[reader.UNLABELED]) == 5
    with pytest.raises(UserError, match="and unlabeled_source are both"):
        prepare(tmp_path, source, unlabeled_source=source / "class a/..")
    shutil.rmtree(tmp_path / "all/loose")
    with pytest.raises(UserError, match="holds no images that are not in source"):
        prepare(tmp_path, source, unlabeled_source=tmp_path / "all")


def test_an_archive_of_one_source_is_not_unpacked_for_the_other(tmp_path, source):
    labelled, more = tmp_path / "two/labelled.zip", tmp_path / "two/more.zip"
    packed(made.write(labelled, b""), content_of(source), "zip")
    packed(more, {"1.png": made.png(8, 0), "2.png": made.png(8, 1)}, "zip")
    (tmp_path / "two/link.zip").symlink_to(labelled)
    stores = prepare(tmp_path, labelled, unlabeled_source=tmp_path / "two")
    assert len(stores[reader.UNLABELED]) == 2

    (tmp_path / "two/link.zip").unlink()
    stores = prepare(tmp_path, tmp_path / "two", unlabeled_source=more)
    assert len(stores[reader.UNLABELED]) == 2
    classes = [name for split in reader.SPLITS for name in stores[split].names]
    assert sorted(classes) == NAMES

    more.unlink()
    with pytest.raises(UserError, match="holds no images that are not in source"):
        prepare(tmp_path, labelled, unlabeled_source=tmp_path / "two")


def test_an_image_with_a_label_is_not_taken_for_an_unlabelled_one(tmp_path):
    """A table may name files of the unlabelled source, and no others."""
    pictures = made.class_folders(tmp_path / "in", ["first", "more"], images=14)
    table, lines = tmp_path / "labels.csv", ["file,label", "first/0.png,class0"]
    lines += [f"more/{index}.png,class{index // 2}" for index in range(12)]
    table.write_text("\n".join(lines))
    options = {"labels": table, "unlabeled_source": pictures / "more"}
    stores = prepare(tmp_path, pictures, **options)
    assert len(stores[reader.UNLABELED]) == 2
    skipped = reader.read_manifest(tmp_path / "folder")["skipped"]
    assert skipped == {"images without a label": 13}

    shutil.rmtree(pictures / "first")
    table.write_text("\n".join([lines[0], *lines[2:]]))
    stores = prepare(tmp_path, pictures, **options)
    assert [len(stores[split]) for split in reader.SPLITS] == [4, 4, 4]
    assert len(stores[reader.UNLABELED]) == 2
    assert not reader.read_manifest(tmp_path / "folder")["skipped"]

    for index in (12, 13):
        (pictures / f"more/{index}.png").unlink()
    with pytest.raises(UserError, match="not in source or labels as well; give"):
        prepare(tmp_path, pictures, **options)


@pytest.mark.parametrize("times", [1, 2])
def test_a_link_to_a_larger_disk_stays_one(tmp_path, source, times):
    (tmp_path / "large").mkdir()
    (tmp_path / "folder").symlink_to(tmp_path / "large/mine")
    for _ in range(times):
        stores = prepare(tmp_path, source)

    assert (tmp_path / "folder").is_symlink()
    assert len(stores["train"].read(np.arange(5))) == 5
    assert [path.name for path in (tmp_path / "large").iterdir()] == ["mine"]
    assert {path.name for path in tmp_path.iterdir()} == {"in", "folder", "large"}


def test_bad_images_without_labels(tmp_path, source):
    made.write(tmp_path / "in/class a/../loose/1.jpg", b"")
    with pytest.raises(UserError, match=r"1.jpg is empty"):
        prepare(tmp_path, source, unlabeled_source=source / "loose")


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("glyphs", {"source": "x"}),
        ("glyphs", {"allow_partial": True}),
        ("omniglot", {"image_size": 84}),
        ("mini", {"hold_out": "images"}),
        ("folder", {"allow_partial": True}),
        ("tiered", {"seed": 1}),
        ("folder:pets", {"tfds_dir": "x"}),
        ("tfds:pets", {"source": "x"}),
    ],
)
def test_options_of_other_data_sets(tmp_path, name, options):
    [option] = options
    with pytest.raises(UserError, match=f"{option} does not apply to .*={name}, only"):
        preparation.prepare(name, tmp_path, preparation.Options(**options))


def test_a_place_with_files_of_the_user(tmp_path, source):
    source.rename(tmp_path / "folder")
    with pytest.raises(UserError, match="no prepared data set"):
        prepare(tmp_path, tmp_path / "folder")
    assert (tmp_path / "folder/class a/0.png").exists()


def test_several_sets_of_ones_own_lie_beside_each_other(tmp_path, source):
    for name in ("folder", "folder:pets"):
        options = preparation.Options(source=source, image_size=made.SIZE)
        preparation.prepare(name, tmp_path, options)
        assert catalog.open_prepared(name, tmp_path)["train"].names
    assert (tmp_path / "folder-pets" / reader.MANIFEST).exists()
    assert "folder:pets" in (tmp_path / "folder-pets" / reader.MANIFEST).read_text()
    with pytest.raises(UserError, match="folder:cars is not prepared"):
        catalog.open_prepared("folder:cars", tmp_path)
