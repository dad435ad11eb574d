"""Which folders of a tree are classes, and which images are theirs."""

import os
from collections.abc import Collection, Mapping
from typing import NamedTuple

from prwn_tf.data import tree
from prwn_tf.data.sets.divided import REMEDY
from prwn_tf.data.store.reader import SPLITS
from prwn_tf.data.tree import Folder, Tree
from prwn_tf.errors import UserError

_SPLIT_NAMES = {name: name for name in SPLITS} | {"valid": "val", "validation": "val"}
MAX_NOTED = 20  # classes that a note names


class ClassFolders(NamedTuple):
    """The classes below a folder, and what was decided of some of them."""

    root: str
    paths_of: dict[str, list[str]]  # class -> paths of its images
    small: dict[str, int]  # left out: class -> images, which are too few
    inner: dict[str, list[str]]  # class -> folders inside of it that hold images
    least: int  # images that a class needs

    def notes(self) -> list[str]:
        """Returns what the user should know of the decisions, in lines."""
        notes = []
        if self.small:
            counts = [f"{name} ({count})" for name, count in self.small.items()]
            folders = f"{len(counts)} class folder{'s' * (len(counts) > 1)}"
            few = f"fewer than {self.least} images" if self.least > 1 else "no image"
            names = tree.listed(counts, MAX_NOTED)
            notes.append(f"left out {folders} with {few}: {names}")
        if self.inner:
            within = [f"{name} ({tree.listed(i)})" for name, i in self.inner.items()]
            notes.append(
                "images in folders inside of a class folder are taken for that class: "
                f"{tree.listed(within, MAX_NOTED)}"
            )
        return notes


def are_splits(names: Collection[str]) -> bool:
    """Returns whether all of some folders are called as splits are."""
    return all(name.lower() in _SPLIT_NAMES for name in names)


def by_split(source: Tree, least: int) -> dict[str, ClassFolders]:
    """Returns the classes of a tree by the split of theirs; under "" if it has none.

    Args:
        least: images that a class needs.
    """
    folders = {folder.path: folder for folder in source.folders}
    root = _unwrapped(folders)
    roots = _split_folders(root, folders) or {"": root}
    return {split: _classes_in(each, folders, least) for split, each in roots.items()}


def read(source: Tree, least: int) -> ClassFolders:
    """Returns the classes of a tree, where no folder is a split."""
    folders = {folder.path: folder for folder in source.folders}
    return _classes_in(_unwrapped(folders), folders, least)


def by_table(
    source: Tree, paths_of: Mapping[str, list[str]], least: int
) -> ClassFolders:
    """Returns the classes that a table has made of a tree's images."""
    small = {name: len(paths) for name, paths in paths_of.items() if len(paths) < least}
    kept = {name: paths for name, paths in paths_of.items() if name not in small}
    return ClassFolders(tree.shown(source.folders[0].path), kept, small, {}, least)


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
            f"{tree.shown(root.path)} has folders of classes for "
            f"{tree.listed(folder_of)} but none for {tree.listed(missing)}; add it, or "
            "put all classes into one folder to have them split"
        )
    return folder_of


def _classes_in(
    root: Folder, folders: Mapping[str, Folder], least: int
) -> ClassFolders:
    """Returns the folders in a folder as classes."""
    class_folders = _inner_folders(root, folders)
    if not class_folders:
        raise UserError(
            f"{tree.shown(root.path)} holds {len(root.images)} images but no folders; "
            f"{REMEDY}"
        )
    names = [folder.name for folder in class_folders]
    if len(set(names)) < len(names):
        raise UserError(
            f"{tree.shown(root.path)} has class folders whose names differ in bytes "
            "that are no text; rename them"
        )
    classes = ClassFolders(tree.shown(root.path), {}, {}, {}, least)
    for folder in class_folders:
        paths = _images_below(folder, folders)
        if len(paths) < least:
            classes.small[folder.name] = len(paths)
            continue
        classes.paths_of[folder.name] = paths
        inner = _inner_folders(folder, folders)
        if filled := [each.name for each in inner if _images_below(each, folders)]:
            classes.inner[folder.name] = filled
    return classes


def _images_below(folder: Folder, folders: Mapping[str, Folder]) -> list[str]:
    """Returns the paths of all images in a folder and in those inside of it."""
    deeper = (_images_below(each, folders) for each in _inner_folders(folder, folders))
    return sum(deeper, folder.image_paths())
