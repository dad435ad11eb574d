"""ClassStore: the images of one split, sorted by class, read from disk on demand.

A prepared data set is a folder:

    manifest.json   what it holds, where it came from, and the hash of each file
    train.bin       the images of all training classes, class after class, uint8
                    unless the manifest names another dtype
    val.bin
    test.bin
    unlabeled.bin   images that belong to no class, if there are any

It is written beside its place and renamed when it is whole, so a folder with a
manifest is a complete data set and a folder without one is no data set.
"""

import dataclasses
import functools
import os
import pathlib
import shutil
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from prwn_tf import files
from prwn_tf.data import manifest
from prwn_tf.data.partial_store import JOURNAL, PartialStore
from prwn_tf.errors import UserError

MANIFEST = manifest.FILE
SPLITS = manifest.SPLITS
UNLABELED = manifest.UNLABELED
UINT8 = np.dtype(np.uint8)
read_manifest = manifest.read
is_dataset = manifest.is_dataset


@dataclasses.dataclass(frozen=True)
class ClassStore:
    """The images of one split: rows `offsets[c]` to `offsets[c + 1]` are class c.

    Example:
        >>> store = open_dataset(pathlib.Path("data/omniglot"))["test"]
        >>> store.read(store.rows(0))  # the 20 drawings of the first class
    """

    path: pathlib.Path
    image_shape: tuple[int, int, int]  # height, width, channels
    names: tuple[str, ...]
    counts: np.ndarray  # [classes] images of each class
    dtype: np.dtype = UINT8  # of a pixel; float32 for points of a plane

    @functools.cached_property
    def offsets(self) -> np.ndarray:
        """First row of each class, then the number of images: [classes + 1]."""
        return np.concatenate([[0], np.cumsum(self.counts)])

    @functools.cached_property
    def images(self) -> np.ndarray:
        """All images, memory-mapped: [images, height, width, channels]."""
        return np.memmap(
            self.path, self.dtype, mode="r", shape=(len(self), *self.image_shape)
        )

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
        """The rows of one class."""
        return range(*self.offsets[class_index : class_index + 2])

    def labels(self) -> np.ndarray:
        """The class of every row: [images]."""
        return np.repeat(np.arange(len(self.names)), self.counts)

    def read(self, rows: np.ndarray) -> np.ndarray:
        """Copies of the images at `rows`: [n] -> [n, height, width, channels].

        Reads by offset instead of through the map: pages touched through a map count
        as resident memory, and a random walk over a 9 GB file touches all of them.
        """
        images = np.empty((len(rows), *self.image_shape), self.dtype)
        size = images[:1].nbytes
        for image, row in zip(images, rows, strict=True):
            if os.preadv(self._descriptor, [image], int(row) * size) != size:
                raise UserError(
                    f"{self.path} ends before image {row}; prepare it again"
                )
        return images

    @functools.cached_property
    def _descriptor(self) -> int:
        return os.open(self.path, os.O_RDONLY)


@dataclasses.dataclass(frozen=True)
class JoinedStore:
    """A split followed by images of no class, for reading alone."""

    split: ClassStore
    unlabeled: ClassStore

    @property
    def image_shape(self) -> tuple[int, int, int]:
        return self.split.image_shape

    @property
    def dtype(self) -> np.dtype:
        return self.split.dtype

    def __len__(self) -> int:
        return len(self.split) + len(self.unlabeled)

    def read(self, rows: np.ndarray) -> np.ndarray:
        """Copies of the images at `rows`: [n] -> [n, height, width, channels]."""
        images = np.empty((len(rows), *self.image_shape), self.dtype)
        beyond = rows >= len(self.split)
        images[~beyond] = self.split.read(rows[~beyond])
        images[beyond] = self.unlabeled.read(rows[beyond] - len(self.split))
        return images


def training_store(stores: Mapping[str, ClassStore]) -> ClassStore | JoinedStore:
    """What training episodes are read from: with the images of no class, if any."""
    if UNLABELED not in stores:
        return stores["train"]
    return JoinedStore(stores["train"], stores[UNLABELED])


class StoreWriter:
    """Writes a data set class by class; it appears whole at the end, or not at all.

    Example:
        with StoreWriter(folder, image_shape=(28, 28, 1), about={}) as writer:
            writer.add("train", "cat", images)  # [n, 28, 28, 1] uint8
    """

    def __init__(
        self,
        directory: pathlib.Path,
        *,
        image_shape: tuple[int, int, int],
        about: Mapping[str, Any],
        dtype: str = "uint8",
        resume_key: str | None = None,
    ):
        """A killed writer's classes are taken up by the next of the same resume_key."""
        self.about = dict(about)
        self._directory = directory
        self._image_shape = tuple(image_shape)
        self._dtype = np.dtype(dtype)
        self._resumable = resume_key is not None
        self._partial = PartialStore(
            directory.with_name(f".{directory.name}.incomplete"),
            _image_bytes(self._image_shape, self._dtype),
            resume_key,
        )

    def __enter__(self) -> "StoreWriter":
        check_replaceable(self._directory)
        with files.storage_errors(self._directory):
            self._partial.open(SPLITS)
        return self

    def add(self, split: str, name: str, images: np.ndarray) -> None:
        """Appends one class: images [n, height, width, channels] of the dtype."""
        self.add_batches(split, name, [images])

    def add_batches(
        self,
        split: str,
        name: str,
        batches: Iterable[np.ndarray],
        dropped: list[str] | None = None,
    ) -> int:
        """Appends one class that need not fit in memory; returns its images.

        Args:
            dropped: what was left out of the class and why, complete when the last
                batch is made.
        """
        if self.has(split, name):
            raise UserError(f"two classes of the {split} split are called {name!r}")
        with files.storage_errors(self._directory):
            self._partial.append(
                split,
                name,
                (self._checked(name, batch) for batch in batches),
                [] if dropped is None else dropped,
            )
        return self._partial.classes[split][name]

    def has(self, split: str, name: str) -> bool:
        """Whether the class is written, by this writer or a killed one before it."""
        return name in self._partial.classes.get(split, {})

    @property
    def dropped(self) -> list[str]:
        """What was left out of all classes so far."""
        return self._partial.dropped

    def _checked(self, name: str, images: np.ndarray) -> np.ndarray:
        if images.dtype != self._dtype or images.shape[1:] != self._image_shape:
            raise ValueError(
                f"class {name!r}: expected {self._dtype} images of "
                f"{self._image_shape}, got {images.dtype} of {images.shape[1:]}"
            )
        return images

    def __exit__(self, kind, *unused) -> None:
        if kind is not None:
            self._give_up(kind)
            return
        try:
            with files.storage_errors(self._directory):
                self._publish()
        except BaseException as error:
            self._give_up(type(error))
            raise

    def _give_up(self, kind: type[BaseException]) -> None:
        if self._resumable and kind in (KeyboardInterrupt, SystemExit):
            self._partial.leave()
        else:
            self._partial.remove()

    def _publish(self) -> None:
        self._partial.flush()
        files.write_json(self._partial.folder / MANIFEST, self._manifest())
        check_replaceable(self._directory)
        old = self._directory.with_name(f".{self._directory.name}.old")
        shutil.rmtree(old, ignore_errors=True)
        if self._directory.exists():
            self._directory.rename(old)
        self._partial.move(self._directory)
        shutil.rmtree(old, ignore_errors=True)

    def _manifest(self) -> dict[str, Any]:
        size = _image_bytes(self._image_shape, self._dtype)
        return {
            "format": manifest.FORMAT,
            **self.about,
            "image_shape": list(self._image_shape),
            "dtype": self._dtype.name,
            "splits": {
                split: {
                    "bytes": sum(classes.values()) * size,
                    "sha256": self._partial.digest(split),
                    "images": sum(classes.values()),
                    "classes": classes,
                }
                for split, classes in self._partial.classes.items()
            },
        }


def check_replaceable(directory: pathlib.Path) -> None:
    """Raises if publishing would delete files that are no data set of ours."""
    if not directory.exists():
        return
    ours = {MANIFEST, JOURNAL, *(f"{part}.bin" for part in (*SPLITS, UNLABELED))}
    found = {path.name for path in directory.iterdir()} if directory.is_dir() else None
    if found is None or (found and not (found <= ours and is_dataset(directory))):
        raise UserError(
            f"{directory} holds files that are no prepared data set, and would be "
            "replaced by one; move them, or choose another --data_dir"
        )


def open_dataset(directory: pathlib.Path) -> dict[str, ClassStore]:
    """The splits of a prepared data set, after a check of its manifest and sizes.

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
    """Compares the hash of every file with the manifest's."""
    splits = read_manifest(directory)["splits"]
    for split, store in open_dataset(directory).items():
        expected, found = splits[split]["sha256"], files.sha256(store.path)
        if found != expected:
            raise UserError(
                f"{store.path} was altered: expected sha256 {expected}, found {found}; "
                "prepare the data again"
            )


def _check_size(store: ClassStore) -> None:
    expected = len(store) * _image_bytes(store.image_shape, store.dtype)
    found = store.path.stat().st_size if store.path.exists() else "no such file"
    if found != expected:
        raise UserError(
            f"{store.path} should have {expected} bytes, found {found}; "
            "prepare the data again"
        )


def _image_bytes(shape: tuple[int, ...], dtype: np.dtype) -> int:
    return int(np.prod(shape)) * dtype.itemsize
