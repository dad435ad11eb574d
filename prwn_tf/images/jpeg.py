"""The segments of a JPEG file, walked over to its end without decoding a pixel."""

import re
import struct
from collections.abc import Iterator

START_OF_SCAN, END = 0xDA, 0xD9
STANDALONE = (0x01, 0xD8)  # markers without content
NO_FRAME = (0xC4, 0xC8, 0xCC)  # tables, among the markers of frames
# In pixels a byte of 0xFF is followed by 0, or by the number of a restart. Before a
# marker it may be repeated; to look for several takes twenty times as long as for one.
_MARKER = re.compile(rb"\xff([^\x00\xff\xd0-\xd7])", re.DOTALL)


def size_and_scans(content: bytes) -> tuple[int, int, int]:
    """Returns height and width of an image, and how many times its pixels are sent.

    A progressive image comes in several scans, each better than the one before, and
    each costs the time of a whole image.

    Raises:
        IndexError, struct.error: the file is cut short.
    """
    size, scans = None, 0
    for marker, place in _segments(content):
        if marker == START_OF_SCAN:
            scans += 1
        elif 0xC0 <= marker <= 0xCF and marker not in NO_FRAME and size is None:
            size = struct.unpack_from(">HH", content, place + 3)
        if scans and size is None:
            break
    if size is None:
        raise IndexError("there is no frame")
    return (*size, scans)


def _segments(content: bytes) -> Iterator[tuple[int, int]]:
    """Yields the markers of an image, and the places where their lengths stand."""
    place = 2
    while match := _MARKER.search(content, place):
        marker, place = match[1][0], match.end()
        if marker == END:
            return
        yield marker, place
        if marker not in STANDALONE:
            place += max(2, struct.unpack_from(">H", content, place)[0])
