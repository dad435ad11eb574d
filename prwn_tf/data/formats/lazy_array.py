"""Arrays that stay in their file until they are asked for.

A data set of 16 GB is imported on a machine with 2 GB, so nothing reads it whole.
"""

import codecs
import functools
import math
import os
import pathlib
import weakref
from typing import Any, NamedTuple

import numpy as np

from prwn_tf.errors import UserError

BLOCK = 2**16


class Span(NamedTuple):
    """A long string of bytes, left in its file."""

    start: int
    size: int
    text: bool = False  # UTF-8 text, whose characters are the bytes that are meant


class Source:
    """A file that is read by offset."""

    def __init__(self, path: pathlib.Path):
        self.path = path

    def read(self, start: int, size: int) -> np.ndarray:
        """Returns the bytes from `start` on: [size] of uint8."""
        content = np.empty(size, np.uint8)
        left = memoryview(content)
        while left:
            try:
                count = os.preadv(self._descriptor, [left], start)
            except OSError as error:
                raise UserError(f"cannot read {self.path}: {error.strerror}") from error
            if count == 0:
                raise UserError(f"{self.path} is cut short; download it again")
            left, start = left[count:], start + count
        return content

    @functools.cached_property
    def _descriptor(self) -> int:
        """The open file, which is closed with the source."""
        descriptor = os.open(self.path, os.O_RDONLY)
        weakref.finalize(self, os.close, descriptor)
        return descriptor


class LazyArray:
    """An array whose bytes may still be in a file.

    Attributes:
        dtype: type of an element.
        shape: lengths of its axes.
        objects: the elements of an array of objects, else None.
    """

    __slots__ = (
        "_data",
        "_fortran",
        "_source",
        "_starts",
        "_whole",
        "dtype",
        "objects",
        "shape",
    )

    def __init__(self, source: Source):
        """Makes an empty array that is to be filled."""
        self._source = source
        self._whole: np.ndarray | None = None
        self._starts: np.ndarray | None = None
        self.objects: list[Any] | None = None
        self.fill(np.dtype(np.uint8), (0,), b"")

    def fill(
        self,
        dtype: np.dtype,
        shape: tuple[int, ...],
        data: bytes | Span,
        *,
        fortran: bool = False,
    ) -> None:
        """Says what the array is, or raises ValueError if size and shape do not fit.

        Args:
            data: its bytes, or where they are.
            fortran: whether the first axis changes fastest.
        """
        expected = math.prod(shape) * dtype.itemsize
        size = len(data) if isinstance(data, bytes) else data.size
        # A byte takes up to two in text.
        most = 2 * expected if isinstance(data, Span) and data.text else expected
        if min(shape, default=0) < 0 or not expected <= size <= most:
            raise ValueError(f"{size} bytes for an array of {shape} {dtype}")
        self.dtype = dtype
        self.shape = shape
        self._data = data
        self._fortran = fortran

    @property
    def path(self) -> pathlib.Path:
        """The file that it is in."""
        return self._source.path

    def __len__(self) -> int:
        return self.shape[0]

    def row(self, index: int) -> np.ndarray:
        """Returns a copy of the array at one place of the first axis."""
        if isinstance(self._data, bytes) or self._fortran:
            return self.read()[index].copy()
        shape = self.shape[1:]
        size = math.prod(shape) * self.dtype.itemsize
        return self._bytes(index * size, size).view(self.dtype).reshape(shape)

    def content(self) -> bytes:
        """Returns the bytes of the array, which are not kept."""
        return self._bytes(0, self._size).tobytes()

    def read(self) -> np.ndarray:
        """Returns the whole array, which is read once and kept."""
        if self._whole is None:
            flat = self._bytes(0, self._size).view(self.dtype)
            self._whole = flat.reshape(self.shape, order="F" if self._fortran else "C")
        return self._whole

    @property
    def _size(self) -> int:
        """The bytes of the whole array."""
        return math.prod(self.shape) * self.dtype.itemsize

    def _bytes(self, first: int, count: int) -> np.ndarray:
        """Returns bytes of the array from byte `first` on: [count] of uint8."""
        if isinstance(self._data, bytes):
            return np.frombuffer(self._data, np.uint8)[first : first + count]
        if self._data.text:
            return self._decoded(first, count)
        return self._source.read(self._data.start + first, count)

    def _decoded(self, first: int, count: int) -> np.ndarray:
        """Returns bytes of the array, of which each is written as a character.

        In UTF-8 such a character takes one byte or two.
        """
        if self._starts is None:
            self._starts = self._count_characters()
        block = int(np.searchsorted(self._starts, first, side="right")) - 1
        before = first - int(self._starts[block])  # characters to leave out
        start = block * BLOCK
        most = min(2 * (before + count) + 2, self._data.size - start)
        content = self._source.read(self._data.start + start, most)
        # The first byte may belong to the last character of the block before.
        begin = int(np.argmax(_begins(content)))
        decoder = codecs.getincrementaldecoder("utf-8")()
        try:
            text = decoder.decode(content[begin:].tobytes())
            wanted = text[before : before + count].encode("latin-1")
        except ValueError as error:
            raise self._damage_error(error.reason) from error
        return np.frombuffer(wanted, np.uint8)

    def _count_characters(self) -> np.ndarray:
        """Returns how many characters begin before each block: [blocks + 1]."""
        start, size = self._data.start, self._data.size
        counts = [
            np.count_nonzero(
                _begins(self._source.read(start + place, min(BLOCK, size - place)))
            )
            for place in range(0, size, BLOCK)
        ]
        if sum(counts) != self._size:
            raise self._damage_error(
                f"{sum(counts)} bytes for an array of {self._size}"
            )
        return np.cumsum([0, *counts])

    def _damage_error(self, reason: str) -> UserError:
        """Returns the error on a damaged file."""
        return UserError(f"{self._source.path} is damaged ({reason}); get it again")


def _begins(content: np.ndarray) -> np.ndarray:
    """Returns whether a character of UTF-8 begins at each byte: [n] -> [n]."""
    return (content & 0xC0) != 0x80
