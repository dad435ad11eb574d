"""Images that TensorFlow does not decode, read by Pillow where that is installed."""

import contextlib
import io
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from prwn_tf.images import formats
from prwn_tf.images.formats import UnusableImageError

OPENERS = {"tiff": "TIFF", "avif": "AVIF", "heic": "HEIF"}  # kind -> Pillow's name
ORIENTATION = 0x0112  # tag of Exif; from 5 on an image lies on its side
DEEP = ("I;16", "I;16B", "I;16L", "I;16N")  # shades of gray of 16 bits
TOO_DEEP = ("I", "F")  # numbers that are no shades


def size(content: bytes, kind: str) -> tuple[int, int]:
    """Returns height and width of an image as it is seen, without decoding it."""
    image = _opened(content, kind)
    with _damage_told(kind):
        on_its_side = image.getexif().get(ORIENTATION, 1) > 4
    return image.size if on_its_side else image.size[::-1]


def pixels(content: bytes, kind: str) -> np.ndarray:
    """Returns an image upright, with its opacity: [height, width, 4] of uint8."""
    image = _opened(content, kind)
    if image.mode in TOO_DEEP:
        name = formats.FORMATS[kind].name
        raise UnusableImageError(
            f"is a {name} image of numbers that are no shades; save it as PNG"
        )
    with _damage_told(kind):
        from PIL import ImageOps

        image = ImageOps.exif_transpose(image)
        if image.mode in DEEP:
            shades = (np.asarray(image) // 257).astype(np.uint8)[..., None]
            opaque = np.full_like(shades, 255)
            return np.concatenate([shades, shades, shades, opaque], axis=-1)
        return np.asarray(image.convert("RGBA"))


def _opened(content: bytes, kind: str) -> Any:
    """Returns an image of Pillow that is not decoded yet."""
    form = formats.FORMATS[kind]
    try:
        from PIL import Image

        if form.package == "pillow-heif":
            import pillow_heif

            pillow_heif.register_heif_opener()
    except ImportError as error:
        raise UnusableImageError(
            f"is a {form.name} image, which {form.package} reads; pip install "
            f"{form.package}, or save it as JPEG"
        ) from error
    # Of odd files Pillow warns; of bad ones the user is told in our own way.
    warnings.filterwarnings("ignore", module="PIL")
    try:
        return Image.open(io.BytesIO(content), formats=[OPENERS[kind]])
    except Exception as error:  # of whatever kind damaged files lead to
        raise UnusableImageError(
            f"is a {form.name} image that {form.package} cannot read; save it as JPEG "
            "or PNG"
        ) from error


@contextlib.contextmanager
def _damage_told(kind: str) -> Iterator[None]:
    """Turns what Pillow raises for damaged files into the reason for the user."""
    try:
        yield
    except Exception as error:  # of whatever kind
        name = formats.FORMATS[kind].name
        raise UnusableImageError(f"is a damaged or incomplete {name} image") from error
