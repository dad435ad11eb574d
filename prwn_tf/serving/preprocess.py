"""Any image -> what a trained model takes, as part of the model that is exported.

A run of one channel was trained on drawings in bright ink on black (Omniglot, glyphs).
People draw in dark ink on white paper, so bright images are turned around.
"""

import dataclasses
from typing import TYPE_CHECKING

from prwn_tf.config import FITS, TrainConfig
from prwn_tf.data.sets import facts
from prwn_tf.errors import UserError
from prwn_tf.images.decoder import Decoder

if TYPE_CHECKING:
    import tensorflow as tf

WHITE = 255
MAX_SIDE = 2**12  # pixels of an image that a model takes
LUMA = (0.299, 0.587, 0.114)  # weights of red, green and blue in gray


@dataclasses.dataclass(frozen=True)
class Preprocess:
    """How images become the input of a model.

    Attributes:
        size: height and width.
        channels: 3, or 1 for gray.
        canvas: as in `decoding.resize`.
        fit: how images become squares.
        turns: whether gray images are drawings, of which bright ones are turned around.
    """

    size: int
    channels: int
    canvas: int
    fit: str = FITS[0]
    turns: bool = True

    def __post_init__(self):
        for name in ("size", "canvas"):
            if not 1 <= getattr(self, name) <= MAX_SIDE:
                raise UserError(
                    f"preprocess.{name} must be from 1 to {MAX_SIDE}, got "
                    f"{getattr(self, name)}"
                )
        if self.channels not in (1, 3):
            raise UserError(f"preprocess.channels must be 1 or 3, got {self.channels}")
        if self.fit not in FITS:
            raise UserError(
                f"preprocess.fit must be {' or '.join(FITS)}, got {self.fit}"
            )

    @classmethod
    def from_config(cls, config: TrainConfig) -> "Preprocess":
        """Returns what a run's images went through before it was trained on them."""
        return cls.of_shape(config.image_shape, config.dataset, config.fit)

    @classmethod
    def of_shape(
        cls, image_shape: tuple[int, ...], dataset: str, fit: str = FITS[0]
    ) -> "Preprocess":
        """Returns the same for a shape [height, width, channels] of a data set."""
        height, width, channels = image_shape
        if dataset in facts.POINTS or height != width or channels not in (1, 3):
            raise UserError(
                f"a model of {dataset} takes inputs of {image_shape}, not square "
                "images, so it cannot be exported"
            )
        return cls(height, channels, facts.SHRUNK_FROM.get(dataset, height), fit)

    @property
    def drawings(self) -> bool:
        """Whether the model knows drawings, and no photographs."""
        return self.channels == 1 and self.turns

    @property
    def background(self) -> int | None:
        """The gray that shows through transparent images, if alpha counts."""
        return WHITE if self.drawings else None

    def decoder(self) -> Decoder:
        """Returns a decoder of files to a size that `__call__` leaves as it is."""
        return Decoder(self.size, self.canvas, self.background, self.fit)

    def decode(self, contents: "tf.Tensor") -> "tf.Tensor":
        """Decodes files as part of a graph: [B] -> [B, size, size, channels]."""
        from prwn_tf.images import decoding

        form = (self.size, self.canvas, self.background, self.fit)
        return self._finish(decoding.squares(contents, *form))

    def __call__(self, pixels: "tf.Tensor") -> "tf.Tensor":
        """Prepares bytes [B, H, W, 1, 3 or 4]: -> [B, size, size, channels]."""
        import tensorflow as tf

        from prwn_tf.images import decoding

        form = (self.size, self.canvas, self.fit)
        resized = decoding.fitted(self._color(pixels), *form)
        return self._finish(tf.ensure_shape(resized, [None, self.size, self.size, 3]))

    def _finish(self, resized: "tf.Tensor") -> "tf.Tensor":
        """Makes images of the right size gray, if the model is, and turns drawings."""
        if self.channels == 3:
            return resized
        gray = _gray(resized)
        return _bright_on_black(gray) if self.turns else gray

    def _color(self, pixels: "tf.Tensor") -> "tf.Tensor":
        """Repeats gray, and drops alpha or lays it over the background."""
        import tensorflow as tf

        from prwn_tf.images import decoding

        channels = tf.shape(pixels)[-1]
        known = tf.debugging.Assert(
            tf.reduce_any(channels == [1, 3, 4]),
            ["images must have 1, 3 or 4 channels, found", channels],
        )
        with tf.control_dependencies([known]):
            pixels = tf.identity(pixels)
        color = decoding.colored(pixels, self.background)
        return tf.ensure_shape(color, [None, None, None, 3])


def _gray(pixels: "tf.Tensor") -> "tf.Tensor":
    """Returns how bright pixels are: [B, H, W, 3] -> [B, H, W, 1] of uint8."""
    import tensorflow as tf

    gray = tf.tensordot(tf.cast(pixels, tf.float32), tf.constant(LUMA), axes=1)
    return tf.saturate_cast(tf.round(gray), tf.uint8)[..., None]


def _bright_on_black(gray: "tf.Tensor") -> "tf.Tensor":
    """Turns drawings on white paper around: [B, H, W, 1] -> the same.

    The ground is most of a drawing, so its mean tells which one it is.
    """
    import tensorflow as tf

    mean = tf.reduce_mean(tf.cast(gray, tf.float32), axis=[1, 2, 3], keepdims=True)
    return tf.where(mean > WHITE / 2, WHITE - gray, gray)
