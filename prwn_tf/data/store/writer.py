"""Writes the data sets that `reader` reads.

A data set is written beside its place, and renamed when it is whole.
"""

import pathlib
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from prwn_tf import files
from prwn_tf.data.store import manifest
from prwn_tf.data.store.journal import JOURNAL, PartialStore
from prwn_tf.data.store.reader import image_bytes
from prwn_tf.errors import UserError


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
        """Says what is to be written; nothing is written yet.

        Args:
            directory: where the data set is to appear.
            image_shape: height, width, channels.
            about: further entries of the manifest, which may be changed until the end.
            dtype: of a pixel.
            resume_key: the classes of a killed writer are taken up by the next one of
                the same key; None takes up nothing.
        """
        self.about = dict(about)
        self._directory = directory
        self._image_shape = tuple(image_shape)
        self._dtype = np.dtype(dtype)
        self._resumable = resume_key is not None
        self._partial = PartialStore(
            directory.with_name(f".{directory.name}.incomplete"),
            image_bytes(self._image_shape, self._dtype),
            resume_key,
        )

    def __enter__(self) -> "StoreWriter":
        with files.storage_errors(self._directory):
            self._partial.open(manifest.SPLITS)
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
    ) -> None:
        """Appends one class that need not fit in memory.

        Args:
            dropped: what was left out of the class and why. It may grow while batches
                are made.
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

    def has(self, split: str, name: str) -> bool:
        """Returns whether a class is written, by this writer or a killed one."""
        return name in self._partial.classes.get(split, {})

    def images_of(self, split: str, name: str) -> int:
        """Returns the number of images of a class that is written."""
        return self._partial.classes[split][name]

    @property
    def dropped(self) -> list[str]:
        """What was left out of all classes so far."""
        return self._partial.dropped

    def _checked(self, name: str, images: np.ndarray) -> np.ndarray:
        """Returns the images, or raises if they are of another shape or type."""
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
        """Leaves what is written to be taken up after a stop; else deletes it."""
        if self._resumable and kind in (KeyboardInterrupt, SystemExit):
            self._partial.leave()
        else:
            self._partial.remove()

    def _publish(self) -> None:
        """Puts the data set in its place, instead of the one that is there."""
        self._partial.flush()
        files.write_json(self._partial.folder / manifest.FILE, self._manifest())
        check_replaceable(self._directory)
        self._partial.move(self._directory)

    def _manifest(self) -> dict[str, Any]:
        """Returns the manifest of what is written."""
        size = image_bytes(self._image_shape, self._dtype)
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
    """Raises if a data set at `directory` would replace something else."""
    if not directory.exists():
        return
    parts = (*manifest.SPLITS, manifest.UNLABELED)
    ours = {manifest.FILE, JOURNAL, *(f"{part}.bin" for part in parts)}
    names = {path.name for path in directory.iterdir()} if directory.is_dir() else {""}
    if names and not (names <= ours and manifest.is_dataset(directory)):
        raise UserError(
            f"{directory} holds files that are no prepared data set, and would be "
            "replaced by one; move them, or choose another --data_dir"
        )
