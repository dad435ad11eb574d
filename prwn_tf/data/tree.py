"""The files of a folder tree as users have them: hidden files, links and all."""

import os
import pathlib
import unicodedata
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from prwn_tf.data.store import manifest
from prwn_tf.errors import UserError
from prwn_tf.images import header

IMAGE_SUFFIXES = (".jpg", ".jpeg", ".jpe", ".jfif", ".png", ".gif", ".bmp")
NOT_IMAGES = "files that are not JPEG, PNG, GIF or BMP images"  # for summaries
DEPTH = 12
SNIFFED = 1000  # files without a known suffix that are looked into to find an image


class Folder(NamedTuple):
    """A folder and the names of what lies in it, sorted."""

    path: str
    images: list[str]
    others: list[str]  # files that are not images, hidden ones apart
    folders: list[str]

    @property
    def name(self) -> str:
        return shown(os.path.basename(self.path))

    def image_paths(self) -> list[str]:
        return [os.path.join(self.path, name) for name in self.images]


def walk(root: pathlib.Path, exclude: Sequence[pathlib.Path] = ()) -> Iterator[Folder]:
    """Every folder from `root` down, each before those inside it.

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
        folder = _scan(path)
        if depth and manifest.FILE in folder.others and manifest.is_dataset(real):
            continue
        kept = [
            name
            for name in folder.folders
            if os.path.realpath(os.path.join(path, name)) not in seen
        ]
        yield folder._replace(folders=kept)
        if depth < DEPTH:
            inside = (os.path.join(path, name) for name in reversed(kept))
            waiting += [(each, depth + 1) for each in inside]


def shown(path: str | os.PathLike[str]) -> str:
    """A path as text that can be printed and stored, whatever bytes it is made of."""
    return plain(os.fsencode(path).decode("utf-8", "replace"))


def plain(text: str) -> str:
    """Text without line breaks and codes that a terminal would obey."""
    if text.isprintable():
        return text
    return "".join(
        repr(c)[1:-1] if unicodedata.category(c) in ("Cc", "Zl", "Zp") else c
        for c in text
    )


def _scan(path: str) -> Folder:
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
                elif entry.name.lower().endswith(IMAGE_SUFFIXES):
                    folder.images.append(entry.name)
                else:
                    folder.others.append(entry.name)
    except OSError as error:
        raise UserError(f"cannot read {shown(path)}: {error.strerror}") from error
    misnamed = _images_among(path, sorted(folder.others))
    folder.images.extend(misnamed)
    others = sorted(set(folder.others) - set(misnamed))
    return Folder(path, sorted(folder.images), others, sorted(folder.folders))


def _images_among(path: str, names: Sequence[str]) -> list[str]:
    """The files that are images without a suffix that says so.

    Of a folder in which the first thousand files are none, the others are not opened.
    """
    found = [name for name in names[:SNIFFED] if _is_image(path, name)]
    if found:
        found += [name for name in names[SNIFFED:] if _is_image(path, name)]
    return found


def _is_image(path: str, name: str) -> bool:
    return header.kind_of(beginning(os.path.join(path, name))) in ("jpeg", "png")


def beginning(path: str | os.PathLike[str]) -> bytes:
    """The first bytes of a file; none if it cannot be read."""
    try:
        with open(path, "rb") as file:
            return file.read(512)
    except OSError:
        return b""
