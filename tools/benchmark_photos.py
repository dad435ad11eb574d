"""How fast photographs are prepared, beside a loop that only decodes them."""

import contextlib
import io
import os
import pathlib
import statistics
import tempfile
import time
from collections.abc import Callable

import numpy as np
import tensorflow as tf

from prwn_tf.data import preparation
from prwn_tf.images import decoding

CLASSES, EACH = 6, 60
HEIGHT, WIDTH = 3000, 4000  # 12 megapixels
SIZE = 84
TURNS = 2


def measure() -> dict[str, str]:
    """Returns what was measured, in words: both turn by turn, after one to warm up."""
    with tempfile.TemporaryDirectory() as folder:
        place = pathlib.Path(folder)
        paths = _photographs(place / "photographs")
        turns = [
            (_seconds(lambda: _decode(paths)), _seconds(lambda: _prepare(place)))
            for _ in range(TURNS + 1)
        ]
    bare, prepared = (
        len(paths) / statistics.median(each) for each in zip(*turns[1:], strict=True)
    )
    return {
        f"photographs of {HEIGHT * WIDTH // 10**6} megapixels prepared": (
            f"{prepared:.0f} images/s, {100 * prepared / bare:.0f} % of a loop that "
            f"decodes them and nothing else ({bare:.0f} images/s)"
        )
    }


def _photographs(folder: pathlib.Path) -> list[str]:
    """Writes photographs that differ, with noise in them as a camera's have."""
    generator = np.random.default_rng(0)
    coarse = generator.uniform(0, 255, (HEIGHT // 100, WIDTH // 100, 3))
    smooth = tf.image.resize(coarse, (HEIGHT, WIDTH), "bicubic").numpy()
    noisy = smooth + generator.normal(0, 6, smooth.shape)
    pixels = np.clip(noisy, 0, 255).astype(np.uint8)
    paths = []
    for index in range(CLASSES * EACH):
        path = folder / f"class_{index // EACH}" / f"{index}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        turned = np.roll(pixels, 16 * index, axis=1)
        path.write_bytes(tf.io.encode_jpeg(turned, quality=90).numpy())
        paths.append(str(path))
    return paths


def _decode(paths: list[str]) -> None:
    """Reads and decodes as `prepare` does, in as many threads as there are cores."""
    shrunk = decoding.ratio(min(HEIGHT, WIDTH), SIZE)

    def decode(path: tf.Tensor) -> tf.Tensor:
        content = tf.io.read_file(path)
        pixels = tf.io.decode_jpeg(
            content, channels=3, ratio=shrunk, dct_method="INTEGER_ACCURATE"
        )
        return pixels[0, 0]

    images = tf.data.Dataset.from_tensor_slices(paths)
    for _ in images.map(decode, num_parallel_calls=os.cpu_count()):
        pass


def _prepare(place: pathlib.Path) -> None:
    options = preparation.Options(
        source=place / "photographs", image_size=SIZE, replace=True
    )
    with contextlib.redirect_stdout(io.StringIO()):
        preparation.prepare("folder", place / "data", options)


def _seconds(function: Callable[[], None]) -> float:
    start = time.perf_counter()
    function()
    return time.perf_counter() - start
