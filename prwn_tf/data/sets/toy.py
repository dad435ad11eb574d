"""Two sets of points in the plane, on which one can see what a method does.

spiral: five arms, turned against each other; radius and angle grow together.
gaussian_circles: one round Gaussian cut by radius into three classes of equal count,
so that no gap lies between the classes.

The paper shows both in a figure and gives no formula; these match the figure (arms
r = t at angle t + 2 pi k / 5, circles cut at the terciles of the radius). A point is
stored as an image of one pixel with two channels, its coordinates.

All splits have the same classes, each with its own points.
"""

import pathlib
from collections.abc import Callable

import numpy as np

from prwn_tf.data.store import reader
from prwn_tf.data.store import writer as writer_lib

VERSION = 1  # to be raised with any change of a point
POINT = (1, 1, 2)  # image_shape of a point
ARMS = 5
RINGS = 3
POINTS = {"spiral": 200, "gaussian_circles": 333}  # of a class; about 1000 in all


def build(name: str, directory: pathlib.Path, *, seed: int = 0) -> None:
    """Draws the three splits of a set into a data set at `directory`."""
    about = {
        "dataset": name,
        "version": VERSION,
        "source": "drawn by prwn_tf.data.sets.toy",
        "seed": seed,
    }
    with writer_lib.StoreWriter(
        directory, image_shape=POINT, about=about, dtype="float32"
    ) as writer:
        for split in reader.SPLITS:
            for index, points in enumerate(draw(name, seed, split)):
                writer.add(split, f"class{index}", points.reshape(-1, *POINT))


def draw(name: str, seed: int, split: str) -> np.ndarray:
    """Returns the points of every class: [classes, points, 2] of float32."""
    key = (VERSION, reader.SPLITS.index(split))
    random = np.random.Generator(
        np.random.Philox(np.random.SeedSequence(seed, spawn_key=key))
    )
    radius, angle = _SHAPES[name](random, POINTS[name])
    points = radius[..., None] * np.stack([np.cos(angle), np.sin(angle)], axis=-1)
    return points.astype(np.float32)


def _spiral(random: np.random.Generator, points: int) -> tuple[np.ndarray, np.ndarray]:
    """Draws radius and angle, both [ARMS, points]."""
    along = 2 * np.pi * (1 - random.random((ARMS, points)))  # in (0, 2 pi]
    turned = 2 * np.pi * np.arange(ARMS)[:, None] / ARMS
    return along, along + turned


def _gaussian_circles(
    random: np.random.Generator, points: int
) -> tuple[np.ndarray, np.ndarray]:
    """Draws radius and angle, both [RINGS, points].

    The radius is drawn by the inverse of its distribution.
    """
    share = (np.arange(RINGS)[:, None] + random.random((RINGS, points))) / RINGS
    radius = np.sqrt(-2 * np.log1p(-share))
    return radius, 2 * np.pi * random.random((RINGS, points))


_SHAPES: dict[str, Callable] = {
    "spiral": _spiral,
    "gaussian_circles": _gaussian_circles,
}
NAMES = tuple(_SHAPES)
