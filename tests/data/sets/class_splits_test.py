"""Lists of classes and splits: those shipped, and those of users."""

from collections import Counter

import pytest

from prwn_tf.data import tree
from prwn_tf.data.sets import class_splits, folder
from prwn_tf.errors import UserError
from tests.data import made


@pytest.mark.parametrize(
    ("name", "train", "val", "test"),
    [("cifar_fs", 64, 16, 20), ("fc100", 60, 20, 20)],
)
def test_shipped(name, train, val, test):
    split_of = class_splits.read(name)
    assert Counter(split_of.values()) == {"train": train, "val": val, "test": test}
    assert set(split_of) == set(class_splits.read("fc100"))  # those of CIFAR-100
    assert split_of["woman"] == "test"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("train,cat\n", "must begin with the line split,class"),
        ("", "must begin with the line split,class"),
        ("split,class\nlearn,cat\n", "line 2 .* 'learn' and 'cat'"),
        ("split,class\ntrain\n", "line 2"),
        ("split,class\ntrain,cat\ntest,cat\n", "'cat' twice"),
    ],
)
def test_bad_lists(tmp_path, text, problem):
    path = tmp_path / "list.csv"
    path.write_text(text)
    with pytest.raises(UserError, match=problem):
        class_splits.read(str(path))


def test_a_list_that_is_not_there(tmp_path):
    with pytest.raises(UserError, match=r"cannot read .*cifar_fs"):
        class_splits.read(str(tmp_path / "none.csv"))


@pytest.mark.parametrize(
    ("given", "flag"),
    [({"hold_out": "images"}, "hold_out=images"), ({"seed": 0}, "seed")],
)
def test_nothing_is_drawn_where_a_list_names_the_splits(tmp_path, given, flag):
    names = ("train", "train", "val", "val", "test", "test")
    split_of = {f"class {k}": split for k, split in enumerate(names)}
    source = tree.scan(made.class_folders(tmp_path, list(split_of), images=6))
    assert len(folder.describe(source, split_of=split_of).classes) == 6
    with pytest.raises(UserError, match=f"{flag} has no effect with class_splits"):
        folder.describe(source, split_of=split_of, **given)
