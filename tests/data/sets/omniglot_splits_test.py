"""The class lists of each split, against counts and files of the publishers."""

import itertools
import pathlib

import pytest

from prwn_tf.data.sets import omniglot_splits

PUBLISHED = pathlib.Path(__file__).parents[4] / "shared/data/splits"


def test_omniglot_has_the_published_number_of_characters():
    characters = omniglot_splits.omniglot_characters()

    counts = {split: len(names) for split, names in characters.items()}
    assert counts == {"train": 1028, "val": 172, "test": 423}


def test_omniglot_has_no_character_twice():
    names = [*itertools.chain(*omniglot_splits.omniglot_characters().values())]

    assert len(set(names)) == len(names) == 1623
    assert len({name.split("/")[0] for name in names}) == 50


def test_gurmukhi_is_shared_by_train_and_test():
    characters = omniglot_splits.omniglot_characters()

    train = [name for name in characters["train"] if name.startswith("Gurmukhi/")]
    test = [name for name in characters["test"] if name.startswith("Gurmukhi/")]
    assert train[0] == "Gurmukhi/character01"
    assert train[-1] == "Gurmukhi/character41"
    assert test == [f"Gurmukhi/character{number}" for number in range(42, 46)]


@pytest.mark.skipif(not PUBLISHED.exists(), reason=f"needs {PUBLISHED}")
@pytest.mark.parametrize("split", ["train", "val", "test"])
def test_omniglot_equals_the_published_list(split):
    published = (PUBLISHED / f"omniglot_{split}.txt").read_text().split()

    assert sorted(omniglot_splits.omniglot_characters()[split]) == sorted(published)
