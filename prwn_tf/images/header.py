"""What an image file says of itself before it is decoded: kind and size.

So a web page is called one, and an image that would fill the memory, or take minutes,
is refused by its size.
"""

import pathlib
import struct
from typing import NamedTuple

from prwn_tf.images import formats, gif, jpeg, jxl, pillow, webp
from prwn_tf.images.formats import UnusableImageError, kind_of

PIXEL_LIMIT = 2**26  # 8192 x 8192; the largest photograph of ImageNet has 61 million
# Of all scans of a JPEG together: sixteen of the largest image, in about three seconds.
SCANNED_LIMIT = 16 * PIXEL_LIMIT


class Header(NamedTuple):
    """What is known of an image before it is decoded."""

    kind: str  # a key of `formats.FORMATS`
    height: int  # as it is stored; a photograph may lie on its side
    width: int

    @property
    def pixels(self) -> int:
        """The number of pixels."""
        return self.height * self.width


def read(content: bytes) -> Header:
    """Returns the kind and size of an encoded image, told by content alone.

    Raises:
        UnusableImageError: it is no image, or too large a one.
    """
    kind = kind_of(content)
    if kind is None:
        raise UnusableImageError(_what_else(content))
    try:
        by_pillow = formats.FORMATS[kind].package
        size = pillow.size(content, kind) if by_pillow else _SIZES[kind](content)
        height, width = size
    except (struct.error, IndexError) as error:
        raise UnusableImageError("is cut short") from error
    if height < 1 or width < 1:
        raise UnusableImageError(f"has {width}x{height} pixels")
    if height * width > PIXEL_LIMIT:
        raise UnusableImageError(
            f"has {width}x{height} pixels, at most {PIXEL_LIMIT:,} are decoded"
        )
    return Header(kind, height, width)


def refused_download(path: pathlib.Path, expected: str) -> str:
    """Returns the message on a web page in the place of a file."""
    return (
        f"{path} is a web page, not {expected}: the download was refused; open it to "
        "see why, and get the file again"
    )


def is_web_page(content: bytes) -> bool:
    """Returns whether a file begins like a web page, as refused downloads do."""
    return content.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<")


def _what_else(content: bytes) -> str:
    """Returns what a file is that is no image, as in "is empty"."""
    if not content:
        return "is empty"
    if is_web_page(content):
        return "is a web page"
    return f"is not a {formats.NAMES} image (it begins with {content[:8]!r})"


def _png_size(content: bytes) -> tuple[int, int]:
    """Returns height and width of a PNG image."""
    width, height = struct.unpack_from(">II", content, 16)
    return height, width


def _gif_size(content: bytes) -> tuple[int, int]:
    """Returns height and width of the first picture of a GIF image."""
    height, width, _ = gif.first_picture(content)
    return height, width


def _bmp_size(content: bytes) -> tuple[int, int]:
    """Returns height and width of a BMP image."""
    (header,) = struct.unpack_from("<I", content, 14)
    form = "<HHHH" if header == 12 else "<iiHH"
    width, height, _, bits = struct.unpack_from(form, content, 18)
    if bits not in (24, 32):
        # TensorFlow would take the numbers of the colours for shades of gray.
        raise UnusableImageError("is a BMP image with a palette; save it as PNG")
    return abs(height), width  # rows may go from the top, with a negative height


def _jpeg_size(content: bytes) -> tuple[int, int]:
    """Returns height and width of a JPEG image that can be decoded in seconds."""
    height, width, scans = jpeg.size_and_scans(content)
    if scans * height * width > SCANNED_LIMIT:
        raise UnusableImageError(
            f"has {scans:,} scans of {width}x{height} pixels, at most "
            f"{SCANNED_LIMIT:,} pixels are decoded; save it as PNG"
        )
    return height, width


def _webp_size(content: bytes) -> tuple[int, int]:
    """Returns height and width of a WebP image that is no animation."""
    height, width, animated = webp.size(content)
    if animated:
        # TensorFlow would unpack all of its pictures.
        raise UnusableImageError("is an animated WebP; save its first picture as PNG")
    return height, width


_SIZES = {
    "jpeg": _jpeg_size,
    "png": _png_size,
    "gif": _gif_size,
    "bmp": _bmp_size,
    "webp": _webp_size,
    "jxl": jxl.size,
}
