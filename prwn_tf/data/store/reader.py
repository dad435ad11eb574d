"""ClassStore: the images of one split, sorted by class, read from disk on demand.

A prepared data set is a folder:

    manifest.json   what it holds, where it came from, and the hash of each file
    train.bin       the images of all training classes, class after class, uint8
                    unless the manifest names another dtype
    val.bin
    test.bin
    unlabeled.bin   images that belong to no class, if there are any

A folder with a manifest is a complete data set, and one without is no data set.
"""

import abc
import dataclasses
import functools
import os
import pathlib
import weakref
from collections.abc import Mapping, Sequence

import numpy as np

from prwn_tf import files
from prwn_tf.data.store import manifest
from prwn_tf.errors import UserError

MANIFEST = manifest.FILE
SPLITS = manifest.SPLITS
UNLABELED = manifest.UNLABELED
UINT8 = np.dtype(np.uint8)
read_manifest = manifest.read


class SortedClasses(abc.ABC):
    """Images class after class: rows `offsets[c]` to `offsets[c + 1]` are class c."""

    image_shape: tuple[int, int, int]  # height, width, channels
    names: tuple[str, ...]
    counts: np.ndarray  # [classes] images of each class
    dtype: np.dtype  # of a pixel; float32 for points of a plane

    @functools.cached_property
    def offsets(self) -> np.ndarray:
        """First row of each class, then the number of images: [classes + 1]."""
        return np.concatenate([[0], np.cumsum(self.counts)])

    def __len__(self) -> int:
        return int(self.offsets[-1])

    @property
    def visible(self) -> bool:
        """Whether its images are pictures, and not points of a plane."""
        return self.dtype == np.uint8

    @property
    def smallest(self) -> int:
        """Images of the smallest class; 0 if there is none."""
        return int(min(self.counts, default=0))

    def rows(self, class_index: int) -> range:
        """Returns the rows of one class."""
        return range(*self.offsets[class_index : class_index + 2])

    def labels(self) -> np.ndarray:
        """Returns the class of every row: [images]."""
        return np.repeat(np.arange(len(self.names)), self.counts)

    @abc.abstractmethod
    def read(self, rows: np.ndarray) -> np.ndarray:
        """Returns copies of images: rows [n] -> [n, height, width, channels]."""


@dataclasses.dataclass(frozen=True)
class ClassStore(SortedClasses):
    """The images of one split.

    Example:
        >>> store = open_dataset(pathlib.Path("data/omniglot"))["test"]
        >>> store.read(store.rows(0))  # the 20 drawings of the first class
    """

    path: pathlib.Path
    image_shape: tuple[int, int, int]
    names: tuple[str, ...]
    counts: np.ndarray
    dtype: np.dtype = UINT8

    @functools.cached_property
    def images(self) -> np.ndarray:
        """All images, memory-mapped: [images, height, width, channels]."""
        return np.memmap(
            self.path, self.dtype, mode="r", shape=(len(self), *self.image_shape)
        )

    def read(self, rows: np.ndarray) -> np.ndarray:
        """Returns copies of images: rows [n] -> [n, height, width, channels].

        They are read by offset and not through the map: pages touched through a map
        count as resident memory, and a random walk over a 9 GB file touches all of
        them.
        """
        images = np.empty((len(rows), *self.image_shape), self.dtype)
        size = images[:1].nbytes
        for image, row in zip(images, rows, strict=True):
            if os.preadv(self._descriptor, [image], int(row) * size) != size:
                raise UserError(
                    f"{self.path} ends before image {row}; prepare it again"
                )
        return images

    def bytes_on_disk(self) -> int:
        """Returns the size of the file, and keeps the file open.

        If the data set is replaced while a program runs, the program goes on with what
        it has opened.
        """
        return os.fstat(self._descriptor).st_size

    @functools.cached_property
    def _descriptor(self) -> int:
        """The open file, which is closed with the store."""
        descriptor = os.open(self.path, os.O_RDONLY)
        weakref.finalize(self, os.close, descriptor)
        return descriptor


@dataclasses.dataclass(frozen=True)
class JoinedStore(SortedClasses):
    """Stores one after the other, as one: rows and classes are counted on."""

    parts: tuple[ClassStore, ...]

    @functools.cached_property
    def names(self) -> tuple[str, ...]:
        """The classes of all parts."""
        return sum((part.names for part in self.parts), ())

    @functools.cached_property
    def counts(self) -> np.ndarray:
        """Images of each class: [classes]."""
        return np.concatenate([part.counts for part in self.parts])

    @property
    def image_shape(self) -> tuple[int, int, int]:
        """Height, width and channels of an image."""
        return self.parts[0].image_shape

    @property
    def dtype(self) -> np.dtype:
        """The type of a pixel."""
        return self.parts[0].dtype

    def read(self, rows: np.ndarray) -> np.ndarray:
        """Returns copies of images: rows [n] -> [n, height, width, channels]."""
        images = np.empty((len(rows), *self.image_shape), self.dtype)
        start = 0
        for part in self.parts:
            inside = (start <= rows) & (rows < start + len(part))
            images[inside] = part.read(rows[inside] - start)
            start += len(part)
        return images


def learned_classes(
    stores: Mapping[str, ClassStore], splits: Sequence[str]
) -> SortedClasses:
    """Returns the classes that a run learns, those of some splits."""
    first, *others = (stores[split] for split in splits)
    return JoinedStore((first, *others)) if others else first


def training_store(
    stores: Mapping[str, ClassStore], splits: Sequence[str] = ("train",)
) -> SortedClasses:
    """Returns what training episodes are read from.

    Images of no class are part of it, if there are any.
    """
    extra = (UNLABELED,) if UNLABELED in stores else ()
    return learned_classes(stores, (*splits, *extra))


def open_dataset(directory: pathlib.Path) -> dict[str, ClassStore]:
    """Returns the splits of a prepared data set, if its manifest and sizes are right.

    Images of no class are one more store, `UNLABELED`, if the data set has any.
    """
    content = read_manifest(directory)
    stores = {
        split: ClassStore(
            path=directory / f"{split}.bin",
            image_shape=tuple(content["image_shape"]),
            names=tuple(part["classes"]),
            counts=np.array([*part["classes"].values()], int),
            dtype=np.dtype(content.get("dtype", "uint8")),
        )
        for split, part in content["splits"].items()
    }
    for store in stores.values():
        _check_size(store)
    return stores


def verify(directory: pathlib.Path) -> None:
    """Raises unless every file has the hash that the manifest gives it."""
    splits = read_manifest(directory)["splits"]
    for split, store in open_dataset(directory).items():
        expected, sha256 = splits[split]["sha256"], files.sha256(store.path)
        if sha256 != expected:
            raise UserError(
                f"{store.path} was altered: expected sha256 {expected}, found "
                f"{sha256}; prepare the data again"
            )


def _check_size(store: ClassStore) -> None:
    """Raises unless a split's file has as many bytes as its images take."""
    expected = len(store) * image_bytes(store.image_shape, store.dtype)
    try:
        size = store.bytes_on_disk()
    except FileNotFoundError:
        size = "no such file"
    if size != expected:
        raise UserError(
            f"{store.path} should have {expected} bytes, found {size}; "
            "prepare the data again"
        )


def image_bytes(shape: tuple[int, ...], dtype: np.dtype) -> int:
    """Returns the bytes of one image."""
    return int(np.prod(shape)) * dtype.itemsize
