"""Anyone's own images: a folder for each class, and nothing else to write.

    pictures/cat/1.jpg, pictures/dog/1.jpg ...             classes are split by seed
    pictures/train/cat/1.jpg, pictures/val/dog/1.jpg ...   classes are split as given

Few-shot learning is tested on classes that training has not seen, so it is classes
that are held out, and not images, unless there are too few of them.
"""

import os
import pathlib
from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np

from prwn_tf.data import tree
from prwn_tf.data.raw import FEWEST, ImageFiles, Import, RawClass
from prwn_tf.data.store.reader import SPLITS
from prwn_tf.errors import UserError

SIZE = 84
HOLD_OUT = ("classes", "images")
TRAIN_SHARE = 0.6  # the rest is halved between val and test
FEWEST_CLASSES = 2  # of a split: to tell apart
EXPECTED = "give a folder that has a folder of images for each class"
_SPLIT_NAMES = {name: name for name in SPLITS} | {"valid": "val", "validation": "val"}


def find(
    folder: pathlib.Path,
    *,
    exclude: Sequence[pathlib.Path] = (),
    size: int = SIZE,
    seed: int = 0,
    hold_out: str = "classes",
) -> Import:
    """The classes of a folder tree, and which split each belongs to.

    Args:
        exclude: folders inside that belong to something else.
        seed: draws the classes or images that are held out.
        hold_out: "classes", or "images" to have every class in all splits.
    """
    folders = {each.path: each for each in tree.walk(folder, exclude)}
    if not any(each.images for each in folders.values()):
        raise UserError(f"{folder} holds no JPEG, PNG, GIF or BMP images; {EXPECTED}")
    root = _unwrapped(folders)
    splits = _split_folders(root, folders)
    if splits:
        if hold_out == "images":
            raise UserError(
                f"{folder} has train, val and test folders, which --hold_out=images "
                "does not use; leave it out, or put all classes into one folder"
            )
        found = {split: _classes_of(each, folders) for split, each in splits.items()}
        classes = _as_given(found)
        words, about = "class folders under train, val and test", {}
    else:
        classes = _held_out(root, _classes_of(root, folders), seed, hold_out)
        words, about = "class folders", {"held_out": hold_out, "seed": seed}
    images = sum(len(each.images) for each in folders.values())
    used = sum(len(raw.images) for raw in classes)
    return Import(
        dataset="folder",
        source=str(folder),
        found=f"own images in {words}",
        size=size,
        classes=classes,
        about=about,
        skipped={
            tree.NOT_IMAGES: sum(len(each.others) for each in folders.values()),
            "images outside of class folders": images - used,
        },
    )


def classes(folder: pathlib.Path) -> dict[str, list[str]]:
    """The classes of a folder tree without any split: name -> paths of its images."""
    folders = {each.path: each for each in tree.walk(folder)}
    return _classes_of(_unwrapped(folders), folders)


def find_unlabeled(
    folder: pathlib.Path, exclude: Sequence[pathlib.Path] = ()
) -> ImageFiles:
    """All images of a tree, whatever folders they lie in but those to exclude."""
    folders = tree.walk(folder, exclude)
    paths = [path for each in folders for path in each.image_paths()]
    if not paths:
        raise UserError(
            f"--unlabeled_source={folder} holds no images that are not in --source "
            "as well; give a folder that does"
        )
    return ImageFiles(paths)


# --- Which folders are classes


def _inside(folder: tree.Folder, folders: Mapping[str, tree.Folder]) -> list:
    paths = (os.path.join(folder.path, name) for name in folder.folders)
    return [folders[path] for path in paths if path in folders]


def _unwrapped(folders: Mapping[str, tree.Folder]) -> tree.Folder:
    """The first folder that holds more than another folder, as archives often have."""
    root = next(iter(folders.values()))
    while not root.images and len(inside := _inside(root, folders)) == 1:
        if not inside[0].folders:
            break
        [root] = inside
    return root


def _split_folders(
    root: tree.Folder, folders: Mapping[str, tree.Folder]
) -> dict[str, tree.Folder]:
    """Split -> its folder, if the tree is divided so; a class may be called train."""
    found: dict[str, tree.Folder] = {}
    for each in _inside(root, folders):
        split = _SPLIT_NAMES.get(each.name.lower())
        if split is None or not each.folders:
            continue
        if other := found.get(split):
            raise UserError(
                f"{tree.shown(root.path)} has two folders of classes for {split}, "
                f"{other.name} and {each.name}; put their classes into one"
            )
        found[split] = each
    if found and len(found) < len(SPLITS):
        missing = [split for split in SPLITS if split not in found]
        raise UserError(
            f"{tree.shown(root.path)} has folders of classes for {_listed(found)} but "
            f"none for {_listed(missing)}; add it, or put all classes into one folder "
            "to have them split"
        )
    return found


def _classes_of(
    root: tree.Folder, folders: Mapping[str, tree.Folder]
) -> dict[str, list[str]]:
    """Class name -> paths of its images."""
    inside = _inside(root, folders)
    if not inside:
        raise UserError(
            f"{tree.shown(root.path)} holds {len(root.images)} images but no folders; "
            f"{EXPECTED}"
        )
    empty = [each.name for each in inside if not each.images and not each.folders]
    if empty:
        raise UserError(
            f"{tree.shown(root.path)} has {len(empty)} class folder"
            f"{'s' * (len(empty) > 1)} without JPEG, PNG, GIF or BMP images: "
            f"{_listed(empty)}; fill or remove them"
        )
    for each in inside:
        if each.folders:
            raise UserError(
                f"class folder {tree.shown(each.path)} has further folders "
                f"({_listed(each.folders)}) in it; {EXPECTED}, all on one level"
            )
    classes = {each.name: each.image_paths() for each in inside}
    if len(classes) < len(inside):
        raise UserError(
            f"{tree.shown(root.path)} has class folders whose names differ in bytes "
            "that are no text; rename them"
        )
    return classes


def _listed(names: Sequence[str] | Mapping[str, object]) -> str:
    some = ", ".join(tree.shown(name) for name in list(names)[:5])
    return some + " ..." * (len(names) > 5)


# --- Which split they belong to


def _as_given(found: Mapping[str, Mapping[str, list[str]]]) -> list[RawClass]:
    splits_of: dict[str, list[str]] = defaultdict(list)
    for split, classes in found.items():
        if len(classes) < FEWEST_CLASSES:
            raise UserError(
                f"the {split} folder has {len(classes)} class, at least "
                f"{FEWEST_CLASSES} are needed to tell apart; move some there"
            )
        for name in classes:
            splits_of[name].append(split)
    twice = {name: splits for name, splits in splits_of.items() if len(splits) > 1}
    if twice:
        name, splits = next(iter(twice.items()))
        raise UserError(
            f"{len(twice)} class{'es' * (len(twice) > 1)}, such as {name!r}, are in "
            f"{' and '.join(splits)}, but held-out classes must be new; give each "
            "class to one split, or put all into one folder and use --hold_out=images"
        )
    return [
        RawClass(split, name, ImageFiles(paths))
        for split in SPLITS
        for name, paths in sorted(found[split].items())
    ]


def _held_out(
    root: tree.Folder, classes: Mapping[str, list[str]], seed: int, hold_out: str
) -> list[RawClass]:
    if len(classes) < FEWEST_CLASSES:
        raise UserError(
            f"{tree.shown(root.path)} has one class, {_listed(classes)}: there is "
            f"nothing to tell it from; {EXPECTED}"
        )
    return (_split_images if hold_out == "images" else _split_classes)(classes, seed)


def _split_classes(classes: Mapping[str, list[str]], seed: int) -> list[RawClass]:
    """Every class in one of the splits."""
    fewest = FEWEST_CLASSES * len(SPLITS)
    if len(classes) < fewest:
        raise UserError(
            f"{len(classes)} classes are too few to hold some out for validation and "
            f"test, which takes {fewest}; hold out images of every class with "
            "--hold_out=images, or, for drawings, give python -m prwn_tf.predict a "
            "released model"
        )
    names = sorted(classes)
    parts = _divided(len(names), seed, FEWEST_CLASSES)
    return [
        RawClass(split, names[place], ImageFiles(classes[names[place]]))
        for split, places in parts.items()
        for place in places
    ]


def _split_images(classes: Mapping[str, list[str]], seed: int) -> list[RawClass]:
    """Every class in all of the splits, each time with other images."""
    fewest = FEWEST * len(SPLITS)
    for name, paths in classes.items():
        if len(paths) < fewest:
            raise UserError(
                f"class {name!r} has {len(paths)} images, {fewest} are needed to hold "
                "some out for validation and test; add some, or remove the class"
            )
    divided = {
        name: _divided(len(classes[name]), seed, FEWEST) for name in sorted(classes)
    }
    return [
        RawClass(
            split, name, ImageFiles([classes[name][place] for place in parts[split]])
        )
        for split in SPLITS
        for name, parts in divided.items()
    ]


def _divided(count: int, seed: int, fewest: int) -> dict[str, list[int]]:
    """The places 0..count-1 drawn for each split, at least `fewest`, in order."""
    # NumPy promises that bit generators stay as they are, not `permutation`.
    bits = np.random.Philox(np.random.SeedSequence([seed, count]))
    order = np.argsort(np.random.Generator(bits).random(count), kind="stable")
    held_out = max(2 * fewest, count - round(TRAIN_SHARE * count))
    parts = np.split(order, [count - held_out, count - held_out + held_out // 2])
    return {
        split: sorted(part.tolist()) for split, part in zip(SPLITS, parts, strict=True)
    }
