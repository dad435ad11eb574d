"""Images before they are decoded: in files, in pickles, in arrays."""

import dataclasses
import os
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from prwn_tf.data import tree
from prwn_tf.data.formats.lazy_array import LazyArray
from prwn_tf.data.store.reader import SPLITS
from prwn_tf.errors import UserError
from prwn_tf.images.header import UnusableImageError

FILE_LIMIT = 2**28
FEWEST = 2  # images of a class


class Images(Protocol):
    """A sequence of images that are loaded one by one."""

    def __len__(self) -> int: ...

    def load(self, index: int) -> bytes | np.ndarray:
        """An encoded image, or pixels [height, width, 3] of uint8.

        Raises:
            UnusableImageError: there is none.
        """

    def place(self, index: int) -> str:
        """Where an image is, for messages."""

    def states(self) -> list[Any]:
        """What tells other images from these without reading them, as JSON."""


@dataclasses.dataclass(frozen=True)
class RawClass:
    """A class of a split, not yet decoded."""

    split: str
    name: str
    images: Images


@dataclasses.dataclass(frozen=True)
class ImageFiles:
    """Images in files of their own."""

    paths: Sequence[str]

    def __len__(self) -> int:
        return len(self.paths)

    def load(self, index: int) -> bytes:
        return read_file(self.paths[index])

    def place(self, index: int) -> str:
        return tree.shown(self.paths[index])

    def states(self) -> list[Any]:
        return [[tree.shown(path), *_size_and_time(path)] for path in self.paths]


def read_file(path: str | os.PathLike[str]) -> bytes:
    """An encoded image; UnusableImageError if there is none."""
    try:
        size = os.path.getsize(path)
        if size > FILE_LIMIT:
            raise UnusableImageError(f"has {size:,} bytes")
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        raise UnusableImageError(f"cannot be read: {error.strerror}") from error


@dataclasses.dataclass(frozen=True)
class EncodedRows:
    """Encoded images in a list of arrays of bytes."""

    origin: str
    items: Sequence[LazyArray]
    rows: Sequence[int]

    def __len__(self) -> int:
        return len(self.rows)

    def load(self, index: int) -> bytes:
        return self.items[self.rows[index]].content()

    def place(self, index: int) -> str:
        return f"image {self.rows[index]} of {self.origin}"

    def states(self) -> list[Any]:
        files = {self.items[row].path for row in self.rows}
        return [self.origin, *self.rows, *map(_size_and_time, files)]


@dataclasses.dataclass(frozen=True)
class PixelRows:
    """Rows of an array of pixels [n, height, width, 3]."""

    origin: str
    array: LazyArray
    rows: Sequence[int]
    bgr: bool = False  # blue first, as OpenCV has it

    def __len__(self) -> int:
        return len(self.rows)

    def load(self, index: int) -> np.ndarray:
        pixels = self.array.row(self.rows[index])
        return pixels[..., ::-1] if self.bgr else pixels

    def place(self, index: int) -> str:
        return f"image {self.rows[index]} of {self.origin}"

    def states(self) -> list[Any]:
        return [self.origin, *self.rows, _size_and_time(self.array.path)]


def _size_and_time(path: str | os.PathLike[str]) -> list[int]:
    """Size and time of the last change of a file; nothing if it cannot be read."""
    try:
        found = os.stat(path)
    except OSError:
        return []
    return [found.st_size, found.st_mtime_ns]


@dataclasses.dataclass(frozen=True)
class Import:
    """Everything that is to be written to a data set, found and checked.

    Attributes:
        found: what the source turned out to be, in words.
        about: further entries of the manifest.
        skipped: what was left out, in words -> how many.
    """

    dataset: str
    source: str
    found: str
    size: int
    classes: Sequence[RawClass]
    about: dict[str, Any]
    skipped: dict[str, int]

    def __post_init__(self):
        for raw in self.classes:
            if raw.split in SPLITS and len(raw.images) < FEWEST:
                raise UserError(
                    f"class {raw.name!r} of the {raw.split} split has "
                    f"{len(raw.images)} image, at least {FEWEST} are needed, one to "
                    "learn from and one to ask; add some, or remove the class"
                )

    @property
    def images(self) -> int:
        """Number of images of all classes."""
        return sum(len(raw.images) for raw in self.classes)
