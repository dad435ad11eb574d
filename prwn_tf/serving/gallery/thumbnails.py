"""Small pictures to lie inside of a page, in the shape of their images."""

import base64
from collections.abc import Sequence

import tensorflow as tf

from prwn_tf.data import raw
from prwn_tf.images import decoder as decoder_lib
from prwn_tf.images import decoding, exif, header
from prwn_tf.images.decoder import Decoder

SIZE = 112  # of the longer side; twice the dots of the smallest card
QUALITY = 82
WHITE = 255


def thumbnails(paths: Sequence[str]) -> dict[str, str]:
    """Path -> the source of an <img>; images that cannot be decoded are missing."""
    decoder, found = Decoder(SIZE, background=WHITE), {}
    for some, contents in decoder_lib.loaded(raw.read_file, paths, {}):
        squares, problems = decoder(contents)
        pairs = enumerate(zip(some, contents, strict=True))
        usable = [pair for place, pair in pairs if place not in problems]
        for (path, content), square in zip(usable, squares, strict=True):
            found[path] = _source(square, *_shape(content))
    return found


def _shape(content: bytes) -> tuple[int, int]:
    """Height and width of a thumbnail, of which the longer side is SIZE."""
    _, *sides = header.read(content)
    height, width = (max(1, SIZE * side // max(sides)) for side in sides)
    on_its_side = exif.is_on_its_side(exif.orientation(tf.constant(content)))
    return (width, height) if on_its_side else (height, width)


def _source(square: tf.Tensor, height: int, width: int) -> str:
    shaped = decoding.shrink(square, height, width)
    content = tf.io.encode_jpeg(shaped, quality=QUALITY).numpy()
    return f"data:image/jpeg;base64,{base64.b64encode(content).decode('ascii')}"
