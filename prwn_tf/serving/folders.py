"""The folders that `predict` is given: examples by class, and images to look at."""

import logging
import os
import pathlib
import unicodedata
from typing import NamedTuple

from prwn_tf.data import label_table, tree
from prwn_tf.data.sets import class_folders
from prwn_tf.errors import UserError
from prwn_tf.images import formats


class ImageFolder(NamedTuple):
    """The image files of a folder, wherever in it they lie."""

    root: pathlib.Path
    paths: list[str]
    others: list[str]  # files that are not images

    @property
    def title(self) -> str:
        """The name of the folder itself."""
        return tree.shown(os.path.basename(os.path.abspath(self.root)))

    def name(self, path: str) -> str:
        """Returns how tables call a file: by its way from the folder."""
        return tree.shown(pathlib.Path(path).relative_to(os.path.abspath(self.root)))


def support(folder: pathlib.Path, least: int = 2) -> dict[str, list[str]]:
    """Returns the examples of each class, in a folder of its own: class -> paths.

    Args:
        least: classes that there must be; one is enough where it joins others.
    """
    _check(folder, "support")
    source = tree.scan(folder)
    classes = class_folders.read(source, least=1)
    if classes.small:
        raise UserError(
            f"{classes.root} has {len(classes.small)} class folder"
            f"{'s' * (len(classes.small) > 1)} without {formats.NAMES} images: "
            f"{tree.listed(classes.small)}; fill or remove them"
        )
    if classes.inner and class_folders.are_splits(classes.paths_of):
        raise UserError(
            f"--support={folder} has {tree.listed(classes.paths_of)} where classes are "
            "expected, with folders of images in them; give one of these"
        )
    stray = source.image_count - sum(map(len, classes.paths_of.values()))
    notes = classes.notes() + [f"images that lie in no class folder: {stray}"] * (
        stray > 0
    )
    for note in notes:
        logging.warning("%s: %s", folder, note)
    return _told_apart(
        classes.paths_of, f"--support={folder}", "folder of images", least
    )


def labelled(
    table: pathlib.Path, folder: pathlib.Path | None, least: int = 2
) -> dict[str, list[str]]:
    """Returns the examples that a table has labels for: class -> paths.

    Args:
        folder: where names of files start from; None: from the table's own folder.
        least: as in `support`.
    """
    flag = f"--support_table={table}"
    labels = label_table.read(table, flag)
    root = table.parent if folder is None else folder
    remedy = "give the folder that their names start from as --support"
    classes = label_table.by_class(labels, root, flag, remedy)
    return _told_apart(classes, flag, "label", least)


def _told_apart(
    classes: dict[str, list[str]], flag: str, what: str, least: int
) -> dict[str, list[str]]:
    """Returns classes, if people would tell them apart, and there are enough.

    Args:
        flag, what: where each is named, and by what, for messages.
    """
    spelled: dict[str, str] = {}
    for name in classes:
        other = spelled.setdefault(as_read(name), name)
        if other != name:
            kind = what.partition(" ")[0]
            raise UserError(
                f"{flag} has two {kind}s for one class, {other!r} and {name!r}; put "
                "their images into one, or rename it"
            )
    if len(classes) < least:
        raise UserError(
            f"{flag} has one class, {next(iter(classes))!r}: there is nothing to tell "
            f"it from; add a {what} for another class"
        )
    return classes


def images(folder: pathlib.Path, flag: str) -> ImageFolder:
    """Returns all images in a folder and its folders, in the order of their paths.

    It may be an image itself.
    """
    if folder.is_file():
        return ImageFolder(folder.parent, [os.path.abspath(folder)], [])
    _check(folder, flag)
    inner = list(tree.walk(folder))
    paths = [path for each in inner for path in each.image_paths()]
    paths.sort(key=lambda path: pathlib.PurePath(path).parts)
    others = [os.path.join(each.path, name) for each in inner for name in each.others]
    if not paths:
        raise UserError(
            f"--{flag}={folder} holds no {formats.NAMES} images; give a folder "
            "that does"
        )
    return ImageFolder(folder, paths, others)


def check_outside(output: pathlib.Path, folder: pathlib.Path, flag: str) -> None:
    """Raises if results would lie in a folder of images, to be found there later."""
    real, inputs = output.resolve(), folder.resolve()
    if inputs.is_dir() and inputs in (real, *real.parents):
        raise UserError(
            f"--output={output} lies inside of --{flag}={folder}, which is for images "
            "alone; choose a folder beside it"
        )


def _check(folder: pathlib.Path, flag: str) -> None:
    """Raises unless a flag names a folder."""
    if not folder.is_dir():
        what = "is not a folder" if folder.exists() else "does not exist"
        raise UserError(f"--{flag}={folder} {what}; give a folder of images")


def as_read(name: str) -> str:
    """Returns what people read of a name, and what some disks keep of it."""
    return unicodedata.normalize("NFC", name).strip().casefold()
