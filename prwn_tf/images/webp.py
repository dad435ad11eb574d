"""What a WebP file says of itself in its first part."""

import struct

STILL, LOSSLESS, EXTENDED = b"VP8 ", b"VP8L", b"VP8X"
ANIMATED = 0x02  # among the flags of an extended file


def size(content: bytes) -> tuple[int, int, bool]:
    """Returns height and width of an image, and whether it is an animation.

    Raises:
        IndexError, struct.error: the file is cut short.
    """
    part = content[12:16]
    if part == LOSSLESS:
        (packed,) = struct.unpack_from("<I", content, 21)
        return (packed >> 14 & 0x3FFF) + 1, (packed & 0x3FFF) + 1, False
    if part == EXTENDED:
        flags, width, width_high, height, height_high = struct.unpack_from(
            "<B3xHBHB", content, 20
        )
        return (
            (height_high << 16 | height) + 1,
            (width_high << 16 | width) + 1,
            bool(flags & ANIMATED),
        )
    if part != STILL:
        raise IndexError("there is no picture")
    width, height = struct.unpack_from("<HH", content, 26)
    return height & 0x3FFF, width & 0x3FFF, False
