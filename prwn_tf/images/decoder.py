"""Encoded images -> uint8 pixels of one size, and why some cannot be decoded."""

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from prwn_tf.errors import is_out_of_memory
from prwn_tf.images import complaints, formats, gif, pillow
from prwn_tf.images import header as header_lib
from prwn_tf.images.header import Header, UnusableImageError

if TYPE_CHECKING:
    import tensorflow as tf

BATCH = 64
BATCH_PIXELS = 2**24
LOADED_BYTES = 2**24  # encoded images that are held at once
Place = TypeVar("Place")


class Decoder:
    """Decodes and resizes images, in several threads if need be.

    Example:
        >>> pixels, problems = Decoder(84)([path.read_bytes() for path in paths])
    """

    def __init__(
        self,
        size: int,
        canvas: int | None = None,
        background: int | None = None,
        fit: str = "squeeze",
    ):
        """Says what images are made into.

        Args:
            size: their height and width.
            canvas: as in `decoding.resize`; the size by default.
            background, fit: as in `decoding.squares`.
        """
        self.size = size
        self._fit = fit
        self._canvas = canvas or size
        self._background = background
        self._graph = _graph(size, self._canvas, background, fit)

    def __call__(
        self, contents: Sequence[bytes | np.ndarray]
    ) -> tuple[np.ndarray, dict[int, str]]:
        """Returns pixels of the images that can be decoded, and problems of the others.

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
                header = header_lib.read(content)
                if formats.FORMATS[header.kind].package:
                    whole = pillow.pixels(content, header.kind)
                    pixels[place] = self._resized(self._opaque(whole))
                    continue
            except UnusableImageError as error:
                problems[place] = str(error)
                continue
            if header.kind == "gif":
                *_, content = gif.first_picture(content)
                if self._background is not None:
                    content = gif.opaque(content, self._background)
            encoded.append((place, content, header))
        for batch in _batches(encoded, self._canvas):
            self._decode(batch, pixels, problems)
        ordered = [pixels[place] for place in sorted(pixels)]
        empty = np.empty((0, self.size, self.size, 3), np.uint8)
        return (np.stack(ordered) if ordered else empty), problems

    def load(
        self, load: Callable[[int], bytes | np.ndarray], places: Sequence[int]
    ) -> tuple[np.ndarray, dict[int, str]]:
        """Loads and decodes images, a bounded number of bytes at a time.

        Args:
            load: place -> content, as in `loaded`.
            places: of the images.

        Returns:
            [n, size, size, 3] of uint8 in the order of places, and place -> reason.
        """
        pixels, problems = [np.empty((0, self.size, self.size, 3), np.uint8)], {}
        for group, contents in loaded(load, places, problems):
            group_pixels, group_problems = self(contents)
            pixels.append(group_pixels)
            problems |= {
                group[index]: reason for index, reason in group_problems.items()
            }
        return np.concatenate(pixels), dict(sorted(problems.items()))

    def _decode(
        self,
        batch: list[tuple[int, bytes, Header]],
        pixels: dict[int, np.ndarray],
        problems: dict[int, str],
        *,
        alone: bool = False,
    ) -> None:
        """Decodes a batch of places, contents and headers.

        Args:
            pixels: gets place -> pixels.
            problems: gets place -> reason for what cannot be decoded.
            alone: whether it is one image, of which complaints are awaited.
        """
        import tensorflow as tf

        places, contents, headers = zip(*batch, strict=True)
        try:
            with complaints.heard(alone=alone) as damage:
                decoded = self._graph(tf.constant(contents)).numpy()
        except tf.errors.OpError as error:
            # TensorFlow does not say which image it was.
            if len(batch) > 1:
                for item in batch:
                    self._decode([item], pixels, problems)
            elif is_out_of_memory(error):
                raise
            else:
                name = formats.FORMATS[headers[0].kind].name
                problems[places[0]] = f"is a damaged or incomplete {name} image"
        else:
            if not damage:
                pixels.update(zip(places, decoded, strict=True))
            elif alone:
                problems[places[0]] = f"is a damaged JPEG image ({damage[0]})"
            else:
                for item in batch:
                    self._decode([item], pixels, problems, alone=True)

    def _opaque(self, pixels: np.ndarray) -> np.ndarray:
        """Returns an image over the background: [H, W, 4] -> [H, W, 3]."""
        import tensorflow as tf

        from prwn_tf.images import decoding

        with tf.device("CPU"):
            return decoding.colored(tf.constant(pixels), self._background).numpy()

    def _resized(self, pixels: np.ndarray) -> np.ndarray:
        """Returns pixels of the right size: [H, W, 3] -> [size, size, 3]."""
        import tensorflow as tf

        from prwn_tf.images import decoding

        if pixels.shape[:2] == (self.size, self.size):
            return pixels
        with tf.device("CPU"):
            form = (self.size, self._canvas, self._fit)
            return decoding.fitted(tf.constant(pixels), *form).numpy()


def loaded(
    load: Callable[[Place], bytes | np.ndarray],
    places: Sequence[Place],
    problems: dict[Place, str],
) -> Iterator[tuple[list[Place], list[bytes | np.ndarray]]]:
    """Yields images in groups of bounded size, with their places.

    Args:
        load: place -> an encoded image, or pixels. It may raise UnusableImageError.
        places: of the images.
        problems: gets place -> reason where it did.
    """
    group, contents, size = [], [], 0
    for place in places:
        try:
            content = load(place)
        except UnusableImageError as error:
            problems[place] = str(error)
            continue
        group.append(place)
        contents.append(content)
        size += len(content) if isinstance(content, bytes) else content.nbytes
        if size > LOADED_BYTES:
            yield group, contents
            group, contents, size = [], [], 0
    if contents:
        yield group, contents


@functools.cache
def _graph(
    size: int, canvas: int, background: int | None, fit: str
) -> Callable[["tf.Tensor"], "tf.Tensor"]:
    """Returns the function of encoded images [n] to pixels [n, size, size, 3]."""
    import tensorflow as tf

    from prwn_tf.images import decoding

    def decode(contents: "tf.Tensor") -> "tf.Tensor":
        with tf.device("CPU"):  # there is nothing in it for a GPU
            return decoding.squares(contents, size, canvas, background, fit)

    return tf.function(
        decode, input_signature=[tf.TensorSpec([None], tf.string)], autograph=False
    )


def _batches(
    encoded: list[tuple[int, bytes, Header]], canvas: int
) -> Iterator[list[tuple[int, bytes, Header]]]:
    """Yields batches that are bounded in images and in the memory of their pixels."""
    batch, pixels = [], 0
    for item in encoded:
        _, _, header = item
        decoded = _decoded_pixels(header, canvas)
        if batch and (len(batch) == BATCH or pixels + decoded > BATCH_PIXELS):
            yield batch
            batch, pixels = [], 0
        batch.append(item)
        pixels += decoded
    if batch:
        yield batch


def _decoded_pixels(header: Header, canvas: int) -> int:
    """Returns how many pixels of an image are in memory before it is resized."""
    from prwn_tf.images import decoding

    if header.kind != "jpeg":
        return header.pixels
    shorter_side = min(header.height, header.width)
    return header.pixels // decoding.ratio(shorter_side, canvas) ** 2
