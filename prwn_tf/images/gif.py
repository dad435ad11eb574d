"""The first picture of a GIF file, cut out before anything is decoded.

TensorFlow's decoder unpacks all of them, each as large as it says of itself. What is
transparent it makes black.
"""

import struct

IMAGE, EXTENSION, END = 0x2C, 0x21, 0x3B  # what parts of the file begin with
CONTROL = 0xF9  # an extension that may name a colour of the table as transparent
SCREEN = 13  # bytes before the first table of colours


def first_picture(content: bytes) -> tuple[int, int, bytes]:
    """Returns height and width of the first picture, and a file of it alone.

    It is moved to the corner of the screen, for TensorFlow's canvas is as large as it.

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
    end = _end_of_blocks(content, blocks)
    moved = content[: place + 1] + bytes(4) + content[place + 5 : end]
    return height, width, moved + bytes([END])


def opaque(picture: bytes, background: int) -> bytes:
    """Returns a file of one picture, its transparent colour being a shade of gray."""
    content, place = bytearray(picture), SCREEN + _table_size(picture[10])
    control = None
    while content[place] == EXTENSION:
        kind, length, flags = content[place + 1 : place + 4]
        if kind == CONTROL and length == 4 and flags & 1:
            control = place
        place = _end_of_blocks(picture, place + 2)
    if control is None:
        return picture
    own = _table_size(content[place + 9])
    table, size = (place + 10, own) if own else (SCREEN, _table_size(content[10]))
    color = 3 * content[control + 6]
    if color < size:
        content[table + color : table + color + 3] = bytes([background] * 3)
        content[control + 3] &= ~1
    return bytes(content)


def _table_size(flags: int) -> int:
    """Returns the bytes of a table of colours, if there is one."""
    return 3 * 2 ** ((flags & 7) + 1) if flags & 0x80 else 0


def _end_of_blocks(content: bytes, place: int) -> int:
    """Returns where a chain of blocks ends, each with its length before it."""
    while length := content[place]:
        place += 1 + length
    return place + 1
