"""Folder trees as users have them: with hidden files, links and all."""

import os
import pathlib
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

from prwn_tf.data.store import manifest
from prwn_tf.errors import UserError
from prwn_tf.images import formats

NOT_IMAGES = f"files that are not {formats.NAMES} images"  # for summaries
MISNAMED = ("jpeg", "png", "webp", "heic")  # what files without their suffix may be
MAX_DEPTH = 12
MAX_LISTED = 5  # names in a message
MAX_SNIFFED = 1000  # files of a folder that are opened in search of a first image


class Folder(NamedTuple):
    """A folder and the sorted names of what lies in it."""

    path: str
    images: list[str]
    others: list[str]  # files that are not images, hidden ones apart
    folders: list[str]

    @property
    def name(self) -> str:
        """The folder's own name, as text that can be printed."""
        return shown(os.path.basename(self.path))

    def image_paths(self) -> list[str]:
        """Returns the paths of the images that lie in the folder itself."""
        return [os.path.join(self.path, name) for name in self.images]

    def other_paths(self) -> list[pathlib.Path]:
        """Returns the paths of the other files that lie in the folder itself."""
        return [pathlib.Path(self.path, name) for name in self.others]


class Tree(NamedTuple):
    """Everything that one scan of a folder saw."""

    root: pathlib.Path  # as the user gave it
    folders: list[Folder]  # the root first, and each before those inside it

    @property
    def image_count(self) -> int:
        """The number of images in all folders."""
        return sum(len(folder.images) for folder in self.folders)

    @property
    def other_count(self) -> int:
        """The number of other files in all folders, hidden ones apart."""
        return sum(len(folder.others) for folder in self.folders)

    def without(self, paths: Iterable[str | os.PathLike[str]]) -> "Tree":
        """Returns the tree without some files, by whatever links they are reached."""
        left_out = {os.path.realpath(path) for path in paths if os.path.isfile(path)}
        if not left_out:
            return self
        folders = [
            folder._replace(
                images=_names_besides(folder.path, folder.images, left_out),
                others=_names_besides(folder.path, folder.others, left_out),
            )
            for folder in self.folders
        ]
        return self._replace(folders=folders)


def scan(root: pathlib.Path, exclude: Sequence[pathlib.Path] = ()) -> Tree:
    """Returns what `walk` yields; of a single file, a folder that holds it alone."""
    if root.is_file():
        path = os.path.abspath(root)
        alone = Folder(os.path.dirname(path), [], [os.path.basename(path)], [])
        return Tree(root, [alone])
    return Tree(root, list(walk(root, exclude)))


def walk(root: pathlib.Path, exclude: Sequence[pathlib.Path] = ()) -> Iterator[Folder]:
    """Yields every folder from `root` down, each before those inside it.

    Links are followed, but no folder is visited twice. Inside of `root`, hidden folders
    and prepared data sets are left out, as are the folders to `exclude`.
    """
    seen = {os.path.realpath(path) for path in exclude}
    waiting = [(os.path.abspath(root), 0)]
    while waiting:
        path, depth = waiting.pop()
        real = os.path.realpath(path)
        if real in seen:
            continue
        seen.add(real)
        folder = _read_folder(path)
        if depth and manifest.FILE in folder.others and manifest.is_dataset(real):
            continue
        kept = [
            name
            for name in folder.folders
            if os.path.realpath(os.path.join(path, name)) not in seen
        ]
        yield folder._replace(folders=kept)
        if depth < MAX_DEPTH:
            paths = (os.path.join(path, name) for name in reversed(kept))
            waiting += [(inner_path, depth + 1) for inner_path in paths]


def shown(path: str | os.PathLike[str]) -> str:
    """Returns a path as text that can be printed and stored, whatever its bytes."""
    try:
        return plain(os.fsencode(path).decode("utf-8", "replace"))
    except UnicodeEncodeError:  # no name of a file here: a label, or a manifest's
        return plain(os.fspath(path))


def listed(names: Collection[str], most: int = MAX_LISTED) -> str:
    """Returns the first few of some names, and how many there are more."""
    first = ", ".join(shown(name) for name in list(names)[:most])
    more = len(names) - most
    return f"{first} and {more:,} more" if more > 0 else first


def plain(text: str) -> str:
    """Returns text without line breaks and codes that a terminal would obey."""
    if text.isprintable():
        return text
    return "".join(
        repr(c)[1:-1] if unicodedata.category(c) in ("Cc", "Zl", "Zp") else c
        for c in text
    )


def beginning(path: str | os.PathLike[str]) -> bytes:
    """Returns the first bytes of a file; none if it cannot be read."""
    try:
        with open(path, "rb") as file:
            return file.read(512)
    except OSError:
        return b""


def _read_folder(path: str) -> Folder:
    """Returns the folder at a path, or raises if it cannot be read."""
    folder = Folder(path, [], [], [])
    try:
        with os.scandir(path) as entries:
            for entry in entries:
                if entry.name.startswith(".") or entry.name == "__MACOSX":
                    continue
                if entry.is_dir():
                    folder.folders.append(entry.name)
                elif not entry.is_file() and os.path.exists(entry.path):
                    continue  # a pipe or a device, which may never end
                elif entry.name.lower().endswith(formats.SUFFIXES):
                    folder.images.append(entry.name)
                else:
                    folder.others.append(entry.name)
    except OSError as error:
        raise UserError(f"cannot read {shown(path)}: {error.strerror}") from error
    misnamed = _images_among(path, sorted(folder.others))
    folder.images.extend(misnamed)
    others = sorted(set(folder.others) - set(misnamed))
    return Folder(path, sorted(folder.images), others, sorted(folder.folders))


def _names_besides(path: str, names: list[str], left_out: set[str]) -> list[str]:
    """Returns the names in a folder that lead to none of some files."""
    return [
        name
        for name in names
        if os.path.realpath(os.path.join(path, name)) not in left_out
    ]


def _images_among(path: str, names: Sequence[str]) -> list[str]:
    """Returns the files of a folder that are images, though their names do not say so.

    If none of the first `MAX_SNIFFED` files is one, the others are not opened.
    """
    images = [name for name in names[:MAX_SNIFFED] if _is_image(path, name)]
    if images:
        images += [name for name in names[MAX_SNIFFED:] if _is_image(path, name)]
    return images


def _is_image(path: str, name: str) -> bool:
    """Returns whether a file of a folder begins like a common image."""
    return formats.kind_of(beginning(os.path.join(path, name))) in MISNAMED
