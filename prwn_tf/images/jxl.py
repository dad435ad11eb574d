"""The size of a JPEG XL image, which its first bits tell.

The image lies in the file alone, or in a box of a file of boxes.
"""

import struct

BARE = b"\xff\x0a"
WHOLE, PART = b"jxlc", b"jxlp"  # boxes; a part has its number before it
DIGITS = (9, 13, 18, 30)  # bits of a side, by two bits before it
# Width to height, by three bits; 0 means that the width is given.
RATIOS = (None, (1, 1), (12, 10), (4, 3), (3, 2), (16, 9), (5, 4), (2, 1))


def size(content: bytes) -> tuple[int, int]:
    """Returns height and width of an image.

    Raises:
        IndexError, struct.error: the file is cut short.
    """
    start = _start(content)
    bits = _Bits(int.from_bytes(content[start + 2 : start + 14], "little"))
    if len(content) < start + 4 or content[start : start + 2] != BARE:
        raise IndexError("there is no picture")
    small = bits.take(1)
    height = _side(bits, small)
    ratio = RATIOS[bits.take(3)]
    width = _side(bits, small) if ratio is None else height * ratio[0] // ratio[1]
    return height, width


class _Bits:
    """A number whose lowest bits are taken first."""

    def __init__(self, number: int):
        self._number = number

    def take(self, count: int) -> int:
        """Returns the next bits."""
        taken = self._number & ((1 << count) - 1)
        self._number >>= count
        return taken


def _side(bits: _Bits, small: int) -> int:
    """Returns a height or width; of small images, a multiple of eight."""
    return 8 * (bits.take(5) + 1) if small else bits.take(DIGITS[bits.take(2)]) + 1


def _start(content: bytes) -> int:
    """Returns where the image begins in a file."""
    place = 0
    while content[place : place + 2] != BARE:
        length, kind = struct.unpack_from(">I4s", content, place)
        if kind in (WHOLE, PART):
            return place + (8 if kind == WHOLE else 12)
        if length < 8:
            raise IndexError("there is no picture")
        place += length
    return place
