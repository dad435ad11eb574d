"""Images of ImageNet in files: the wnid is in the name of the file or its folder."""

import csv
import os
import pathlib
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping

from prwn_tf.data import tree
from prwn_tf.data.raw import ImageFiles
from prwn_tf.data.sets.imagenet_layout import Layout, SourceClass
from prwn_tf.data.tree import Tree
from prwn_tf.errors import UserError

_FOLDER_NAME = re.compile(r"n\d{8}(?!\d)")  # n01532829, n01532829-house_finch
_FILE_NAME = re.compile(r"n\d{8}(?=_|\d{8})")  # n01532829_20457, n0153282900000005
# They would swell the classes of a copy whose validation images are sorted by class.
_VALIDATION_PREFIX = "ILSVRC2012_val_"
_CSV_HEADERS = {("filename", "label"): (0, 1), ("class_name", "image_name"): (1, 0)}


def read(source: Tree) -> Layout:
    """Returns all images that have a wnid, class by class in the order of names."""
    paths_of: dict[str, list[str]] = defaultdict(list)
    skipped: dict[str, int] = defaultdict(int)
    in_class_folders = 0
    for folder in source.folders:
        wnid = _folder_wnid(os.path.relpath(folder.path, source.folders[0].path))
        skipped[tree.NOT_IMAGES] += len(folder.others)
        for name in folder.images:
            match = _FILE_NAME.match(name)
            if name.startswith(_VALIDATION_PREFIX):
                skipped["validation images of ILSVRC-2012"] += 1
            elif wnid or match:
                paths_of[wnid or match[0]].append(os.path.join(folder.path, name))
                in_class_folders += wnid is not None
            else:
                skipped["images without a wnid"] += 1
    listed = _listed_images(source)
    classes = []
    for wnid in sorted(paths_of):
        paths, copies = _without_copies(wnid, paths_of[wnid])
        chosen = _chosen(paths, listed.get(wnid))
        skipped["copies of another file"] += copies
        skipped["images that the csv files do not list"] += len(paths) - len(chosen)
        classes.append(SourceClass(wnid, ImageFiles(chosen)))
    most = 2 * in_class_folders >= sum(map(len, paths_of.values()))
    words = "class folders" if most else "files named by their wnid"
    return Layout(words + " and csv files" * bool(listed), classes, dict(skipped))


def _folder_wnid(path: str) -> str | None:
    """Returns the wnid of the innermost folder that is named by one."""
    for part in reversed(pathlib.PurePath(path).parts):
        if match := _FOLDER_NAME.match(part):
            return match[0]
    return None


def _without_copies(wnid: str, paths: Iterable[str]) -> tuple[list[str], int]:
    """Returns paths in the order of file names, and how many copies were left out.

    A file that lies in two folders counts once.
    """
    kept: dict[str, str] = {}
    copies = 0
    for path in sorted(paths):
        name = os.path.basename(path)
        if name not in kept:
            kept[name] = path
        elif _same_content(kept[name], path):
            copies += 1
        else:
            raise UserError(
                f"class {wnid} has two different images of the same name: "
                f"{tree.shown(kept[name])} and {tree.shown(path)}; rename or remove one"
            )
    return [kept[name] for name in sorted(kept)], copies


def _same_content(path: str, other: str) -> bool:
    """Returns whether two files have the same bytes."""
    try:
        return pathlib.Path(path).read_bytes() == pathlib.Path(other).read_bytes()
    except OSError:
        return False


def _chosen(paths: list[str], listed: set[str] | None) -> list[str]:
    """Returns the images that a csv file lists; all if it lists none of them."""
    if not listed:
        return paths
    return [path for path in paths if _stem(os.path.basename(path)) in listed] or paths


def _listed_images(source: Tree) -> Mapping[str, set[str]]:
    """Returns what the csv files of Ravi and Larochelle or of sicara list.

    A class leads to the names of its images, without suffixes.
    """
    listed: dict[str, set[str]] = defaultdict(set)
    for folder in source.folders:
        for name in folder.others:
            if name.lower().endswith(".csv"):
                for wnid, image in _rows(os.path.join(folder.path, name)):
                    listed[wnid].add(_stem(image))
    return listed


def _rows(path: str) -> Iterable[tuple[str, str]]:
    """Returns the class and name of every image that a csv file lists.

    Of a table of something else, it returns nothing.
    """
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            separator = ";" if ";" in file.readline() else ","
            file.seek(0)
            reader = csv.reader(file, delimiter=separator)
            columns = _CSV_HEADERS.get(tuple(next(reader, ()))[-2:])
            if columns is None:
                return []
            image, label = columns
            rows = [row[-2:] for row in reader if len(row) >= 2]
            return [(row[label], row[image]) for row in rows]
    except OSError as error:
        raise UserError(f"cannot read {tree.shown(path)}: {error.strerror}") from error
    except (ValueError, csv.Error):
        return []


def _stem(name: str) -> str:
    """Returns a file's name without its suffix.

    Copies are often saved in another format than the list has them in.
    """
    return name.rpartition(".")[0] or name
