"""The first picture of a GIF file, cut out before anything is decoded.

TensorFlow's decoder unpacks all of them, each as large as it says of itself.
"""

import struct

IMAGE, EXTENSION, END = 0x2C, 0x21, 0x3B  # what parts of the file begin with
SCREEN = 13  # bytes before the first table of colours


def first_picture(content: bytes) -> tuple[int, int, bytes]:
    """Returns height and width of the first picture, and a file of it alone.

    Raises:
        IndexError, struct.error: the file is cut short.
    """
    place = SCREEN + _table_size(content[10])
    while content[place] == EXTENSION:
        place = _end_of_blocks(content, place + 2)
    if content[place] != IMAGE:
        raise IndexError("there is no picture")
    width, height = struct.unpack_from("<HH", content, place + 5)
    blocks = place + 10 + _table_size(content[place + 9]) + 1
    return height, width, content[: _end_of_blocks(content, blocks)] + bytes([END])


def _table_size(flags: int) -> int:
    """Returns the bytes of a table of colours, if there is one."""
    return 3 * 2 ** ((flags & 7) + 1) if flags & 0x80 else 0


def _end_of_blocks(content: bytes, place: int) -> int:
    """Returns where a chain of blocks ends, each with its length before it."""
    while length := content[place]:
        place += 1 + length
    return place + 1
