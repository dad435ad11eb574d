"""What is seen of a folder tree, and what is left out."""

import os
import pathlib

import pytest

from prwn_tf.data import tree
from prwn_tf.errors import UserError
from tests.data import made

PNG = made.png(0, 0)


def seen(root, exclude=()):
    """Path -> images, others and folders in it."""
    return {
        os.path.relpath(each.path, root): (each.images, each.others, each.folders)
        for each in tree.walk(root, exclude)
    }


def test_files_are_sorted_by_kind_and_name(tmp_path):
    for name in ("b.JPG", "a.jpeg", "notes.txt", "c.gif", ".DS_Store", "d.bmp"):
        made.write(tmp_path / "in" / name, b"x")
    made.write(tmp_path / "in/__MACOSX/._a.jpeg", b"x")
    made.write(tmp_path / "in/.git/x.png", b"x")

    assert seen(tmp_path / "in") == {
        ".": (["a.jpeg", "b.JPG", "c.gif", "d.bmp"], ["notes.txt"], [])
    }


def test_images_are_known_by_content_too(tmp_path):
    made.write(tmp_path / "photo", PNG)
    made.write(tmp_path / "photo.dat", PNG)

    assert seen(tmp_path) == {".": (["photo", "photo.dat"], [], [])}


def test_links_are_followed_but_not_in_circles(tmp_path):
    made.write(tmp_path / "real/cat/1.png", PNG)
    (tmp_path / "in").mkdir()
    (tmp_path / "in/cat").symlink_to(tmp_path / "real/cat")
    (tmp_path / "real/cat/up").symlink_to(tmp_path / "in")

    assert seen(tmp_path / "in") == {
        ".": ([], [], ["cat"]),
        "cat": (["1.png"], [], []),
    }


def test_prepared_data_and_excluded_folders_are_left_out(tmp_path):
    made.write(tmp_path / "cat/1.png", PNG)
    made.write(tmp_path / "folder/manifest.json", b"{}")
    made.write(tmp_path / "loose/2.png", PNG)

    assert set(seen(tmp_path, [tmp_path / "loose"])) == {".", "cat"}


def test_names_of_any_bytes_can_be_shown(tmp_path):
    name = os.fsdecode(b"caf\xe9")
    assert tree.shown(name) == "caf\ufffd"
    assert tree.shown(pathlib.Path("Zürich")) == "Zürich"


def test_a_folder_that_cannot_be_read(tmp_path):
    with pytest.raises(UserError, match=r"cannot read .*nowhere"):
        list(tree.walk(tmp_path / "nowhere"))
