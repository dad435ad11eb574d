"""Own images: which folders are classes, and which split they go to."""

import itertools
import os

import pytest

from prwn_tf.data import tree
from prwn_tf.data.sets import folder
from prwn_tf.errors import UserError
from tests.data import made

NAMES = [f"class {letter}" for letter in "abcdefghijkl"]


def names_in(plan):
    """Split -> class -> names of its images."""
    splits = {}
    for raw in plan.classes:
        names = [os.path.basename(path) for path in raw.images.paths]
        splits.setdefault(raw.split, {})[raw.name] = names
    return splits


def described(source, **options):
    return folder.describe(tree.scan(source), **options)


def counted(skipped):
    return {what: count for what, count in skipped.items() if count}


def refused(source, message, **options):
    with pytest.raises(UserError, match=message) as caught:
        described(source, **options)
    assert "\n" not in str(caught.value)


def test_labelled_images_of_classes_that_a_list_leaves_out_are_counted(tmp_path):
    source = made.class_folders(tmp_path, NAMES[:7])
    paths_of = {
        name: [str(source / name / f"{index}.png") for index in range(3)]
        for name in NAMES[:7]
    }
    splits = ["train", "train", "val", "val", "test", "test"]
    split_of = dict(zip(NAMES, splits, strict=False))
    plan = described(source, paths_of=paths_of, split_of=split_of)
    left_out = {"images of classes that the list does not name": 3}
    assert counted(plan.skipped) == left_out
    whole = described(source, paths_of=paths_of)
    assert counted(whole.skipped) == {}


def test_classes_are_held_out(tmp_path):
    splits = names_in(described(made.class_folders(tmp_path, NAMES)))

    assert {split: len(names) for split, names in splits.items()} == {
        "train": 7,
        "val": 2,
        "test": 3,
    }
    names = [name for split in splits.values() for name in split]
    assert sorted(names) == NAMES
    assert all(
        images == ["0.png", "1.png", "2.png"]
        for split in splits.values()
        for images in split.values()
    )


@pytest.mark.parametrize(
    ("count", "expected"),
    [(6, [2, 2, 2]), (7, [3, 2, 2]), (10, [6, 2, 2]), (20, [12, 4, 4])],
)
def test_shares_of_the_splits(tmp_path, count, expected):
    names = [str(number) for number in range(count)]
    splits = names_in(described(made.class_folders(tmp_path, names, images=2)))

    assert [len(splits[split]) for split in ("train", "val", "test")] == expected


def test_the_seed_decides(tmp_path):
    made.class_folders(tmp_path, NAMES, images=2)
    first, again, other = (
        names_in(described(tmp_path, seed=seed)) for seed in (0, 0, 1)
    )
    assert first == again
    assert first != other


def test_the_split_does_not_depend_on_where_the_folder_lies(tmp_path):
    one = made.class_folders(tmp_path / "one", NAMES, images=2)
    two = made.class_folders(tmp_path / "two" / "deep", NAMES[::-1], images=2)
    assert names_in(described(one)) == names_in(described(two))


def test_given_splits_are_kept(tmp_path):
    made.class_folders(tmp_path / "train", ["a", "b", "c"])
    made.class_folders(tmp_path / "Validation", ["d", "e"])
    made.class_folders(tmp_path / "test", ["f", "g"])
    plan = described(tmp_path)

    splits = {split: sorted(names) for split, names in names_in(plan).items()}
    assert splits == {"train": ["a", "b", "c"], "val": ["d", "e"], "test": ["f", "g"]}
    assert "train, val and test" in plan.layout


def test_files_of_one_name_in_different_classes_are_different_images(tmp_path):
    made.class_folders(tmp_path / "train", ["a", "b"])
    made.class_folders(tmp_path / "val", ["c", "d"])
    made.class_folders(tmp_path / "test", ["e", "f"])
    assert described(tmp_path).image_count == 18


def test_images_can_be_held_out_instead(tmp_path):
    made.class_folders(tmp_path, ["cat", "dog"], images=10)
    splits = names_in(described(tmp_path, hold_out="images"))

    for name in ("cat", "dog"):
        parts = [splits[split][name] for split in ("train", "val", "test")]
        assert [len(part) for part in parts] == [6, 2, 2]
        assert sorted(itertools.chain(*parts)) == [
            f"{number}.png" for number in range(10)
        ]


def test_a_folder_around_it_all_does_not_matter(tmp_path):
    made.class_folders(tmp_path / "download" / "images", NAMES)
    assert described(tmp_path).image_count == 36


def test_what_is_skipped_is_counted(tmp_path):
    made.class_folders(tmp_path, NAMES)
    made.write(tmp_path / "class a" / "notes.txt", b"x")
    made.write(tmp_path / "class a" / ".DS_Store", b"x")
    made.write(tmp_path / "stray.png", made.png(0, 0))
    plan = described(tmp_path)

    assert plan.image_count == 36
    assert counted(plan.skipped) == {
        tree.NOT_IMAGES: 1,
        "images outside of class folders": 1,
    }


def test_strays_and_further_folders_beside_given_splits_are_counted(tmp_path):
    for split in ("train", "val", "test"):
        made.class_folders(tmp_path / split, [f"{split} a", f"{split} b"], images=2)
    made.write(tmp_path / "train/stray.png", made.png(0, 0))
    made.write(tmp_path / "stray.png", made.png(0, 0))
    made.class_folders(tmp_path / "more", ["c", "d"], images=2)
    made.write(tmp_path / "more/notes.txt", b"x")
    plan = described(tmp_path)

    assert {split: len(names) for split, names in names_in(plan).items()} == {
        "train": 2,
        "val": 2,
        "test": 2,
    }
    assert counted(plan.skipped) == {
        tree.NOT_IMAGES: 1,
        "images outside of class folders": 6,
    }


def test_a_class_may_be_called_train(tmp_path):
    plan = described(made.class_folders(tmp_path, [*NAMES, "train"]))
    assert "train" in {raw.name for raw in plan.classes}


def test_names_with_spaces_and_letters_of_all_kinds(tmp_path):
    names = ["Zürich", "東京", "a b", "ñ", "x (1)", "é"]
    plan = described(made.class_folders(tmp_path, names, images=2))
    assert {raw.name for raw in plan.classes} == set(names)


def test_unlabeled_images_lie_anywhere(tmp_path):
    made.class_folders(tmp_path, ["x", "y/z"], images=2)
    made.write(tmp_path / "1.png", made.png(0, 0))
    assert len(folder.unlabeled_images(tree.scan(tmp_path))) == 5


def test_unlabeled_images_inside_the_source_are_no_class(tmp_path):
    made.class_folders(tmp_path, [*NAMES, "unlabeled"])
    plan = folder.describe(tree.scan(tmp_path, [tmp_path / "unlabeled"]))
    assert "unlabeled" not in {raw.name for raw in plan.classes}


# --- What can be wrong with it


def test_an_empty_folder(tmp_path):
    refused(tmp_path, "holds no JPEG, .* images; give a folder that has a folder of im")


def test_images_without_folders(tmp_path):
    for index in range(60):
        made.write(tmp_path / f"{index}.png", made.png(0, index % 50))
    refused(tmp_path, "holds 60 images but no folders; give a folder that has")


def test_one_class(tmp_path):
    refused(made.class_folders(tmp_path, ["cat"]), "one class, cat: there is nothing")


def test_two_classes(tmp_path):
    made.class_folders(tmp_path, ["cat", "dog"], images=30)
    refused(tmp_path, "2 classes are too few .*takes 6; .*hold_out=images, or .*pred")


def test_too_few_images_to_hold_out(tmp_path):
    made.class_folders(tmp_path, ["cat", "dog"], images=5)
    message = "no class; .*2 class folders with fewer than 6 images: cat .5., dog .5."
    refused(tmp_path, message, hold_out="images")


def test_classes_of_too_few_images_are_left_out_with_a_note(tmp_path):
    made.class_folders(tmp_path, NAMES)
    (tmp_path / "blank" / "deep").mkdir(parents=True)
    made.write(tmp_path / "lonely/1.png", made.png(0, 0))
    plan = described(tmp_path)

    assert sorted(raw.name for raw in plan.classes) == NAMES
    assert plan.notes == [
        "left out 2 class folders with fewer than 2 images: blank (0), lonely (1)"
    ]
    assert counted(plan.skipped) == {"images of classes that are too small": 1}


def test_what_was_left_out_is_said_of_what_is_too_little(tmp_path):
    made.class_folders(tmp_path, NAMES[:5])
    (tmp_path / "blank").mkdir()
    refused(tmp_path, "5 classes are too few .*; left out 1 class folder with .*blank")


def test_folders_inside_of_a_class_are_its_own_with_a_note(tmp_path):
    made.class_folders(tmp_path, NAMES)
    made.class_folders(tmp_path / "class b", ["left/near", "right", "../class c/in"])
    (tmp_path / "class b" / "empty").mkdir()
    plan = described(tmp_path)

    images = {raw.name: len(raw.images) for raw in plan.classes}
    assert images == dict.fromkeys(NAMES, 3) | {"class b": 9, "class c": 6}
    assert plan.notes == [
        "images in folders inside of a class folder are taken for that class: "
        "class b (left, right), class c (in)"
    ]
    assert not counted(plan.skipped)


def test_names_that_cannot_be_told_apart(tmp_path):
    made.class_folders(tmp_path, NAMES)
    for name in (b"caf\xe9", b"caf\xe8"):
        made.write(tmp_path / os.fsdecode(name) / "1.png", made.png(0, 0))
    refused(tmp_path, "names differ in bytes that are no text; rename them")


@pytest.mark.parametrize(
    ("given", "flag"),
    [
        ({"hold_out": "images"}, "hold_out=images"),
        ({"seed": 7}, "seed"),
        ({"split_of": {"train a": "test"}}, "class_splits"),
    ],
)
def test_nothing_is_drawn_or_listed_where_folders_are_splits(tmp_path, given, flag):
    for split in ("train", "val", "test"):
        made.class_folders(tmp_path / split, [f"{split} a", f"{split} b"])
    refused(tmp_path, f"folders, which {flag} does not use; leave it out", **given)


def test_a_missing_split(tmp_path):
    made.class_folders(tmp_path / "train", ["a", "b"])
    made.class_folders(tmp_path / "val", ["c", "d"])
    refused(tmp_path, "for train, val but none for test; add it, or put all classes")


def test_two_folders_for_one_split(tmp_path):
    for split in ("train", "val", "Validation", "test"):
        made.class_folders(tmp_path / split, [f"{split} a", f"{split} b"])
    refused(tmp_path, "two folders of classes for val, Validation and val; put")


def test_a_class_in_two_splits(tmp_path):
    made.class_folders(tmp_path / "train", ["a", "b"])
    made.class_folders(tmp_path / "val", ["c", "a"])
    made.class_folders(tmp_path / "test", ["e", "f"])
    refused(tmp_path, "'a', are in train and val, but held-out classes must be new")


def test_a_split_of_one_class(tmp_path):
    made.class_folders(tmp_path / "train", ["a", "b"])
    made.class_folders(tmp_path / "val", ["c"])
    made.class_folders(tmp_path / "test", ["e", "f"])
    refused(tmp_path, "the val folder has 1 class, at least 2 are needed")


def test_no_unlabeled_images(tmp_path):
    with pytest.raises(UserError, match=r"unlabeled_source=.* holds no images"):
        folder.unlabeled_images(tree.scan(tmp_path))
