"""Reads files that gzip or xz has packed, and refuses those that explode.

A few bytes from a stranger may unpack to more than the disk holds, and may ask for more
memory than the machine has.
"""

import gzip
import lzma
import pathlib
from typing import BinaryIO

from prwn_tf.data.formats.streams import Stream
from prwn_tf.errors import UserError

GZIP_BEGINNING = b"\x1f\x8b"
XZ_BEGINNING = b"\xfd7zXZ\0"
# Unpacked to packed. Images hardly shrink, but a tar of small files that are all alike
# does, with its headers and padding: by 135 with gzip and by 530 with xz. Zeros shrink
# by 1000 and by 6500.
GZIP_RATIO_LIMIT = 300
XZ_RATIO_LIMIT = 1000
HARMLESS_SIZE = 2**20  # any file may unpack to so much
MEMORY_LIMIT = 2**27  # to unpack xz, whose presets take half of it at most
BLOCK = 2**16


def is_compressed(beginning: bytes) -> bool:
    """Returns whether a file that begins so is one that `unpacked` unpacks."""
    return beginning.startswith((GZIP_BEGINNING, XZ_BEGINNING))


def unpacked(file: BinaryIO, path: pathlib.Path) -> Stream:
    """Returns the content of a file, which is unpacked as it is read.

    Args:
        file: an open file, at its beginning.
        path: where it lies.
    """
    beginning = file.read(len(XZ_BEGINNING))
    file.seek(0)
    if beginning == XZ_BEGINNING:
        return _BoundedStream(_XzStream(file, path), path, XZ_RATIO_LIMIT)
    if beginning.startswith(GZIP_BEGINNING):
        return _BoundedStream(gzip.GzipFile(fileobj=file), path, GZIP_RATIO_LIMIT)
    return file


def check_ratio(path: pathlib.Path, unpacked_size: int, limit: int) -> None:
    """Raises if a file unpacks to over `limit` times its size."""
    packed_size = path.stat().st_size
    if unpacked_size > max(HARMLESS_SIZE, limit * packed_size):
        raise UserError(
            f"{path} unpacks to over {limit} times its {packed_size:,} bytes, as a "
            "decompression bomb does; get the archive from its publisher"
        )


class _BoundedStream:
    """A stream that refuses to become many times as large as its file."""

    def __init__(self, stream: Stream, path: pathlib.Path, limit: int):
        self._stream = stream
        self._path = path
        self._limit = limit
        self._size = 0

    def read(self, size: int, /) -> bytes:
        """Returns at most `size` bytes; none only at the end."""
        content = self._stream.read(size)
        self._size += len(content)
        check_ratio(self._path, self._size, self._limit)
        return content


class _XzStream:
    """The unpacked content of an xz file.

    Python's own `LZMAFile` takes as much memory as a file asks for, up to 4 GB.
    """

    def __init__(self, file: BinaryIO, path: pathlib.Path):
        self._file = file
        self._path = path
        self._decoder = _new_decoder()

    def read(self, size: int, /) -> bytes:
        """Returns at most `size` bytes; none only at the end."""
        while True:
            packed = b""
            if self._decoder.eof:
                packed = self._next_part()
                if not packed:
                    return b""
                self._decoder = _new_decoder()
            elif self._decoder.needs_input:
                packed = self._file.read(BLOCK)
                if not packed:
                    raise EOFError("the end is missing")
            if content := self._decode(packed, size):
                return content

    def _next_part(self) -> bytes:
        """Returns the beginning of what follows a finished part, or nothing.

        Files that were joined are parts of one. Zeros may follow each.
        """
        packed = self._decoder.unused_data or self._file.read(BLOCK)
        while packed and not packed.strip(b"\0"):
            packed = self._file.read(BLOCK)
        return packed.lstrip(b"\0")

    def _decode(self, packed: bytes, size: int) -> bytes:
        """Returns at most `size` bytes of what is unpacked so far."""
        try:
            return self._decoder.decompress(packed, size)
        except lzma.LZMAError as error:
            if "Memory usage limit" not in str(error):
                raise
            raise UserError(
                f"{self._path} needs over {MEMORY_LIMIT:,} bytes of memory to be "
                "unpacked, twice as many as xz -9 makes it; get the archive from its "
                "publisher"
            ) from error


def _new_decoder() -> lzma.LZMADecompressor:
    """Returns a decoder for one part of an xz file."""
    return lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=MEMORY_LIMIT)
