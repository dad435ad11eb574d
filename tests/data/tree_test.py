"""What is seen of a folder tree, and what is left out."""

import json
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


def test_all_images_without_a_suffix_are_found(tmp_path, monkeypatch):
    monkeypatch.setattr(tree, "MAX_SNIFFED", 3)
    for name in "abcdef":
        made.write(tmp_path / "in" / name, PNG)
        made.write(tmp_path / "notes" / name, b"words")
    made.write(tmp_path / "notes/z", PNG)  # too late

    assert seen(tmp_path / "in") == {".": ([*"abcdef"], [], [])}
    assert seen(tmp_path / "notes") == {".": ([], [*"abcdefz"], [])}


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
    manifest = json.dumps({"image_shape": [8, 8, 3], "splits": {}}).encode()
    made.write(tmp_path / "folder/manifest.json", manifest)
    made.write(tmp_path / "loose/2.png", PNG)

    assert set(seen(tmp_path, [tmp_path / "loose"])) == {".", "cat"}
    assert set(seen(tmp_path / "folder")) == {"."}  # what was asked for is looked at


@pytest.mark.parametrize("content", [b"{}", b"[1]", b"{", b"\xff", b'{"splits": 1}'])
def test_other_manifests_are_files_like_any(tmp_path, content):
    made.write(tmp_path / "cat/1.png", PNG)
    made.write(tmp_path / "cat/manifest.json", content)
    made.write(tmp_path / "manifest.json", content)

    assert seen(tmp_path) == {
        ".": ([], ["manifest.json"], ["cat"]),
        "cat": (["1.png"], ["manifest.json"], []),
    }


def test_names_that_no_file_here_could_have_can_be_shown(monkeypatch):
    monkeypatch.setattr(os, "fsencode", lambda name: name.encode("latin-1"))
    assert tree.shown("日本") == "日本"


def test_names_of_any_bytes_can_be_shown(tmp_path):
    name = os.fsdecode(b"caf\xe9")
    assert tree.shown(name) == "caf\ufffd"
    assert tree.shown(pathlib.Path("Zürich")) == "Zürich"


def test_names_do_not_command_a_terminal():
    assert tree.shown("a\x1b]0;owned\x07\nb\x9b1m\u2028") == (
        r"a\x1b]0;owned\x07\nb\x9b1m\u2028"
    )
    for name in ("می\u200cخواهم", "全角\u3000空白", "👩\u200d🔬", "a b"):
        assert tree.shown(name) == name


def test_a_folder_that_cannot_be_read(tmp_path):
    with pytest.raises(UserError, match=r"cannot read .*nowhere"):
        list(tree.walk(tmp_path / "nowhere"))
