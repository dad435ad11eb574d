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
    """Returns the source of an <img> for each path whose image can be decoded."""
    decoder, sources = Decoder(SIZE, background=WHITE), {}
    for part, contents in decoder_lib.loaded(raw.read_file, paths, {}):
        squares, problems = decoder(contents)
        pairs = enumerate(zip(part, contents, strict=True))
        usable = [pair for place, pair in pairs if place not in problems]
        for (path, content), square in zip(usable, squares, strict=True):
            sources[path] = _source(square, *_shape(content))
    return sources


def _shape(content: bytes) -> tuple[int, int]:
    """Returns height and width of a thumbnail, whose longer side is SIZE."""
    _, *sides = header.read(content)
    height, width = (max(1, SIZE * side // max(sides)) for side in sides)
    on_its_side = exif.is_on_its_side(exif.orientation(tf.constant(content)))
    return (width, height) if on_its_side else (height, width)


def _source(square: tf.Tensor, height: int, width: int) -> str:
    """Returns a thumbnail as the source of an <img>."""
    shaped = decoding.shrink(square, height, width)
    content = tf.io.encode_jpeg(shaped, quality=QUALITY).numpy()
    return f"data:image/jpeg;base64,{base64.b64encode(content).decode('ascii')}"
