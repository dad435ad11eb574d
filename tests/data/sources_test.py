"""A source is scanned once, and archives are unpacked for as long as it is open."""

import os
import pathlib

import pytest

from prwn_tf.data import preparation, sources
from prwn_tf.errors import StorageError, UserError
from tests.data import made
from tests.data.packing import KINDS, content_of, packed

FILES = {"a/one.png": b"first", "a/b/two.png": b"second" * 1000, "c": b""}


@pytest.fixture
def scans(monkeypatch):
    """The folders that were listed, each time that they were."""
    paths = []
    scandir = os.scandir

    def counted(path):
        paths.append(pathlib.Path(path))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", counted)
    return paths


@pytest.mark.parametrize("dataset", ["folder", "mini"])
def test_a_source_is_scanned_once(tmp_path, scans, dataset):
    names = [f"n0153282{number}" for number in range(10)]
    source = made.class_folders(tmp_path / "in", names, images=2)
    made.class_folders(source, ["loose"], images=2)
    options = preparation.Options(
        source=source,
        unlabeled_source=source / "loose",
        allow_partial=True if dataset == "mini" else None,
    )
    with preparation.described(dataset, tmp_path / "data", options) as plan:
        assert plan.lines[0].startswith("found ")
    seen = [path for path in scans if path.is_relative_to(source)]
    assert sorted(seen) == sorted([source, *source.iterdir()])


@pytest.mark.parametrize("kind", KINDS)
def test_a_folder_of_archives_is_unpacked(tmp_path, kind):
    for split in ("train", "val"):
        made.write(tmp_path / "in/notes.txt", b"x")
        contents = {f"{split}/cat/1.png": made.png(0, 0), "dog/1.png": made.png(1, 0)}
        packed(tmp_path / f"in/{split}.{kind}", contents, kind)
    with sources.opened(tmp_path / "in", tmp_path / "scratch") as raw:
        assert sorted(content_of(raw.root)) == [
            *("train/cat/1.png", "train/dog/1.png"),
            *("val/cat/1.png", "val/dog/1.png"),
        ]


@pytest.mark.parametrize("beside", ["cat/1.png", "mini-imagenet-cache-train.pkl"])
def test_archives_beside_what_was_in_them_are_left_alone(tmp_path, beside):
    packed(made.write(tmp_path / "in/a.zip", b""), FILES, "zip")
    made.write(tmp_path / "in" / beside, made.png(0, 0))
    with sources.opened(tmp_path / "in", tmp_path / "scratch") as raw:
        assert raw.root == tmp_path / "in"


def test_lists_of_images_beside_archives_come_with_them(tmp_path):
    packed(made.write(tmp_path / "in/cats.ZIP", b""), {"cats/1.png": b"1"}, "zip")
    made.write(tmp_path / "in/lists/train.csv", b"filename,label")
    made.write(tmp_path / "in/readme.txt", b"")
    with sources.opened(tmp_path / "in", tmp_path / "scratch") as raw:
        contents = content_of(raw.root)
    assert contents == {"cats/1.png": b"1", "lists/train.csv": b"filename,label"}


def test_an_archive_is_unpacked_and_a_folder_taken_as_it_is(tmp_path):
    path = packed(tmp_path / "pictures.zip", {"cat/1.png": made.png(0, 0)}, "zip")
    with sources.opened(path, tmp_path / "scratch") as raw:
        assert raw.root == tmp_path / "scratch"
        assert [folder.images for folder in raw.folders] == [[], ["1.png"]]

    with sources.opened(tmp_path, tmp_path / "other") as raw:
        assert raw.root == tmp_path
    assert not (tmp_path / "other").exists()


def test_files_of_something_else_are_left_out(tmp_path):
    mine, other = (
        made.write(tmp_path / f"in/{name}.png", made.png(0, 0)) for name in "ab"
    )
    (tmp_path / "in/link.png").symlink_to(other)
    with sources.opened(tmp_path / "in", tmp_path / "scratch", [other]) as raw:
        assert [folder.images for folder in raw.folders] == [["a.png"]]

    packed(made.write(tmp_path / "in/a.zip", b""), {"a.png": b"", "b.png": b""}, "zip")
    with sources.opened(tmp_path / "in", tmp_path / "scratch", [mine, other]) as raw:
        assert not raw.image_count  # they do not come back from what they were in


def use(path, scratch, error):
    with sources.opened(path, scratch):
        raise error


def test_an_error_names_what_the_user_gave(tmp_path):
    path = packed(tmp_path / "pictures.zip", FILES, "zip")
    scratch = tmp_path / "scratch"
    with pytest.raises(UserError, match=r"^/.*pictures.zip/a is bad$"):
        use(path, scratch, UserError(f"{scratch}/a is bad"))


def test_a_full_disk_names_the_disk(tmp_path):
    path = packed(tmp_path / "pictures.zip", FILES, "zip")
    scratch = tmp_path / "scratch"
    with pytest.raises(StorageError, match=r"^cannot write /.*/scratch/a: full$"):
        use(path, scratch, StorageError(f"cannot write {scratch}/a: full"))
