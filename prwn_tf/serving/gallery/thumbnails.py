"""Small pictures to lie inside of a page, in the shape of their images."""

import base64
from collections.abc import Sequence

import tensorflow as tf

from prwn_tf.data import decoding, exif, image_header
from prwn_tf.data.image_header import UnusableImageError
from prwn_tf.data.images import Decoder
from prwn_tf.data.raw import ImageFiles

SIZE = 112  # of the longer side; twice the dots of the smallest card
QUALITY = 82
BATCH = 64
WHITE = 255


def thumbnails(paths: Sequence[str]) -> dict[str, str]:
    """Path -> the source of an <img>; images that cannot be decoded are missing."""
    decoder, found = Decoder(SIZE, background=WHITE), {}
    for start in range(0, len(paths), BATCH):
        loaded = _loaded(paths[start : start + BATCH])
        pixels, problems = decoder(list(loaded.values()))
        kept = [path for place, path in enumerate(loaded) if place not in problems]
        for path, square in zip(kept, pixels, strict=True):
            found[path] = _source(square, *_shape(loaded[path]))
    return found


def _loaded(paths: Sequence[str]) -> dict[str, bytes]:
    loaded = {}
    for index, path in enumerate(paths):
        try:
            loaded[path] = ImageFiles(paths).load(index)
        except UnusableImageError:
            continue  # it was there a moment ago
    return loaded


def _shape(content: bytes) -> tuple[int, int]:
    """Height and width of a thumbnail, of which the longer side is SIZE."""
    _, *sides = image_header.read(content)
    height, width = (max(1, SIZE * side // max(sides)) for side in sides)
    on_its_side = exif.is_on_its_side(exif.orientation(tf.constant(content)))
    return (width, height) if on_its_side else (height, width)


def _source(square: tf.Tensor, height: int, width: int) -> str:
    shaped = decoding.shrink(square, height, width)
    content = tf.io.encode_jpeg(shaped, quality=QUALITY).numpy()
    return f"data:image/jpeg;base64,{base64.b64encode(content).decode('ascii')}"
