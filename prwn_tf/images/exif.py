"""Which way a photograph is turned, read by TensorFlow so that exports can read it too.

Cameras store what they see in any direction, and write down which it was in a segment
of the JPEG file: the mark, a byte order, and a table of numbered entries.
"""

from collections.abc import Callable

import tensorflow as tf

SEARCH_LIMIT = 2**17  # bytes; a segment has at most 2**16, and this one comes early
MARK = b"Exif\0\0"
ORDERS = {"little": b"II*\0", "big": b"MM\0*"}
ENTRY = 12  # bytes of an entry of the table
ORIENTATION, SHORT = 0x0112, 3  # the entry we look for, and its type


def orientation(content: tf.Tensor) -> tf.Tensor:
    """Returns which way an image is turned, from 1 to 8: [] of string -> [] of int32.

    1 is upright. It stands for other kinds of files and damaged segments as well.
    """
    is_jpeg = tf.strings.substr(content, 0, 3) == b"\xff\xd8\xff"
    searched = tf.where(is_jpeg, tf.strings.substr(content, 0, SEARCH_LIMIT), "")
    beginning = tf.io.decode_raw(searched, tf.uint8)
    marks = _places_of(MARK, beginning)
    return tf.cond(
        tf.size(marks) > 0,
        lambda: _in_segment(_segment(beginning, marks[0])),
        lambda: 1,
    )


def upright(pixels: tf.Tensor, orientation: tf.Tensor) -> tf.Tensor:
    """Returns a square photograph [size, size, C] the way it was seen.

    Args:
        pixels: as they are stored.
        orientation: as `orientation` returns it.
    """

    def turned(*reversed_axes: int, on_its_side: bool) -> Callable[[], tf.Tensor]:
        axes = [1, 0, 2] if on_its_side else [0, 1, 2]
        return lambda: tf.transpose(tf.reverse(pixels, reversed_axes), axes)

    turns = [(), (1,), (0, 1), (0,), (), (0,), (0, 1), (1,)]  # of 1 to 8
    return tf.switch_case(
        orientation - 1,
        [turned(*axes, on_its_side=place > 4) for place, axes in enumerate(turns, 1)],
    )


def is_on_its_side(orientation: tf.Tensor) -> tf.Tensor:
    """Returns whether height and width change places when it is turned upright."""
    return orientation > 4


def _segment(content: tf.Tensor, mark: tf.Tensor) -> tf.Tensor:
    """Returns the segment that a mark begins: bytes [...] -> [n].

    Its length stands before the mark.
    """
    length = _number(content[None, mark - 2 : mark], "big")[0]
    end = mark - 2 + tf.cast(length, tf.int32)
    return content[mark + len(MARK) : end]


def _places_of(text: bytes, content: tf.Tensor) -> tf.Tensor:
    """Returns where a text begins in bytes: [n] -> [places] of int32."""
    last = tf.maximum(tf.size(content) - len(text) + 1, 0)
    first_letter = tf.where(content[:last] == text[0])  # [candidates, 1]
    letters = tf.gather(content, first_letter + tf.range(len(text), dtype=tf.int64))
    alike = tf.reduce_all(letters == list(text), axis=1)
    return tf.cast(tf.boolean_mask(first_letter[:, 0], alike), tf.int32)


def _in_segment(segment: tf.Tensor) -> tf.Tensor:
    """Returns the orientation that a segment gives, or 1: [n] -> [] of int32."""
    by_order = [
        tf.where(
            tf.size(_places_of(start, segment[:4])) > 0, _in_table(segment, order), 1
        )
        for order, start in ORDERS.items()
    ]
    return tf.reduce_max(by_order)


def _in_table(segment: tf.Tensor, order: str) -> tf.Tensor:
    """Returns the orientation in a segment's table, or 1: [n] -> [] of int32.

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
    orientations = tf.concat([tf.boolean_mask(value, usable), [1]], axis=0)
    return tf.cast(orientations[0], tf.int32)


def _number(digits: tf.Tensor, order: str) -> tf.Tensor:
    """Returns whole numbers by their bytes: [n, bytes] -> [n] of int64."""
    if order == "big":
        digits = digits[:, ::-1]
    powers = tf.range(tf.shape(digits, tf.int64)[1]) * 8
    shifted = tf.bitwise.left_shift(tf.cast(digits, tf.int64), powers)
    return tf.reduce_sum(shifted, axis=1)
