"""Small raw data of every layout, made by the tests that import it."""

import functools
import io
import pathlib
import pickle
import struct
import zlib
from typing import ClassVar

import numpy as np

SIZE = 16  # of the images as they are made, and as they are prepared


def color(label: int, index: int) -> tuple[int, int, int]:
    """A color for image `index` of class `label`, none of its channels like another."""
    return label % 256, 100 + index, 200 + label // 256


def pixels(label: int, index: int) -> np.ndarray:
    """An image of one color: [SIZE, SIZE, 3]."""
    return np.full((SIZE, SIZE, 3), color(label, index), np.uint8)


@functools.cache
def png(label: int, index: int) -> bytes:
    """The same image as a PNG file."""
    return encode_png(pixels(label, index))


def encode_png(image: np.ndarray) -> bytes:
    """An RGB image [height, width, 3] as a PNG file, without TensorFlow."""
    height, width, _ = image.shape
    rows = b"".join(b"\0" + row.tobytes() for row in image)
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        [chunk(b"IHDR", head), chunk(b"IDAT", zlib.compress(rows)), chunk(b"IEND", b"")]
    )


def chunk(kind: bytes, content: bytes) -> bytes:
    """A part of a PNG file."""
    checksum = struct.pack(">I", zlib.crc32(kind + content))
    return struct.pack(">I", len(content)) + kind + content + checksum


def segment(marker: int, content: bytes) -> bytes:
    """A part of a JPEG file."""
    return bytes([0xFF, marker]) + struct.pack(">H", 2 + len(content)) + content


def exif(*entries, order="<", first=8, beginning=None, cut=None) -> bytes:
    """An Exif segment of entries (tag, type, values, value)."""
    start = {"<": b"II*\0", ">": b"MM\0*"}[order] if beginning is None else beginning
    content = start + struct.pack(f"{order}IH", first, len(entries))
    for tag, kind, values, value in entries:
        content += struct.pack(f"{order}HHIHH", tag, kind, values, value, 0)
    return segment(0xE1, (b"Exif\0\0" + content)[:cut])


def turned(content: bytes, orientation: int, order: str = "<") -> bytes:
    """A JPEG file that says which way its image is stored."""
    tag = exif((0x0112, 3, 1, orientation), order=order)
    return content[:2] + tag + content[2:]


def write(path: pathlib.Path, content: bytes) -> pathlib.Path:
    """A file, with the folders that it needs."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def class_folders(
    folder: pathlib.Path, names: list[str], images: int = 3, suffix: str = "png"
) -> pathlib.Path:
    """A folder of PNG files for each class; class i has the colors of label i."""
    for label, name in enumerate(names):
        for index in range(images):
            write(folder / name / f"{index}.{suffix}", png(label, index))
    return folder


def pickled(value: object, protocol: int | str) -> bytes:
    """A pickle of protocol 0 to 5, or of "python2"."""
    if protocol != "python2":
        return pickle.dumps(value, protocol)
    file = io.BytesIO()
    _Python2Pickler(file, 2).dump(value)
    return file.getvalue().replace(b"cnumpy._core.", b"cnumpy.core.")


class _Python2Pickler(pickle._Pickler):
    """Writes text and bytes as Python 2 wrote its only strings."""

    dispatch: ClassVar[dict] = dict(pickle._Pickler.dispatch)

    def save_string(self, value: str | bytes) -> None:
        content = value.encode() if isinstance(value, str) else value
        if len(content) < 256:
            self.write(b"U" + struct.pack("<B", len(content)) + content)
        else:
            self.write(b"T" + struct.pack("<i", len(content)) + content)
        self.memoize(value)

    dispatch[str] = dispatch[bytes] = save_string
