"""Sets of photographs are as a user's would be, and the page says what came of them."""

import pathlib
import sys
from typing import NamedTuple

import pytest

from prwn_tf.errors import UserError

ROOT = pathlib.Path(__file__).parents[2]
sys.path.append(str(ROOT / "tools"))
from own_photos import command, pictures  # noqa: E402
from own_photos.pictures import Size  # noqa: E402


class Split(NamedTuple):
    names: tuple[str, ...]


STORES = {
    split: Split(tuple(f"{split}{number}" for number in range(count)))
    for split, count in (("train", 64), ("val", 16), ("test", 20))
}


def names(size: Size) -> dict[str, set[str]]:
    found = {"train": set(), "val": set(), "test": set()}
    for album in pictures.albums(STORES, size):
        found[album.split].add(album.store.names[album.class_index])
        assert album.images == (size.images if album.split == "train" else 60)
    return found


def test_no_class_is_in_two_splits_and_all_sets_have_one_test():
    sets = {size: names(size) for size in command.SIZES}
    first = sets[command.SIZES[0]]
    for size, each in sets.items():
        assert len(each["train"]) == size.classes
        assert not each["train"] & each["val"] | each["train"] & each["test"]
        assert not each["val"] & each["test"]
        assert (each["val"], each["test"]) == (first["val"], first["test"])
    assert len(first["test"]) == 10
    assert names(Size(4, 5))["train"] < names(Size(8, 5))["train"]


def test_what_the_released_model_has_learned_is_trained_on_only_if_it_must_be():
    assert not any(name.startswith("train") for name in names(Size(20, 5))["train"])
    assert all(name.startswith("train") for name in names(Size(64, 5))["train"])


def test_the_page_has_both_ways_and_says_what_was_not_run(tmp_path):
    rows = [{"way": "frozen", "shot": 1, "accuracy": 38.04, "interval": 2.41}]
    about = {"way": "scratch", "classes": 4, "images": 5}
    rows += [about | {"shot": 1, "accuracy": 24.31, "interval": 1.62}]
    rows += [about | {"shot": 5, "accuracy": 29.86, "interval": 2.07}]
    command._write_table(rows, tmp_path / command.TABLE)
    page = command.page(tmp_path)
    assert page.startswith("# What your own photographs teach\n")
    assert "| none | – | – | as it is: 38.0 ± 2.4 |" in page
    assert "| 4 | 5 | 24.3 ± 1.6, 29.9 ± 2.1 | not run |" in page


def test_the_page_is_made_from_the_released_table():
    released = ROOT / "results/own_photos"
    assert (released / "README.md").read_text() == command.page(released)


def test_a_size_that_is_not_there():
    with pytest.raises(UserError, match="'c5_n5' is none of c4_n5, c8_n5"):
        command._asked("c4_n5,c5_n5")
