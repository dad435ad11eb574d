"""Lists of classes and splits: those shipped, and those of users."""

from collections import Counter

import pytest

from prwn_tf.data.sets import class_splits
from prwn_tf.errors import UserError


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
