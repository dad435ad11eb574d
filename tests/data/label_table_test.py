"""Tables of labels: what is taken from them, and what is wrong with some."""

import os

import pytest

from prwn_tf import files
from prwn_tf.data import label_table, tree
from prwn_tf.errors import UserError
from tests.data import made

FLAG = "--labels=t.csv"


def test_files_and_labels_whatever_else_stands_there(tmp_path):
    path = tmp_path / "t.csv"
    rows = [("cat", "-1.png", 0.5), ("", "b.png", 0.1), ("=dog", "c/d.png", "")]
    files.write_csv(path, ("label", "file", "probability"), rows)
    assert "'-1.png" in path.read_text()
    assert label_table.read(path, FLAG) == {"-1.png": "cat", "c/d.png": "=dog"}


def test_tables_as_spreadsheets_save_them(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(
        'file,label\r\n"a,b.png", cat \r\na2.png,"two\nlines"\r\n'.encode("utf-8-sig")
    )
    labels = label_table.read(path, FLAG)
    assert labels == {"a,b.png": "cat", "a2.png": "two\\nlines"}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "must begin with the line file,label"),
        ("cat/a.png,cat\n", "must begin with the line file,label, and begins with"),
        ("file,label\n,cat\n", r"line 2 of labels=t\.csv names no file"),
        ("file,label\na.png,\n", "has no file with a label"),
        ("file,label\na.png,cat\na.png,dog\n", "two labels for 'a.png', 'cat' and"),
        ("file,label\na.png,cat\n./a.png,dog\n", "two labels for 'a.png', 'cat' and"),
        ("file,label\na.png," + "x" * 200_000, "labels=.* is no csv: field larger"),
    ],
)
def test_bad_tables(tmp_path, text, problem):
    path = tmp_path / "t.csv"
    path.write_text(text)
    with pytest.raises(UserError, match=problem):
        label_table.read(path, FLAG)


def test_tables_that_cannot_be_read(tmp_path):
    with pytest.raises(UserError, match=r"cannot read labels=.*: No such file"):
        label_table.read(tmp_path / "none.csv", FLAG)
    (tmp_path / "binary.csv").write_bytes(b"\xff\xfe")
    with pytest.raises(UserError, match="is not text"):
        label_table.read(tmp_path / "binary.csv", FLAG)


def test_files_by_class(tmp_path):
    for name in ("b.png", "a.png", "c.png"):
        (tmp_path / name).write_bytes(b"")
    labels = {"b.png": "dog", "a.png": "dog", str(tmp_path / "c.png"): "cat"}
    actual = label_table.by_class(labels, tmp_path, FLAG, "look")
    paths = {"cat": ["c.png"], "dog": ["a.png", "b.png"]}
    assert list(actual) == list(paths)
    for label, names in paths.items():
        assert actual[label] == [str(tmp_path / name) for name in names]
    with pytest.raises(UserError, match=r"1 of the 4 files .*/z\.png; look"):
        label_table.by_class(labels | {"z.png": "dog"}, tmp_path, FLAG, "look")


def test_names_that_are_no_text_are_found_as_our_tables_call_them(tmp_path):
    names = [b"bad\xff.png", b"fine.png", b"new\nline.png", b"in/tab\t.png"]
    paths = [tmp_path / "pile" / os.fsdecode(name) for name in names]
    for path in paths:
        made.write(path, made.png(0, 0))
    rows = [(tree.shown(path.relative_to(tmp_path / "pile")), "cat") for path in paths]
    files.write_csv(tmp_path / "t.csv", ("file", "label"), rows)
    labels = label_table.read(tmp_path / "t.csv", FLAG)
    classes = label_table.by_class(labels, tmp_path / "pile", FLAG, "say where")
    assert sorted(classes["cat"]) == sorted(map(str, paths))
    with pytest.raises(UserError, match=r"4 of the 4 files in .*; say where"):
        label_table.by_class(labels, tmp_path / "nowhere", FLAG, "say where")
