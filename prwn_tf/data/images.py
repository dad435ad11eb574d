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

    Example:
        >>> pixels, problems = Decoder(84)([path.read_bytes() for path in paths])
    """

    def __init__(self, size: int):
        self.size = size
        self._graph = _graph(size)

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
        for batch in _batches(encoded, self.size):
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
        ways = [_way(header, self.size) for header in headers]
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
        pixels.update(zip(places, found, strict=True))

    def _resized(self, pixels: np.ndarray) -> np.ndarray:
        import tensorflow as tf

        if pixels.shape[:2] == (self.size, self.size):
            return pixels
        with tf.device("CPU"):
            return _resize(tf.constant(pixels), self.size).numpy()


@functools.cache
def _graph(size: int) -> Callable[["tf.Tensor", "tf.Tensor"], "tf.Tensor"]:
    """The function (encoded [n], ways [n]) -> pixels [n, size, size, 3]."""
    import tensorflow as tf

    def decode(contents: "tf.Tensor", ways: "tf.Tensor") -> "tf.Tensor":
        with tf.device("CPU"):  # there is nothing in it for a GPU
            return tf.map_fn(
                lambda one: _resize(_decoded(*one), size),
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


def _decoded(content: "tf.Tensor", way: "tf.Tensor") -> "tf.Tensor":
    """[] of string -> [height, width, 3] of uint8: gray is repeated, alpha dropped."""
    import tensorflow as tf

    def jpeg(ratio: int) -> tf.Tensor:
        # The accurate method is what other programs' decoders use.
        return tf.io.decode_jpeg(
            content, channels=3, ratio=ratio, dct_method="INTEGER_ACCURATE"
        )

    def png_or_gif() -> tf.Tensor:
        return tf.io.decode_image(content, channels=3, expand_animations=False)

    def bmp() -> tf.Tensor:
        # Its decoder does not convert channels.
        pixels = tf.io.decode_bmp(content)[..., :3]
        return tf.broadcast_to(pixels, tf.concat([tf.shape(pixels)[:2], [3]], axis=0))

    branches = [functools.partial(jpeg, ratio) for ratio in RATIOS]
    pixels = tf.switch_case(way, [*branches, png_or_gif, bmp])
    return tf.ensure_shape(pixels, [None, None, 3])


def _resize(pixels: "tf.Tensor", size: int) -> "tf.Tensor":
    """[height, width, 3] -> [size, size, 3], both of uint8."""
    import tensorflow as tf

    resized = tf.image.resize(pixels, [size, size], antialias=True)
    return tf.saturate_cast(tf.round(resized), tf.uint8)
