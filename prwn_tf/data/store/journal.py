"""A data set while it is being written, which a killed program can take up again.

Beside the image files lies a journal: one line for what is written, then one line for
each class that is in its file to the last byte.
"""

import contextlib
import hashlib
import json
import os
import pathlib
import zlib
from collections.abc import Iterable, Sequence
from typing import Any, BinaryIO

import numpy as np

from prwn_tf import files, locks, replacing
from prwn_tf.data.store import manifest

JOURNAL = "journal.jsonl"
BLOCK = 2**22


class PartialStore:
    """The image files of a folder, class by class, and their journal."""

    def __init__(self, folder: pathlib.Path, image_bytes: int, key: str | None):
        """Names the folder, which `open` makes.

        Args:
            image_bytes: of one image.
            key: what a killed program wrote is taken up if its key was the same; None
                takes up nothing.
        """
        self.folder = folder
        self.classes: dict[str, dict[str, int]] = {}  # split -> class -> images
        self.dropped: list[str] = []  # images that were left out, and why
        self._image_bytes = image_bytes
        self._key = key
        self._splits: dict[str, _SplitFile] = {}

    def open(self, splits: Sequence[str]) -> None:
        """Locks the folder and opens a file for each split."""
        self._journal = locks.hold(self.folder / JOURNAL)
        try:
            self._begin(splits)
        except OSError:
            self.remove()
            raise

    def _begin(self, splits: Sequence[str]) -> None:
        """Takes up what a killed program wrote, and begins the journal anew."""
        kept = self._recover(self._read_journal())
        self._remove_leftovers()
        self._journal.truncate(0)
        self._write_line({"key": self._key})
        for entry in kept:
            self._write_line(entry)
            self.dropped += entry["dropped"]
        for split in splits:
            self._file(split)

    def append(
        self, split: str, name: str, batches: Iterable[np.ndarray], dropped: list[str]
    ) -> None:
        """Writes a class to its split's file, and then to the journal.

        Args:
            dropped: images that were left out; it may grow while batches are made.
        """
        file, images, checksum = self._file(split), 0, 0
        for batch in batches:
            content = np.ascontiguousarray(batch).reshape(-1).view(np.uint8)
            file.write(content)
            checksum = zlib.crc32(content, checksum)
            images += len(batch)
        file.flush()
        self.classes[split][name] = images
        self.dropped += dropped
        self._write_line(
            {
                "split": split,
                "name": name,
                "images": images,
                "checksum": checksum,
                "dropped": dropped,
            }
        )

    def digest(self, split: str) -> str:
        """Returns the SHA-256 of what a split's file holds, in hexadecimal."""
        return self._splits[split].digest()

    def flush(self) -> None:
        """Brings everything to the disk, and closes the files of the splits."""
        for file in self._splits.values():
            file.close()

    def move(self, directory: pathlib.Path) -> None:
        """Gives the finished folder its place, and frees the lock after that."""
        replacing.replace(self.folder, directory)
        remove_journal(directory)
        self._journal.close()

    def leave(self) -> None:
        """Stops writing, and keeps what is there for another program to take up."""
        for file in self._splits.values():
            file.abandon()
        self._journal.close()

    def remove(self) -> None:
        """Deletes everything and stops writing."""
        locks.remove(self.folder / JOURNAL)
        self.leave()

    def _file(self, split: str, *, recover: bool = False) -> "_SplitFile":
        """Returns the file of a split, which is opened if need be.

        Args:
            recover: whether what is in the file stays, to be accepted.
        """
        if split not in self._splits:
            path = self.folder / f"{split}.bin"
            self._splits[split] = _SplitFile(path, recover=recover)
            self.classes[split] = {}
        return self._splits[split]

    def _read_journal(self) -> list[dict[str, Any]]:
        """Returns the classes that an earlier program of the same key has finished."""
        self._journal.seek(0)
        try:
            lines = self._journal.read().split("\n")[:-1]  # the last may be cut short
            first, *entries = map(json.loads, lines)
        # Empty, or damaged with the machine it ran on.
        except (ValueError, RecursionError):
            return []
        same = self._key is not None and first == {"key": self._key}
        whole = all(map(_is_entry, entries))
        return entries if same and whole else []

    def _recover(self, entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Takes up the classes that are whole in their files, and returns those."""
        kept = []
        for entry in entries:
            split, size = entry["split"], entry["images"] * self._image_bytes
            if not self._file(split, recover=True).accept(size, entry["checksum"]):
                break
            self.classes[split][entry["name"]] = entry["images"]
            kept.append(entry)
        for file in self._splits.values():
            file.cut()
        return kept

    def _remove_leftovers(self) -> None:
        """Deletes files that are not of this data set."""
        ours = {JOURNAL, *(f"{split}.bin" for split in self._splits)}
        for path in self.folder.iterdir():
            if path.name not in ours:
                path.unlink()

    def _write_line(self, content: dict[str, Any]) -> None:
        """Appends a line to the journal."""
        self._journal.write(json.dumps(content) + "\n")
        self._journal.flush()


def remove_journal(directory: pathlib.Path) -> None:
    """Deletes the journal of a finished data set; a killed writer may have left it."""
    (directory / JOURNAL).unlink(missing_ok=True)


def _is_entry(entry: Any) -> bool:
    """Returns whether a line of a journal is one that `append` writes."""
    kinds = {"split": str, "name": str, "images": int, "checksum": int, "dropped": list}
    return (
        isinstance(entry, dict)
        and entry.keys() == kinds.keys()
        and all(type(entry[key]) is kind for key, kind in kinds.items())
        and all(map(files.is_text, [entry["name"], *entry["dropped"]]))
        # It names a file.
        and entry["split"] in (*manifest.SPLITS, manifest.UNLABELED)
        and 0 <= entry["images"] < manifest.NUMBER_LIMIT
    )


class _SplitFile:
    """A file that grows, with its hash."""

    def __init__(self, path: pathlib.Path, *, recover: bool = False):
        self._file: BinaryIO = path.open("r+b" if recover and path.exists() else "w+b")
        self._hash = hashlib.sha256()
        self._size = 0  # bytes that are hashed

    def accept(self, size: int, checksum: int) -> bool:
        """Keeps the next `size` bytes if they have the checksum; returns whether."""
        hashed, crc, left = self._hash.copy(), 0, size
        self._file.seek(self._size)
        while left and (block := self._file.read(min(BLOCK, left))):
            hashed.update(block)
            crc = zlib.crc32(block, crc)
            left -= len(block)
        if left or crc != checksum:
            return False
        self._hash, self._size = hashed, self._size + size
        return True

    def cut(self) -> None:
        """Drops what comes after the last accepted byte."""
        self._file.seek(self._size)
        self._file.truncate()

    def write(self, content: np.ndarray) -> None:
        """Appends bytes."""
        self._file.write(content)
        self._hash.update(content)

    def flush(self) -> None:
        """Hands what was written to the system."""
        self._file.flush()

    def digest(self) -> str:
        """Returns the SHA-256 of what was accepted and written, in hexadecimal."""
        return self._hash.hexdigest()

    def close(self) -> None:
        """Closes the file when it is on the disk."""
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()

    def abandon(self) -> None:
        """Closes the file, whether it is whole or not."""
        # Closing flushes, which fails again where the disk is full.
        with contextlib.suppress(OSError):
            self._file.close()
