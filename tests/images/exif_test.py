"""Photographs are turned upright, as their files say."""

import numpy as np
import pytest
import tensorflow as tf

from prwn_tf.images import decoder as decoder_lib
from prwn_tf.images import exif as exif_lib
from tests.data import made
from tests.data.made import exif, segment


@pytest.fixture(scope="module")
def decoder():
    return decoder_lib.Decoder(20)


@pytest.fixture(scope="module")
def orientation():
    spec = tf.TensorSpec([], tf.string)
    return tf.function(exif_lib.orientation, input_signature=[spec])


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
def test_orientation(orientation, segments, expected):
    content = b"".join([b"\xff\xd8", *segments, segment(0xC0, bytes(9))])
    assert orientation(content) == expected


@pytest.mark.parametrize("beginning", [b"", b"BM", b"\x89PNG\r\n\x1a\n", b"\xff\xd8"])
def test_what_is_no_photograph_is_not_turned(orientation, beginning):
    assert orientation(beginning) == 1
    assert orientation(beginning + exif(TURNED)) == (
        6 if beginning == b"\xff\xd8" else 1
    )


def test_a_photograph_that_says_it_late(orientation):
    before = segment(0xE2, bytes(2**16 - 3))
    assert orientation(b"\xff\xd8" + before + exif(TURNED)) == 6


# Where the first row and the first column of a stored image belong, as Exif has it.
SIDES = {
    1: ("top", "left"),
    2: ("top", "right"),
    3: ("bottom", "right"),
    4: ("bottom", "left"),
    5: ("left", "top"),
    6: ("right", "top"),
    7: ("right", "bottom"),
    8: ("left", "bottom"),
}
OPPOSITE = {"top": "bottom", "left": "right", "bottom": "top", "right": "left"}
CORNERS = {
    frozenset({"top", "left"}): (220, 30, 30),
    frozenset({"top", "right"}): (30, 200, 30),
    frozenset({"bottom", "left"}): (30, 30, 220),
    frozenset({"bottom", "right"}): (200, 200, 30),
}


def stored(orientation):
    """A photograph of four coloured corners, as a camera held so stores it."""
    row, column = SIDES[orientation]
    height, width = (48, 64) if row in ("top", "bottom") else (64, 48)
    image = np.empty((height, width, 3), np.uint8)
    parts = {
        (row, column): image[: height // 2, : width // 2],
        (row, OPPOSITE[column]): image[: height // 2, width // 2 :],
        (OPPOSITE[row], column): image[height // 2 :, : width // 2],
        (OPPOSITE[row], OPPOSITE[column]): image[height // 2 :, width // 2 :],
    }
    for corner, part in parts.items():
        part[:] = CORNERS[frozenset(corner)]
    return image


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("orientation", SIDES)
def test_photographs_stand_upright(decoder, orientation, order):
    plain = tf.io.encode_jpeg(stored(orientation), quality=98).numpy()
    contents = [made.turned(plain, orientation, order), plain]
    [pixels, as_stored], problems = decoder(contents)

    assert not problems
    for (row, column), corner in {
        (3, 3): {"top", "left"},
        (3, 16): {"top", "right"},
        (16, 3): {"bottom", "left"},
        (16, 16): {"bottom", "right"},
    }.items():
        expected = CORNERS[frozenset(corner)]
        np.testing.assert_allclose(pixels[row, column], expected, atol=8)
    same = np.abs(pixels.astype(int) - as_stored).max() < 9
    assert same == (orientation == 1)
