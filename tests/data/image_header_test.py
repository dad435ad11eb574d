"""What is told of an image before it is decoded."""

import struct

import pytest

from prwn_tf.data import image_header
from prwn_tf.data.image_header import UnusableImageError
from tests.data import made


def bmp(width, height, bits=24, header=40):
    form = "<HHHH" if header == 12 else "<iiHH"
    return (
        b"BM"
        + bytes(12)
        + struct.pack("<I", header)
        + struct.pack(form, width, height, 1, bits)
    )


def jpeg(*segments):
    return b"\xff\xd8" + b"".join(segments)


def segment(marker, content):
    return bytes([0xFF, marker]) + struct.pack(">H", 2 + len(content)) + content


FRAME = b"\x08" + struct.pack(">HH", 30, 40) + b"\x03"


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (made.encode_png(made.pixels(0, 0)[:9]), ("png", 9, 16)),
        (b"GIF89a" + struct.pack("<HH", 7, 5), ("gif", 5, 7)),
        (bmp(7, 5), ("bmp", 5, 7)),
        (bmp(7, -5, 32), ("bmp", 5, 7)),
        (bmp(7, 5, header=12), ("bmp", 5, 7)),
        (jpeg(segment(0xE0, b"JFIF\0"), segment(0xC0, FRAME)), ("jpeg", 30, 40)),
        (jpeg(b"\xff\xff\xff", segment(0xC2, FRAME)[1:]), ("jpeg", 30, 40)),
        (
            # A thumbnail inside a segment has a frame of its own, which is skipped.
            jpeg(segment(0xE1, segment(0xC0, bytes(9))), segment(0xC0, FRAME)),
            ("jpeg", 30, 40),
        ),
        (jpeg(segment(0xC4, bytes(9)), segment(0xC1, FRAME)), ("jpeg", 30, 40)),
    ],
)
def test_kind_and_size(content, expected):
    assert image_header.read(content) == (*expected, 1)


def exif(*entries, order="<", first=8, beginning=None, cut=None):
    """An Exif segment of entries (tag, type, values, value)."""
    start = {"<": b"II*\0", ">": b"MM\0*"}[order] if beginning is None else beginning
    content = start + struct.pack(f"{order}IH", first, len(entries))
    for tag, kind, values, value in entries:
        content += struct.pack(f"{order}HHIHH", tag, kind, values, value, 0)
    return segment(0xE1, (b"Exif\0\0" + content)[:cut])


TURNED = (0x0112, 3, 1, 6)
OTHER = (0x010F, 2, 4, 9)


@pytest.mark.parametrize(
    ("segments", "expected"),
    [
        ([exif(TURNED)], 6),
        ([exif(TURNED, order=">")], 6),
        ([exif(OTHER, TURNED, order=">")], 6),
        ([segment(0xE0, b"JFIF\0"), segment(0xE1, b"http://ns"), exif(TURNED)], 6),
        ([exif(OTHER)], 1),
        ([exif()], 1),
        # Damage
        ([exif((0x0112, 3, 1, 0))], 1),
        ([exif((0x0112, 3, 1, 9))], 1),
        ([exif((0x0112, 4, 1, 6))], 1),
        ([exif((0x0112, 3, 2, 6))], 1),
        ([exif(TURNED, first=2**32 - 1)], 1),
        ([exif(TURNED, first=11)], 1),
        ([exif(TURNED, beginning=b"II\0*")], 1),
        ([exif(TURNED, beginning=b"")], 1),
        *(([exif(TURNED, cut=length)], 1) for length in range(25)),
    ],
)
def test_orientation(segments, expected):
    content = jpeg(*segments, segment(0xC0, FRAME))
    size = (30, 40) if expected == 1 else (40, 30)
    assert image_header.read(content) == ("jpeg", *size, expected)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b"<!DOCTYPE html><html>", "is a web page"),
        (b"\xef\xbb\xbf\n <html>", "is a web page"),
        (b"hello", "is not a JPEG, PNG, GIF or BMP image"),
        (b"RIFF1234WEBPVP8 ", "is not a JPEG"),
        (b"\x89PNG\r\n\x1a\n\0\0", "is cut short"),
        (b"\xff\xd8\xff", "is cut short"),
        (jpeg(segment(0xE0, b"JFIF")), "is cut short"),
        (jpeg(segment(0xDA, b"")), "is cut short"),
        (bmp(7, 5, 8), "BMP image with a palette"),
        (b"GIF89a\0\0\0\0", "has 0x0 pixels"),
        (
            b"\x89PNG\r\n\x1a\n"
            + made.chunk(b"IHDR", struct.pack(">II", 30000, 30000)),
            "has 30000x30000 pixels, at most 67,108,864",
        ),
    ],
)
def test_what_is_refused(content, message):
    with pytest.raises(UnusableImageError, match=message):
        image_header.read(content)
