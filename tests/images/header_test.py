"""What is told of an image before it is decoded."""

import struct

import pytest

from prwn_tf.images import header as header_lib
from prwn_tf.images.header import UnusableImageError
from tests.data import made
from tests.data.made import segment


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


def gif(*pictures, tables=False):
    """Pictures of some widths and heights on a screen of one pixel."""
    table = bytes(6) * tables
    screen = struct.pack("<HHBBB", 1, 1, 0x80 * tables, 0, 0) + table
    comment = b"!\xfe\3abc\0"
    return b"GIF89a" + b"".join(
        [
            screen,
            *(
                comment
                + b","
                + struct.pack("<HHHHB", 0, 0, *size, 0x80 * tables)
                + table
                + b"\2\2D\1\0"
                for size in pictures
            ),
            b";",
        ]
    )


def webp(kind, content):
    chunk = kind + struct.pack("<I", len(content)) + content
    return b"RIFF" + struct.pack("<I", 4 + len(chunk)) + b"WEBP" + chunk


def box(kind, content=b""):
    return struct.pack(">I", 8 + len(content)) + kind + content


def bits(*values):
    """Numbers of so many bits each, the first of them lowest, after JPEG XL's mark."""
    number = place = 0
    for value, length in values:
        number |= value << place
        place += length
    return b"\xff\x0a" + number.to_bytes(12, "little")


JXL = b"\0\0\0\x0cJXL \r\n\x87\n" + box(b"ftyp", b"jxl ")
LARGE = b"\x08" + struct.pack(">HH", 8192, 8192) + b"\x03"
FRAME = b"\x08" + struct.pack(">HH", 30, 40) + b"\x03"


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (made.encode_png(made.pixels(0, 0)[:9]), ("png", 9, 16)),
        (gif((7, 5), (9, 9)), ("gif", 5, 7)),
        (gif((7, 5), tables=True), ("gif", 5, 7)),
        (webp(b"VP8 ", bytes(6) + struct.pack("<HH", 7, 5)), ("webp", 5, 7)),
        (webp(b"VP8L", b"/" + struct.pack("<I", 6 | 4 << 14)), ("webp", 5, 7)),
        (webp(b"VP8X", bytes(4) + b"\6\0\0\4\0\0"), ("webp", 5, 7)),
        (bits((1, 1), (2, 5), (0, 3), (4, 5)), ("jxl", 24, 40)),
        (bits((0, 1), (1, 2), (3999, 13), (3, 3)), ("jxl", 4000, 5333)),
        (bits((0, 1), (0, 2), (4, 9), (0, 3), (0, 2), (6, 9)), ("jxl", 5, 7)),
        (JXL + box(b"jxlc", bits((1, 1), (2, 5), (7, 3))), ("jxl", 24, 48)),
        (JXL + box(b"jxlp", bytes(4) + bits((1, 1), (2, 5), (1, 3))), ("jxl", 24, 24)),
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
        (
            # What looks like scans, in a segment and in pixels, is none.
            jpeg(
                segment(0xE1, segment(0xDA, b"") * 99),
                segment(0xC2, LARGE),
                segment(0xDA, b"") + b"\xff\0\xda\xff\xd0\xda" * 99,
                segment(0xDA, b"") * 15,
            ),
            ("jpeg", 8192, 8192),
        ),
    ],
)
def test_kind_and_size(content, expected):
    assert header_lib.read(content) == expected


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b"<!DOCTYPE html><html>", "is a web page"),
        (b"\xef\xbb\xbf\n <html>", "is a web page"),
        (b"hello", "is not a JPEG, PNG, .* or HEIC image"),
        (b"RIFF1234WEBPVP8 ", "is cut short"),
        (webp(b"VP8?", bytes(20)), "is cut short"),
        (webp(b"VP8X", b"\2\0\0\0" + bytes(6)), "is an animated WebP; save"),
        (b"\xff\x0a", "is cut short"),
        (b"\0\0\0\x0cJXL \r\n\x87\n" + box(b"free"), "is cut short"),
        (b"\x89PNG\r\n\x1a\n\0\0", "is cut short"),
        (b"\xff\xd8\xff", "is cut short"),
        (jpeg(segment(0xE0, b"JFIF")), "is cut short"),
        (jpeg(segment(0xDA, b"")), "is cut short"),
        (bmp(7, 5, 8), "BMP image with a palette"),
        (gif((0, 0)), "has 0x0 pixels"),
        (gif((12000, 12000)), "has 12000x12000 pixels"),
        (gif(), "is cut short"),
        (gif((7, 5))[:-3], "is cut short"),
        (
            jpeg(segment(0xC2, LARGE), segment(0xDA, b"") * 17, b"\xff\xd9"),
            "has 17 scans of 8192x8192 pixels, at most 1,073,741,824",
        ),
        (
            b"\x89PNG\r\n\x1a\n"
            + made.chunk(b"IHDR", struct.pack(">II", 30000, 30000)),
            "has 30000x30000 pixels, at most 67,108,864",
        ),
    ],
)
def test_what_is_refused(content, message):
    with pytest.raises(UnusableImageError, match=message):
        header_lib.read(content)
