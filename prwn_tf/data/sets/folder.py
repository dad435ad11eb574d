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
from prwn_tf.data.raw import MIN_IMAGES, ImageFiles, Import, RawClass
from prwn_tf.data.store.reader import SPLITS
from prwn_tf.data.tree import Folder, Tree
from prwn_tf.errors import UserError

SIZE = 84
HOLD_OUT = ("classes", "images")
TRAIN_SHARE = 0.6  # the rest is halved between val and test
MIN_CLASSES = 2  # of a split: to tell apart
REMEDY = "give a folder that has a folder of images for each class"
MAX_LISTED = 5  # names in a message
_SPLIT_NAMES = {name: name for name in SPLITS} | {"valid": "val", "validation": "val"}


def describe(
    source: Tree, *, size: int = SIZE, seed: int = 0, hold_out: str = "classes"
) -> Import:
    """Returns the classes of a folder tree, and which split each belongs to.

    Args:
        size: height and width of the images to be made.
        seed: draws the classes or images that are held out.
        hold_out: "classes", or "images" to have every class in all splits.
    """
    if not source.image_count:
        raise UserError(
            f"{source.root} holds no JPEG, PNG, GIF or BMP images; {REMEDY}"
        )
    folders = {folder.path: folder for folder in source.folders}
    root = _unwrapped(folders)
    split_folders = _split_folders(root, folders)
    if split_folders:
        if hold_out == "images":
            raise UserError(
                f"{source.root} has train, val and test folders, which "
                "--hold_out=images does not use; leave it out, or put all classes "
                "into one folder"
            )
        classes = _as_given(
            {split: _paths_of(each, folders) for split, each in split_folders.items()}
        )
        words, about = "class folders under train, val and test", {}
    else:
        classes = _drawn(root, _paths_of(root, folders), seed, hold_out)
        words, about = "class folders", {"held_out": hold_out, "seed": seed}
    used = sum(len(raw.images) for raw in classes)
    return Import(
        dataset="folder",
        source=str(source.root),
        layout=f"own images in {words}",
        size=size,
        classes=classes,
        about=about,
        skipped={
            tree.NOT_IMAGES: source.other_count,
            "images outside of class folders": source.image_count - used,
        },
    )


def classes(folder: pathlib.Path) -> dict[str, list[str]]:
    """Returns the classes of a folder tree, not split: name -> paths of its images."""
    folders = {inner.path: inner for inner in tree.walk(folder)}
    return _paths_of(_unwrapped(folders), folders)


def unlabeled_images(source: Tree) -> ImageFiles:
    """Returns all images of a tree, in whatever folders they lie."""
    paths = [path for folder in source.folders for path in folder.image_paths()]
    if not paths:
        raise UserError(
            f"--unlabeled_source={source.root} holds no images that are not in "
            "--source as well; give a folder that does"
        )
    return ImageFiles(paths)


# --- Which folders are classes


def _inner_folders(folder: Folder, folders: Mapping[str, Folder]) -> list[Folder]:
    """Returns the folders that lie in a folder, of those that were scanned."""
    paths = (os.path.join(folder.path, name) for name in folder.folders)
    return [folders[path] for path in paths if path in folders]


def _unwrapped(folders: Mapping[str, Folder]) -> Folder:
    """Returns the first folder that holds more than just another folder.

    Archives often have folders around everything.
    """
    root = next(iter(folders.values()))
    while not root.images and len(inner := _inner_folders(root, folders)) == 1:
        if not inner[0].folders:
            break
        [root] = inner
    return root


def _split_folders(root: Folder, folders: Mapping[str, Folder]) -> dict[str, Folder]:
    """Returns the folder of each split; none if the tree is not divided so.

    A class may be called train, too.
    """
    folder_of: dict[str, Folder] = {}
    for folder in _inner_folders(root, folders):
        split = _SPLIT_NAMES.get(folder.name.lower())
        if split is None or not folder.folders:
            continue
        if other := folder_of.get(split):
            raise UserError(
                f"{tree.shown(root.path)} has two folders of classes for {split}, "
                f"{other.name} and {folder.name}; put their classes into one"
            )
        folder_of[split] = folder
    if folder_of and len(folder_of) < len(SPLITS):
        missing = [split for split in SPLITS if split not in folder_of]
        raise UserError(
            f"{tree.shown(root.path)} has folders of classes for {_listed(folder_of)} "
            f"but none for {_listed(missing)}; add it, or put all classes into one "
            "folder to have them split"
        )
    return folder_of


def _paths_of(root: Folder, folders: Mapping[str, Folder]) -> dict[str, list[str]]:
    """Returns the images of each class: name -> paths."""
    class_folders = _inner_folders(root, folders)
    if not class_folders:
        raise UserError(
            f"{tree.shown(root.path)} holds {len(root.images)} images but no folders; "
            f"{REMEDY}"
        )
    empty = [
        folder.name
        for folder in class_folders
        if not folder.images and not folder.folders
    ]
    if empty:
        raise UserError(
            f"{tree.shown(root.path)} has {len(empty)} class folder"
            f"{'s' * (len(empty) > 1)} without JPEG, PNG, GIF or BMP images: "
            f"{_listed(empty)}; fill or remove them"
        )
    for folder in class_folders:
        if folder.folders:
            raise UserError(
                f"class folder {tree.shown(folder.path)} has further folders "
                f"({_listed(folder.folders)}) in it; {REMEDY}, all on one level"
            )
    paths_of = {folder.name: folder.image_paths() for folder in class_folders}
    if len(paths_of) < len(class_folders):
        raise UserError(
            f"{tree.shown(root.path)} has class folders whose names differ in bytes "
            "that are no text; rename them"
        )
    return paths_of


def _listed(names: Sequence[str] | Mapping[str, object]) -> str:
    """Returns the first few of some names, for messages."""
    first = ", ".join(tree.shown(name) for name in list(names)[:MAX_LISTED])
    return first + " ..." * (len(names) > MAX_LISTED)


# --- Which split they belong to


def _as_given(paths_of: Mapping[str, Mapping[str, list[str]]]) -> list[RawClass]:
    """Returns the classes of splits that the user has made.

    Args:
        paths_of: split -> class -> paths of its images.
    """
    splits_of: dict[str, list[str]] = defaultdict(list)
    for split, classes in paths_of.items():
        if len(classes) < MIN_CLASSES:
            raise UserError(
                f"the {split} folder has {len(classes)} class, at least "
                f"{MIN_CLASSES} are needed to tell apart; move some there"
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
        for name, paths in sorted(paths_of[split].items())
    ]


def _drawn(
    root: Folder, paths_of: Mapping[str, list[str]], seed: int, hold_out: str
) -> list[RawClass]:
    """Returns the classes in splits that are drawn by seed."""
    if len(paths_of) < MIN_CLASSES:
        raise UserError(
            f"{tree.shown(root.path)} has one class, {_listed(paths_of)}: there is "
            f"nothing to tell it from; {REMEDY}"
        )
    return (_split_images if hold_out == "images" else _split_classes)(paths_of, seed)


def _split_classes(paths_of: Mapping[str, list[str]], seed: int) -> list[RawClass]:
    """Returns every class in one of the splits."""
    needed = MIN_CLASSES * len(SPLITS)
    if len(paths_of) < needed:
        raise UserError(
            f"{len(paths_of)} classes are too few to hold some out for validation and "
            f"test, which takes {needed}; hold out images of every class with "
            "--hold_out=images, or, for drawings, give python -m prwn_tf.predict a "
            "released model"
        )
    names = sorted(paths_of)
    places_of = _divided(len(names), seed, MIN_CLASSES)
    return [
        RawClass(split, names[place], ImageFiles(paths_of[names[place]]))
        for split, places in places_of.items()
        for place in places
    ]


def _split_images(paths_of: Mapping[str, list[str]], seed: int) -> list[RawClass]:
    """Returns every class in all of the splits, each time with other images."""
    needed = MIN_IMAGES * len(SPLITS)
    for name, paths in paths_of.items():
        if len(paths) < needed:
            raise UserError(
                f"class {name!r} has {len(paths)} images, {needed} are needed to hold "
                "some out for validation and test; add some, or remove the class"
            )
    places_of = {
        name: _divided(len(paths_of[name]), seed, MIN_IMAGES)
        for name in sorted(paths_of)
    }
    return [
        RawClass(
            split, name, ImageFiles([paths_of[name][place] for place in places[split]])
        )
        for split in SPLITS
        for name, places in places_of.items()
    ]


def _divided(count: int, seed: int, least: int) -> dict[str, list[int]]:
    """Returns the places 0..count-1 drawn for each split, in order.

    Validation and test get at least `least` places each.
    """
    # NumPy promises that bit generators stay as they are, not `permutation`.
    bits = np.random.Philox(np.random.SeedSequence([seed, count]))
    order = np.argsort(np.random.Generator(bits).random(count), kind="stable")
    held_out = max(2 * least, count - round(TRAIN_SHARE * count))
    parts = np.split(order, [count - held_out, count - held_out + held_out // 2])
    return {
        split: sorted(part.tolist()) for split, part in zip(SPLITS, parts, strict=True)
    }
