"""The formats of image files: how each is called and begins, and what decodes it."""

import re
from typing import NamedTuple


class UnusableImageError(Exception):
    """An image that cannot be decoded; the message says why, as in "is empty"."""


class Format(NamedTuple):
    """What is known of a format.

    Attributes:
        beginning: a pattern of its first bytes.
        package: what reads it; empty if TensorFlow does, and so exports too.
    """

    name: str
    suffixes: tuple[str, ...]
    beginning: bytes
    package: str = ""


FORMATS = {
    "jpeg": Format("JPEG", (".jpg", ".jpeg", ".jpe", ".jfif"), rb"\xff\xd8\xff"),
    "png": Format("PNG", (".png",), rb"\x89PNG\r\n\x1a\n"),
    "gif": Format("GIF", (".gif",), rb"GIF8[79]a"),
    "bmp": Format("BMP", (".bmp",), rb"BM"),
    "webp": Format("WebP", (".webp",), rb"RIFF....WEBP"),
    "jxl": Format("JPEG XL", (".jxl",), rb"\xff\x0a|\0\0\0\x0cJXL \r\n\x87\n"),
    "tiff": Format("TIFF", (".tif", ".tiff"), rb"II\*\0|MM\0\*", "pillow"),
    "avif": Format("AVIF", (".avif",), rb"....ftypavi[fs]", "pillow"),
    "heic": Format(
        "HEIC",
        (".heic", ".heif", ".hif"),
        rb"....ftyp(?:he[iv][cmsx]|mif1|msf1)",
        "pillow-heif",
    ),
}
LONGEST_BEGINNING = 12  # bytes
SUFFIXES = tuple(suffix for each in FORMATS.values() for suffix in each.suffixes)
_NAMES = [each.name for each in FORMATS.values()]
NAMES = f"{', '.join(_NAMES[:-1])} or {_NAMES[-1]}"  # for messages


def kind_of(content: bytes) -> str | None:
    """Returns the kind of an image by its first bytes; None for other files."""
    beginning = content[:LONGEST_BEGINNING]
    for kind, each in FORMATS.items():
        if re.match(each.beginning, beginning, re.DOTALL):
            return kind
    return None
