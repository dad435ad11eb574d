"""The classes of mini- and tiered-ImageNet, against counts and published lists."""

import csv
import pathlib

import pytest

from prwn_tf.data.sets import wnids

SHARED = pathlib.Path(__file__).parents[4] / "shared"


def test_mini_has_the_published_counts():
    counts = {split: len(set(names)) for split, names in wnids.mini().items()}
    assert counts == {"train": 64, "val": 16, "test": 20}
    assert len({name for names in wnids.mini().values() for name in names}) == 100


def test_tiered_has_the_published_counts():
    counts = {split: len(set(names)) for split, names in wnids.tiered().items()}
    assert counts == {"train": 351, "val": 97, "test": 160}
    assert len({name for names in wnids.tiered().values() for name in names}) == 608


def test_overlap_of_the_two_is_as_counted():
    mini = set(wnids.mini()["test"])
    overlap = {split: len(mini & set(names)) for split, names in wnids.tiered().items()}
    assert overlap == {"train": 5, "val": 1, "test": 4}


@pytest.mark.skipif(not SHARED.exists(), reason=f"needs {SHARED}")
@pytest.mark.parametrize("split", ["train", "val", "test"])
def test_tiered_equals_the_published_list(split):
    with open(SHARED / f"data/splits/tiered_{split}.csv") as file:
        published = [row[0] for row in csv.reader(file) if row]
    assert sorted(wnids.tiered()[split]) == sorted(published)
