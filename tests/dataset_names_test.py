"""Which names data sets can have, and what they stand for."""

import pytest

from prwn_tf import dataset_names
from prwn_tf.cli.dataset import Parser


@pytest.mark.parametrize(
    ("name", "kind", "folder"),
    [
        ("omniglot", "omniglot", "omniglot"),
        ("folder", "folder", "folder"),
        ("folder:my-pets_2", "folder", "folder-my-pets_2"),
        ("tfds:cifar100", "tfds", "tfds-cifar100"),
        ("tfds:eurosat/rgb:2.0.0", "tfds", "tfds-eurosat-rgb-2.0.0"),
    ],
)
def test_kind_and_folder(name, kind, folder):
    assert dataset_names.kind(name) == kind
    assert dataset_names.in_folder(name) == folder


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("omniglot:mine", "only one omniglot"),
        ("folder:", "is not a name"),
        ("folder:../up", "is not a name"),
        ("folder:a/b", "is not a name"),
        ("folder:.hidden", "is not a name"),
        ("tfds", "tfds:NAME"),
        ("tfds:a/b/c", "is not a name"),
    ],
)
def test_names_that_cannot_be(name, reason):
    with pytest.raises(ValueError, match=reason):
        dataset_names.kind(name)


def test_the_flag_lists_what_there_is():
    parser = Parser(["glyphs", "folder", "tfds"])
    assert parser.parse("folder:pets") == "folder:pets"
    with pytest.raises(ValueError, match=r"<glyphs\|folder\|folder:NAME\|tfds:NAME>"):
        parser.parse("imagenet")
