"""Bytes that are read once: from an archive, from a packed file, from a plain one."""

import os
import pathlib
from typing import Protocol

from prwn_tf import files

BLOCK = 2**20


class Stream(Protocol):
    """Bytes that are read from the first to the last."""

    def read(self, size: int, /) -> bytes:
        """Returns at most `size` bytes; none only at the end."""


def save(stream: Stream, target: pathlib.Path, origin: pathlib.Path) -> None:
    """Writes the rest of a stream to a file, and dates it like its origin.

    By that date, a program that continues an import knows the file again.

    Raises:
        StorageError: the file cannot be written. Errors of the stream stay theirs.
    """
    with files.storage_errors(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        file = target.open("wb", buffering=0)  # or closing it would write as well
    with file:
        while block := memoryview(stream.read(BLOCK)):
            while block:
                with files.storage_errors(target):
                    block = block[file.write(block) :]
    with files.storage_errors(target):
        os.utime(target, ns=(time := origin.stat().st_mtime_ns, time))
