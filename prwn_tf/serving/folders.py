"""The folders that `predict` is given: examples by class, and images to look at."""

import os
import pathlib
import unicodedata
from typing import NamedTuple

from prwn_tf.data import tree
from prwn_tf.data.sets import class_folders
from prwn_tf.data.sets.divided import listed
from prwn_tf.errors import UserError


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


def support(folder: pathlib.Path) -> dict[str, list[str]]:
    """Finds the examples of each class, in a folder of its own: class -> paths."""
    _check(folder, "support")
    found = class_folders.read(tree.scan(folder), least=1)
    if found.small:
        raise UserError(
            f"{found.root} has {len(found.small)} class folder"
            f"{'s' * (len(found.small) > 1)} without JPEG, PNG, GIF or BMP images: "
            f"{listed(found.small)}; fill or remove them"
        )
    classes = found.paths_of
    spelled: dict[str, str] = {}
    for name in classes:
        other = spelled.setdefault(_plain(name), name)
        if other != name:
            raise UserError(
                f"--support={folder} has two folders for one class, {other!r} and "
                f"{name!r}; put their images into one, or rename it"
            )
    if len(classes) < 2:
        raise UserError(
            f"--support={folder} has one class, {next(iter(classes))!r}: there is "
            "nothing to tell it from; add a folder of images for another class"
        )
    return classes


def images(folder: pathlib.Path, flag: str) -> ImageFolder:
    """Finds all images in a folder and its folders; it may be an image itself."""
    if folder.is_file():
        return ImageFolder(folder.parent, [os.path.abspath(folder)], [])
    _check(folder, flag)
    inner = list(tree.walk(folder))
    paths = [path for each in inner for path in each.image_paths()]
    others = [os.path.join(each.path, name) for each in inner for name in each.others]
    if not paths:
        raise UserError(
            f"--{flag}={folder} holds no JPEG, PNG, GIF or BMP images; give a folder "
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


def _plain(name: str) -> str:
    """Returns what people read of a name, and what some disks keep of it."""
    return unicodedata.normalize("NFC", name).strip().casefold()
