"""Encoded images -> uint8 pixels of one size, decoded by TensorFlow in batches.

Images are squeezed to a square, not cropped, as in the data of the paper. They are
smoothed before they are shrunk: without it, a photograph shrunk by five or more is
mostly noise.
"""

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from prwn_tf.data import image_header
from prwn_tf.data.image_header import Header, UnusableImageError

if TYPE_CHECKING:
    import tensorflow as tf

BATCH = 64
BATCH_PIXELS = 2**24
# A large JPEG is shrunk by these while it is decoded, which is several times faster,
# as long as it stays SPARE times as large as it is to be.
RATIOS = (1, 2, 4, 8)
SPARE = 4


class Decoder:
    """Decodes and resizes images; safe to use from several threads.

    Args:
        canvas, background: as in `resize` and `decode`.

    Example:
        >>> pixels, problems = Decoder(84)([path.read_bytes() for path in paths])
    """

    def __init__(
        self, size: int, canvas: int | None = None, background: int | None = None
    ):
        self.size = size
        self._canvas = canvas or size
        self._graph = _graph(size, self._canvas, background)

    def __call__(
        self, contents: Sequence[bytes | np.ndarray]
    ) -> tuple[np.ndarray, dict[int, str]]:
        """Pixels of all images that can be decoded, and why the others cannot.

        Args:
            contents: encoded images, or pixels [height, width, 3] of uint8.

        Returns:
            [n, size, size, 3] of uint8 in the order given, and place -> reason.
        """
        pixels: dict[int, np.ndarray] = {}
        problems: dict[int, str] = {}
        encoded: list[tuple[int, bytes, Header]] = []
        for place, content in enumerate(contents):
            if isinstance(content, np.ndarray):
                pixels[place] = self._resized(content)
                continue
            try:
                encoded.append((place, content, image_header.read(content)))
            except UnusableImageError as error:
                problems[place] = str(error)
        for batch in _batches(encoded, self._canvas):
            self._decode(batch, pixels, problems)
        ordered = [pixels[place] for place in sorted(pixels)]
        empty = np.empty((0, self.size, self.size, 3), np.uint8)
        return (np.stack(ordered) if ordered else empty), problems

    def _decode(
        self,
        batch: list[tuple[int, bytes, Header]],
        pixels: dict[int, np.ndarray],
        problems: dict[int, str],
    ) -> None:
        import tensorflow as tf

        places, contents, headers = zip(*batch, strict=True)
        ways = [_way(header, self._canvas) for header in headers]
        try:
            found = self._graph(tf.constant(contents), tf.constant(ways)).numpy()
        except tf.errors.OpError:
            # TensorFlow does not say which image it was.
            if len(batch) > 1:
                for item in batch:
                    self._decode([item], pixels, problems)
            else:
                kind = headers[0].kind.upper()
                problems[places[0]] = f"is a damaged or incomplete {kind} image"
            return
        for place, image, header in zip(places, found, headers, strict=True):
            pixels[place] = _upright(image, header.orientation)

    def _resized(self, pixels: np.ndarray) -> np.ndarray:
        import tensorflow as tf

        if pixels.shape[:2] == (self.size, self.size):
            return pixels
        with tf.device("CPU"):
            return resize(tf.constant(pixels), self.size, self._canvas).numpy()


def _upright(pixels: np.ndarray, orientation: int) -> np.ndarray:
    """A photograph as it was seen, of [size, size, 3] as it is stored.

    Cameras store what they see in any direction and write down which it was. As the
    image is square already, turning it does not change its size.
    """
    if orientation in image_header.ON_ITS_SIDE:
        pixels = pixels.swapaxes(0, 1)
    if orientation in (3, 4, 7, 8):
        pixels = pixels[::-1]
    if orientation in (2, 3, 6, 7):
        pixels = pixels[:, ::-1]
    return pixels


@functools.cache
def _graph(
    size: int, canvas: int, background: int | None
) -> Callable[["tf.Tensor", "tf.Tensor"], "tf.Tensor"]:
    """The function (encoded [n], ways [n]) -> pixels [n, size, size, 3]."""
    import tensorflow as tf

    def decode(contents: "tf.Tensor", ways: "tf.Tensor") -> "tf.Tensor":
        with tf.device("CPU"):  # there is nothing in it for a GPU
            return tf.map_fn(
                lambda one: resize(_decoded(*one, background), size, canvas),
                (contents, ways),
                fn_output_signature=tf.TensorSpec([size, size, 3], tf.uint8),
            )

    return tf.function(
        decode,
        input_signature=[
            tf.TensorSpec([None], tf.string),
            tf.TensorSpec([None], tf.int32),
        ],
        autograph=False,
    )


def _batches(
    encoded: list[tuple[int, bytes, Header]], size: int
) -> Iterator[list[tuple[int, bytes, Header]]]:
    """Batches that are bounded in images and in the memory of their pixels."""
    batch, pixels = [], 0
    for item in encoded:
        _, _, header = item
        decoded = header.pixels // _ratio(header, size) ** 2
        if batch and (len(batch) == BATCH or pixels + decoded > BATCH_PIXELS):
            yield batch
            batch, pixels = [], 0
        batch.append(item)
        pixels += decoded
    if batch:
        yield batch


def _ratio(header: Header, size: int) -> int:
    if header.kind != "jpeg":
        return 1
    spare = min(header.height, header.width) // (SPARE * size)
    return max(ratio for ratio in RATIOS if ratio <= max(1, spare))


def _way(header: Header, size: int) -> int:
    """Which branch of `_decoded` an image takes."""
    if header.kind == "jpeg":
        return RATIOS.index(_ratio(header, size))
    return len(RATIOS) + (header.kind == "bmp")


def _decoded(
    content: "tf.Tensor", way: "tf.Tensor", background: int | None
) -> "tf.Tensor":
    """[] of string -> [height, width, 3] of uint8, as `_way` says."""
    import tensorflow as tf

    def jpeg(ratio: int) -> tf.Tensor:
        # The accurate method is what other programs' decoders use.
        return tf.io.decode_jpeg(
            content, channels=3, ratio=ratio, dct_method="INTEGER_ACCURATE"
        )

    def bmp() -> tf.Tensor:
        # Its decoder does not convert channels.
        pixels = tf.io.decode_bmp(content)[..., :3]
        return tf.broadcast_to(pixels, tf.concat([tf.shape(pixels)[:2], [3]], axis=0))

    branches = [functools.partial(jpeg, ratio) for ratio in RATIOS]
    png_or_gif = functools.partial(decode, content, background)
    pixels = tf.switch_case(way, [*branches, png_or_gif, bmp])
    return tf.ensure_shape(pixels, [None, None, 3])


def decode(content: "tf.Tensor", background: int | None = None) -> "tf.Tensor":
    """[] of string -> [height, width, 3] of uint8: gray is repeated.

    Args:
        background: the shade that shows through transparent PNG images; None drops
            alpha, and shows whatever colour lies under it.
    """
    import tensorflow as tf

    def opaque() -> tf.Tensor:
        return tf.io.decode_image(content, channels=3, expand_animations=False)

    def over_background() -> tf.Tensor:
        pixels = tf.io.decode_png(content, channels=4)
        return over(pixels[..., :3], pixels[..., 3:], background)

    if background is None:
        return tf.ensure_shape(opaque(), [None, None, 3])
    is_png = tf.strings.substr(content, 0, 4) == b"\x89PNG"
    return tf.ensure_shape(tf.cond(is_png, over_background, opaque), [None, None, 3])


def over(color: "tf.Tensor", alpha: "tf.Tensor", background: int) -> "tf.Tensor":
    """Colour [..., H, W, 3] of opacity [..., H, W, 1] over a shade, all of uint8.

    Opacity that is the same everywhere is taken for full: TensorFlow gives an image of
    one bit and no alpha the alpha 1.
    """
    import tensorflow as tf

    area = [-3, -2, -1]
    least = tf.reduce_min(alpha, axis=area, keepdims=True)
    alike = least == tf.reduce_max(alpha, axis=area, keepdims=True)
    share = tf.where(alike, 1.0, tf.cast(alpha, tf.float32) / 255)
    mixed = share * tf.cast(color, tf.float32) + (1 - share) * background
    return tf.saturate_cast(tf.round(mixed), tf.uint8)


def resize(pixels: "tf.Tensor", size: int, canvas: int) -> "tf.Tensor":
    """[..., height, width, channels] -> [..., size, size, channels], of uint8.

    Args:
        canvas: images larger than this are smoothed and shrunk to it first, and from
            there to `size` without smoothing. The same as `size` for most models;
            Omniglot's drawings were shrunk without smoothing.
    """
    import tensorflow as tf

    if canvas == size:
        resized = tf.image.resize(pixels, [size, size], antialias=True)
    else:
        larger = tf.reduce_any(tf.shape(pixels)[-3:-1] > canvas)
        drawn = tf.cond(
            larger,
            lambda: tf.image.resize(pixels, [canvas, canvas], antialias=True),
            lambda: tf.cast(pixels, tf.float32),
        )
        resized = tf.image.resize(drawn, [size, size])
    return tf.saturate_cast(tf.round(resized), tf.uint8)
