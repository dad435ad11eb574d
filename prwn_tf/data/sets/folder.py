"""Anyone's own images: a folder for each class, and nothing else to write.

    pictures/cat/1.jpg, pictures/dog/1.jpg ...             classes are split by seed
    pictures/train/cat/1.jpg, pictures/val/dog/1.jpg ...   classes are split as given

Few-shot learning is tested on classes that training has not seen, so it is classes
that are held out, and not images, unless there are too few of them.
"""

import os
import pathlib
from collections.abc import Mapping

from prwn_tf.data import tree
from prwn_tf.data.raw import ImageFiles, Import
from prwn_tf.data.sets import divided
from prwn_tf.data.sets.divided import REMEDY, listed
from prwn_tf.data.store.reader import SPLITS
from prwn_tf.data.tree import Folder, Tree
from prwn_tf.errors import UserError

SIZE = 84
HOLD_OUT = ("classes", "images")
_SPLIT_NAMES = {name: name for name in SPLITS} | {"valid": "val", "validation": "val"}


def describe(
    source: Tree,
    *,
    size: int = SIZE,
    seed: int = 0,
    hold_out: str = "classes",
    split_of: Mapping[str, str] | None = None,
) -> Import:
    """Returns the classes of a folder tree, and which split each belongs to.

    Args:
        size: height and width of the images to be made.
        seed: draws the classes or images that are held out.
        hold_out: "classes", or "images" to have every class in all splits.
        split_of: the split of each class that is used, instead of a draw.
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
        classes = divided.as_given(
            {split: _paths_of(each, folders) for split, each in split_folders.items()}
        )
        words, about = "class folders under train, val and test", {}
    elif split_of is not None:
        classes = divided.as_listed(root.path, _paths_of(root, folders), split_of)
        words, about = "class folders, split by a list", {}
    else:
        classes = divided.drawn(root.path, _paths_of(root, folders), seed, hold_out)
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
            f"{tree.shown(root.path)} has folders of classes for {listed(folder_of)} "
            f"but none for {listed(missing)}; add it, or put all classes into one "
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
            f"{listed(empty)}; fill or remove them"
        )
    for folder in class_folders:
        if folder.folders:
            raise UserError(
                f"class folder {tree.shown(folder.path)} has further folders "
                f"({listed(folder.folders)}) in it; {REMEDY}, all on one level"
            )
    paths_of = {folder.name: folder.image_paths() for folder in class_folders}
    if len(paths_of) < len(class_folders):
        raise UserError(
            f"{tree.shown(root.path)} has class folders whose names differ in bytes "
            "that are no text; rename them"
        )
    return paths_of
