"""Which way a photograph is turned, read by TensorFlow so that exports can read it too.

Cameras store what they see in any direction, and write down which it was in a segment
of the JPEG file: the mark, a byte order, and a table of numbered entries.
"""

from collections.abc import Callable

import tensorflow as tf

SEARCHED = 2**17  # bytes; a segment has at most 2**16, and this one comes early
MARK = b"Exif\0\0"
ORDERS = {"little": b"II*\0", "big": b"MM\0*"}
ENTRY = 12  # bytes of an entry of the table
ORIENTATION, SHORT = 0x0112, 3  # the entry we look for, and its type


def orientation(content: tf.Tensor) -> tf.Tensor:
    """From 1, upright, to 8: [] of a string -> [] of int32.

    1 where it is not said, as in other kinds of files and in damaged segments.
    """
    is_jpeg = tf.strings.substr(content, 0, 3) == b"\xff\xd8\xff"
    searched = tf.where(is_jpeg, tf.strings.substr(content, 0, SEARCHED), "")
    beginning = tf.io.decode_raw(searched, tf.uint8)
    marks = _places_of(MARK, beginning)
    return tf.cond(
        tf.size(marks) > 0, lambda: _said(_segment(beginning, marks[0])), lambda: 1
    )


def upright(pixels: tf.Tensor, orientation: tf.Tensor) -> tf.Tensor:
    """A square photograph as it was seen, of [size, size, C] as it is stored."""

    def turned(*reversed_axes: int, on_its_side: bool) -> Callable[[], tf.Tensor]:
        axes = [1, 0, 2] if on_its_side else [0, 1, 2]
        return lambda: tf.transpose(tf.reverse(pixels, reversed_axes), axes)

    turns = [(), (1,), (0, 1), (0,), (), (0,), (0, 1), (1,)]  # of 1 to 8
    return tf.switch_case(
        orientation - 1,
        [turned(*axes, on_its_side=place > 4) for place, axes in enumerate(turns, 1)],
    )


def is_on_its_side(orientation: tf.Tensor) -> tf.Tensor:
    """Whether height and width change places when it is turned upright."""
    return orientation > 4


def _segment(content: tf.Tensor, mark: tf.Tensor) -> tf.Tensor:
    """What stands behind a mark, up to the length that stands before it: -> [n]."""
    length = _number(content[None, mark - 2 : mark], "big")[0]
    end = mark - 2 + tf.cast(length, tf.int32)
    return content[mark + len(MARK) : end]


def _places_of(text: bytes, content: tf.Tensor) -> tf.Tensor:
    """Where a text begins in bytes [n]: -> [places] of int32."""
    last = tf.maximum(tf.size(content) - len(text) + 1, 0)
    first_letter = tf.where(content[:last] == text[0])  # [found, 1]
    letters = tf.gather(content, first_letter + tf.range(len(text), dtype=tf.int64))
    alike = tf.reduce_all(letters == list(text), axis=1)
    return tf.cast(tf.boolean_mask(first_letter[:, 0], alike), tf.int32)


def _said(segment: tf.Tensor) -> tf.Tensor:
    """The orientation that a segment [n] gives, or 1: -> [] of int32."""
    found = [
        tf.where(tf.size(_places_of(start, segment[:4])) > 0, _entry(segment, order), 1)
        for order, start in ORDERS.items()
    ]
    return tf.reduce_max(found)


def _entry(segment: tf.Tensor, order: str) -> tf.Tensor:
    """The orientation in the table of a segment [n], or 1: -> [] of int32.

    Slices end where the segment does, so that whatever stands in it can be read.
    """
    size = tf.size(segment, tf.int64)
    table = tf.minimum(_number(segment[None, 4:8], order)[0], size)
    entries = _number(segment[None, table : table + 2], order)[0]
    entries = tf.minimum(entries, tf.maximum(size - table - 2, 0) // ENTRY)
    first = table + 2
    rows = tf.reshape(segment[first : first + ENTRY * entries], [-1, ENTRY])
    value = _number(rows[:, 8:10], order)  # [entries]
    usable = (
        (_number(rows[:, :2], order) == ORIENTATION)
        & (_number(rows[:, 2:4], order) == SHORT)
        & (_number(rows[:, 4:8], order) == 1)  # so many values
        & (value >= 1)
        & (value <= 8)
    )
    said = tf.concat([tf.boolean_mask(value, usable), [1]], axis=0)
    return tf.cast(said[0], tf.int32)


def _number(digits: tf.Tensor, order: str) -> tf.Tensor:
    """Whole numbers of some bytes each: [n, bytes] -> [n] of int64."""
    if order == "big":
        digits = digits[:, ::-1]
    powers = tf.range(tf.shape(digits, tf.int64)[1]) * 8
    shifted = tf.bitwise.left_shift(tf.cast(digits, tf.int64), powers)
    return tf.reduce_sum(shifted, axis=1)
