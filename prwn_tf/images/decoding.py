"""Encoded images -> pixels of one size, by TensorFlow alone, so that exports do it too.

Images are squeezed to a square, as in the data of the paper, unless asked otherwise.
They are smoothed before they are shrunk: without it, a photograph shrunk by five or
more is mostly noise.
"""

import bisect
import functools

import tensorflow as tf

from prwn_tf.images import exif

# A large JPEG is shrunk by these while it is decoded, which is several times faster,
# as long as it stays SPARE times as large as it is to be.
RATIOS = (1, 2, 4, 8)
SPARE = 4


def squares(
    contents: tf.Tensor,
    size: int,
    canvas: int,
    background: int | None = None,
    fit: str = "squeeze",
) -> tf.Tensor:
    """Returns pixels of encoded images: [n] of string -> [n, size, size, 3] of uint8.

    Photographs are turned upright. A shade of gray is repeated for all three colours.

    Args:
        canvas: as in `resize`.
        background: the shade that shows through what is transparent, but in a GIF,
            which `gif.opaque` is for; None drops alpha, and shows whatever colour
            lies under it.
        fit: as in `fitted`.
    """

    def square(content: tf.Tensor) -> tf.Tensor:
        stored = _stored_pixels(content, canvas, background)
        pixels = fitted(stored, size, canvas, fit)
        return exif.upright(pixels, exif.orientation(content))

    form = tf.TensorSpec([size, size, 3], tf.uint8)
    return tf.map_fn(square, contents, fn_output_signature=form)


def ratio(shorter_side: int, canvas: int) -> int:
    """Returns by how much a JPEG image is shrunk while it is decoded."""
    return RATIOS[bisect.bisect(_sides(canvas), shorter_side)]


def _sides(canvas: int) -> list[int]:
    """Returns the shorter sides from which on each ratio but the first is used."""
    return [ratio * SPARE * canvas for ratio in RATIOS[1:]]


def _stored_pixels(
    content: tf.Tensor, canvas: int, background: int | None
) -> tf.Tensor:
    """Returns an image as it is stored: [] of string -> [height, width, 3] of uint8."""
    decoders = {
        b"\xff\xd8": lambda: _jpeg(content, canvas),
        b"\x89P": lambda: _png(content, background),
        b"BM": lambda: _bmp(content, background),
    }
    if hasattr(tf.io, "decode_jxl"):  # from TensorFlow 2.21 on
        decoders |= {
            b"RI": lambda: colored(tf.io.decode_webp(content)[0], background),
            b"\xff\x0a": lambda: colored(tf.io.decode_jxl(content), background),
            b"\0\0": lambda: colored(tf.io.decode_jxl(content), background),
        }
    known = tf.strings.substr(content, 0, 2) == list(decoders)  # [kinds]
    kind = tf.argmax(tf.concat([known, [True]], axis=0), output_type=tf.int32)
    pixels = tf.switch_case(kind, [*decoders.values(), lambda: _other(content)])
    return tf.ensure_shape(pixels, [None, None, 3])


def _jpeg(content: tf.Tensor, canvas: int) -> tf.Tensor:
    """Returns the pixels of a JPEG image, perhaps shrunk already."""
    # The accurate method is what other programs' decoders use.
    decode = functools.partial(
        tf.io.decode_jpeg, content, channels=3, dct_method="INTEGER_ACCURATE"
    )
    shorter_side = tf.reduce_min(tf.io.extract_jpeg_shape(content)[:2])
    [place] = tf.unstack(tf.searchsorted(_sides(canvas), [shorter_side], side="right"))
    return tf.switch_case(
        place, [functools.partial(decode, ratio=ratio) for ratio in RATIOS]
    )


def _png(content: tf.Tensor, background: int | None) -> tf.Tensor:
    """Returns the pixels of a PNG image, over a background if one is given."""
    if background is None:
        return tf.io.decode_png(content, channels=3)
    pixels = tf.io.decode_png(content, channels=4)
    return over(pixels[..., :3], pixels[..., 3:], background)


def _bmp(content: tf.Tensor, background: int | None) -> tf.Tensor:
    """Returns the pixels of a BMP image; one with a palette is an error.

    The decoder does not convert channels, and takes the numbers of a palette's colours
    for shades of gray. A fourth byte is alpha only where the header says so.
    """
    pixels = tf.io.decode_bmp(content)
    enough = tf.debugging.assert_greater_equal(
        tf.shape(pixels)[-1], 3, "a BMP image with a palette; save it as PNG"
    )
    whole = tf.strings.join([content, "\0" * 70])  # a short one has all fields
    masks = tf.strings.substr(whole, 30, 4) == b"\3\0\0\0"  # the kind of packing
    alpha = masks & (tf.strings.substr(whole, 66, 4) != b"\0\0\0\0")
    with tf.control_dependencies([enough]):
        return tf.cond(
            alpha, lambda: colored(pixels, background), lambda: pixels[..., :3]
        )


def _other(content: tf.Tensor) -> tf.Tensor:
    """Returns the first picture of a GIF; of other files, TensorFlow's error."""
    return tf.io.decode_image(content, channels=3, expand_animations=False)


def colored(pixels: tf.Tensor, background: int | None) -> tf.Tensor:
    """Returns colour of shades or colours with or without alpha: -> [..., H, W, 3].

    Args:
        pixels: [..., H, W, 1 to 4] of uint8.
        background: as in `squares`.
    """
    channels = tf.shape(pixels)[-1]
    color = tf.cond(
        channels < 3,
        lambda: tf.repeat(pixels[..., :1], 3, axis=-1),
        lambda: pixels[..., :3],
    )
    if background is None:
        return color
    return tf.cond(
        channels % 2 == 0,
        lambda: over(color, pixels[..., -1:], background),
        lambda: color,
    )


def over(color: tf.Tensor, alpha: tf.Tensor, background: int) -> tf.Tensor:
    """Returns colour [..., H, W, 3] over a shade of gray, all of uint8.

    Args:
        alpha: its opacity, [..., H, W, 1]. The same everywhere, it is taken for full:
            TensorFlow gives an image of one bit and no alpha the alpha 1.
    """
    area = [-3, -2, -1]
    least = tf.reduce_min(alpha, axis=area, keepdims=True)
    alike = least == tf.reduce_max(alpha, axis=area, keepdims=True)
    share = tf.where(alike, 1.0, tf.cast(alpha, tf.float32) / 255)
    mixed = share * tf.cast(color, tf.float32) + (1 - share) * background
    return _bytes(mixed)


def fitted(pixels: tf.Tensor, size: int, canvas: int, fit: str) -> tf.Tensor:
    """Returns images as squares: [..., H, W, C] -> [..., size, size, C] of uint8.

    Args:
        canvas: as in `resize`.
        fit: "squeeze" them, "crop" to the middle, or "pad" with black bars.
    """
    height, width = tf.unstack(tf.shape(pixels)[-3:-1])
    if fit == "crop":
        side = tf.minimum(height, width)
        top, left = (height - side) // 2, (width - side) // 2
        pixels = pixels[..., top : top + side, left : left + side, :]
    elif fit == "pad":
        longer = tf.maximum(height, width)
        height, width = (
            tf.maximum(1, each * canvas // longer) for each in (height, width)
        )
        pixels = tf.image.pad_to_bounding_box(
            shrink(pixels, height, width),
            (canvas - height) // 2,
            (canvas - width) // 2,
            canvas,
            canvas,
        )
    return resize(pixels, size, canvas)


def resize(pixels: tf.Tensor, size: int, canvas: int) -> tf.Tensor:
    """Returns images of another size: [..., H, W, C] -> [..., size, size, C] of uint8.

    Args:
        canvas: images larger than this are smoothed and shrunk to it first, and from
            there to `size` without smoothing. The same as `size` for most models;
            Omniglot's drawings were shrunk without smoothing.
    """
    if canvas == size:
        return shrink(pixels, size, size)
    larger = tf.reduce_any(tf.shape(pixels)[-3:-1] > canvas)
    drawn = tf.cond(
        larger,
        lambda: tf.image.resize(pixels, [canvas, canvas], antialias=True),
        lambda: tf.cast(pixels, tf.float32),
    )
    return _bytes(tf.image.resize(drawn, [size, size]))


def shrink(
    pixels: tf.Tensor, height: int | tf.Tensor, width: int | tf.Tensor
) -> tf.Tensor:
    """Returns smoothed images: [..., H, W, C] -> [..., height, width, C] of uint8."""
    return _bytes(tf.image.resize(pixels, [height, width], antialias=True))


def _bytes(shades: tf.Tensor) -> tf.Tensor:
    """Returns shades rounded to uint8."""
    return tf.saturate_cast(tf.round(shades), tf.uint8)
