"""Images that are not decoded yet: in files, in pickles, in arrays."""

import dataclasses
import os
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from prwn_tf.config import FITS
from prwn_tf.data import tree
from prwn_tf.data.formats.lazy_array import LazyArray
from prwn_tf.data.store.reader import SPLITS
from prwn_tf.errors import UserError
from prwn_tf.images.header import UnusableImageError

FILE_LIMIT = 2**28
MIN_IMAGES = 2  # of a class: one to learn from and one to ask


class Images(Protocol):
    """A sequence of images that are loaded one by one."""

    def __len__(self) -> int:
        """Returns the number of images."""

    def load(self, index: int) -> bytes | np.ndarray:
        """Returns an encoded image, or pixels [height, width, 3] of uint8.

        Raises:
            UnusableImageError: there is none.
        """

    def place(self, index: int) -> str:
        """Returns where an image lies, for messages."""

    def states(self) -> list[Any]:
        """Returns values for JSON that change when the images change.

        They are told without reading the images.
        """


@dataclasses.dataclass(frozen=True)
class RawClass:
    """A class of a split that is not decoded yet."""

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
        """Returns the content of a file."""
        return read_file(self.paths[index])

    def place(self, index: int) -> str:
        """Returns the path of a file, for messages."""
        return tree.shown(self.paths[index])

    def states(self) -> list[Any]:
        """Returns the path, size and time of every file."""
        return [[tree.shown(path), *_size_and_time(path)] for path in self.paths]


def read_file(path: str | os.PathLike[str]) -> bytes:
    """Returns the content of an image file.

    Raises:
        UnusableImageError: it cannot be read, or is too large to be an image.
    """
    try:
        size = os.path.getsize(path)
        if size > FILE_LIMIT:
            raise UnusableImageError(f"has {size:,} bytes")
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        raise UnusableImageError(f"cannot be read: {error.strerror}") from error
    except ValueError as error:  # a name with a NUL in it
        raise UnusableImageError(f"cannot be read: {error}") from error


@dataclasses.dataclass(frozen=True)
class EncodedRows:
    """Some of the encoded images in a list of arrays of bytes."""

    origin: str
    items: Sequence[LazyArray]
    rows: Sequence[int]

    def __len__(self) -> int:
        return len(self.rows)

    def load(self, index: int) -> bytes:
        """Returns an encoded image."""
        return self.items[self.rows[index]].content()

    def place(self, index: int) -> str:
        """Returns the row of an image and its file, for messages."""
        return f"image {self.rows[index]} of {self.origin}"

    def states(self) -> list[Any]:
        """Returns the rows, and size and time of their files."""
        paths = {self.items[row].path for row in self.rows}
        return [self.origin, *self.rows, *map(_size_and_time, paths)]


@dataclasses.dataclass(frozen=True)
class PixelRows:
    """Some of the images in an array of pixels [n, height, width, 3]."""

    origin: str
    array: LazyArray
    rows: Sequence[int]
    bgr: bool = False  # blue first, as OpenCV has it

    def __len__(self) -> int:
        return len(self.rows)

    def load(self, index: int) -> np.ndarray:
        """Returns the pixels of an image, red first."""
        pixels = self.array.row(self.rows[index])
        return pixels[..., ::-1] if self.bgr else pixels

    def place(self, index: int) -> str:
        """Returns the row of an image and its file, for messages."""
        return f"image {self.rows[index]} of {self.origin}"

    def states(self) -> list[Any]:
        """Returns the rows, and size and time of their file."""
        return [self.origin, *self.rows, _size_and_time(self.array.path)]


def _size_and_time(path: str | os.PathLike[str]) -> list[int]:
    """Returns size and time of the last change of a file, or [] if it is not there."""
    try:
        status = os.stat(path)
    except OSError:
        return []
    return [status.st_size, status.st_mtime_ns]


@dataclasses.dataclass(frozen=True)
class Import:
    """The description of a data set that is to be written, with all classes checked.

    Attributes:
        dataset: its name.
        source: where its images come from.
        layout: the form in which they lie there, in words.
        size: height and width of an image.
        classes: of all splits.
        about: further entries of the manifest.
        skipped: what was left out, in words -> how many.
        notes: what the user should know of it, in lines.
        fit: how images become squares, one of `config.FITS`.
    """

    dataset: str
    source: str
    layout: str
    size: int
    classes: Sequence[RawClass]
    about: dict[str, Any]
    skipped: dict[str, int]
    notes: Sequence[str] = ()
    fit: str = FITS[0]

    def __post_init__(self):
        for raw in self.classes:
            if raw.split in SPLITS and len(raw.images) < MIN_IMAGES:
                raise UserError(
                    f"class {raw.name!r} of the {raw.split} split has "
                    f"{len(raw.images)} image, at least {MIN_IMAGES} are needed, one "
                    "to learn from and one to ask; add some, or remove the class"
                )

    @property
    def image_count(self) -> int:
        """The number of images of all classes."""
        return sum(len(raw.images) for raw in self.classes)
