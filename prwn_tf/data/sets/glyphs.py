"""Glyphs: invented characters drawn by code, so that nothing need be downloaded.

A class is a character of two to four smooth strokes between the points of a coarse
grid that all classes share. Each drawing of it is by another hand, which misplaces the
strokes a little, slants, turns, stretches and shifts the whole, and takes another pen.

Every class is a pure function of VERSION, the seed, its split and its index.
"""

import pathlib

import numpy as np
import tqdm

from prwn_tf.data.store import reader
from prwn_tf.data.store import writer as writer_lib

VERSION = 1  # to be raised with any change of a drawn pixel
SIZE = 28
DRAWINGS = 20
CLASSES = {"train": 400, "val": 80, "test": 160}

# The numbers below were tuned for 5-way 1-shot episodes of the test classes: about
# 50 % by nearest neighbour on pixels and 90 % by a Conv-4 trained for two minutes.

# A character, in units of the grid's side.
STROKES = (2, 4)
GRID = 4  # points along a side
MIN_LENGTH = 0.6  # from end to end of a stroke
BENDS = (-0.6, 0.0, 0.6)  # of either half of a stroke, in units of its length
JOINT_SHARE = 0.5  # how often a stroke starts on an earlier one
MIN_DISTANCE = 0.2  # mean, from the earlier strokes, so that none hides another

# A hand: how far it strays from the character, in units of the character's longer side.
SHAKE = 0.1  # standard deviation of a control point
SLANT = 0.25
TURN = 0.15  # radians
STRETCH = 0.2  # logarithm of width over height

# Its pen, in pixels. The middle of a stroke keeps (SIZE - LENGTH) / 2 - SHIFT >= 1.5
# from the edge of the image, which is more than any RADIUS: nothing is cut off.
LENGTH = (17.0, 22.0)  # of the longer side
SHIFT = 1.5  # from the middle of the image
RADIUS = (0.7, 1.2)
INK = (0.8, 1.0)  # of white
SAMPLES = 48  # points on a stroke, at most about a pixel apart


def build(directory: pathlib.Path, *, seed: int = 0) -> None:
    """Draws every class of every split into a data set at `directory`."""
    about = {
        "dataset": "glyphs",
        "version": VERSION,
        "source": "drawn by prwn_tf.data.sets.glyphs",
        "seed": seed,
    }
    classes = [(split, index) for split in CLASSES for index in range(CLASSES[split])]
    with writer_lib.StoreWriter(
        directory, image_shape=(SIZE, SIZE, 1), about=about
    ) as writer:
        for split, index in tqdm.tqdm(classes, "glyphs", unit=" classes", disable=None):
            writer.add(split, f"{split}{index:03}", draw_class(seed, split, index))


def draw_class(seed: int, split: str, index: int) -> np.ndarray:
    """Returns the drawings of one class, bright on 0: [DRAWINGS, SIZE, SIZE, 1]."""
    random = _stream(seed, split, index)
    character = _character(random)  # [strokes, 4, 2]
    shaken = character + SHAKE * _bell(random, (DRAWINGS, *character.shape))
    curves = _curves(shaken) @ _hands(random)  # [DRAWINGS, points, 2]
    return _ink(random, _place(random, curves))


def _stream(seed: int, split: str, index: int) -> np.random.Generator:
    """Returns the random numbers of one class.

    Only `random()` is ever called on them: NumPy promises the bits of Philox for good,
    but may change how it makes other distributions of them.
    """
    key = (VERSION, reader.SPLITS.index(split), index)
    return np.random.Generator(
        np.random.Philox(np.random.SeedSequence(seed, spawn_key=key))
    )


def _below(random: np.random.Generator, limit: int) -> int:
    """Draws a whole number from 0 to limit - 1."""
    return int(limit * random.random())


def _uniform(random: np.random.Generator, low: float, high: float) -> np.ndarray:
    """Draws a number for each drawing: [DRAWINGS]."""
    return low + (high - low) * random.random(DRAWINGS)


def _bell(random: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Draws nearly normal numbers of variance 1, without outliers.

    Each is a sum of three uniform ones.
    """
    return 2 * (random.random((3, *shape)).sum(axis=0) - 1.5)


def _character(random: np.random.Generator) -> np.ndarray:
    """Draws the control points of strokes: [strokes, 4, 2].

    The longer side of all of them together is 1.
    """
    least, most = STROKES
    wanted = least + _below(random, most - least + 1)
    strokes = _stroke(random)[np.newaxis]
    while len(strokes) < wanted:
        start = _joint(random, strokes) if random.random() < JOINT_SHARE else None
        stroke = _stroke(random, start)[np.newaxis]
        if _mean_distance(_curves(stroke), _curves(strokes)) >= MIN_DISTANCE:
            strokes = np.concatenate([strokes, stroke])
    return strokes / np.ptp(_curves(strokes), axis=0).max()


def _joint(random: np.random.Generator, strokes: np.ndarray) -> np.ndarray:
    """Draws the start, middle or end of a stroke: [strokes, 4, 2] -> [2]."""
    stroke = strokes[_below(random, len(strokes))]
    return _bernstein(np.array([0, 0.5, 1])[_below(random, 3)]) @ stroke


def _stroke(random: np.random.Generator, start: np.ndarray | None = None) -> np.ndarray:
    """Draws the control points of a line, arc, hook or S: [4, 2].

    Args:
        start: where it begins, if that is given: [2].
    """
    chord = np.zeros(2)
    while np.hypot(*chord) < MIN_LENGTH:
        first, last = np.floor(GRID * random.random((2, 2))) / (GRID - 1)
        first = first if start is None else start
        chord = last - first
    normal = np.array([-chord[1], chord[0]])
    bend, other = (BENDS[_below(random, len(BENDS))] for _ in range(2))
    return np.stack(
        [
            first,
            first + chord / 3 + bend * normal,
            last - chord / 3 + other * normal,
            last,
        ]
    )


def _curves(strokes: np.ndarray) -> np.ndarray:
    """Returns points along strokes: [..., strokes, 4, 2] -> [..., points, 2]."""
    points = _bernstein(np.linspace(0, 1, SAMPLES)) @ strokes
    return points.reshape(*strokes.shape[:-3], -1, 2)


def _bernstein(time: np.ndarray) -> np.ndarray:
    """Returns the weights of a cubic curve's control points: [...] -> [..., 4]."""
    rest = 1 - time
    return np.stack([rest**3, 3 * rest**2 * time, 3 * rest * time**2, time**3], axis=-1)


def _mean_distance(points: np.ndarray, others: np.ndarray) -> float:
    """Returns the mean distance of `points` to the nearest of `others`."""
    squares = np.square(points[:, np.newaxis] - others).sum(axis=-1)  # [points, others]
    return np.sqrt(squares.min(axis=1)).mean()


def _hands(random: np.random.Generator) -> np.ndarray:
    """Draws what each hand does to (x, y) rows: [DRAWINGS, 2, 2]."""
    slant = _uniform(random, -SLANT, SLANT)
    turn = _uniform(random, -TURN, TURN)
    stretch = np.exp(_uniform(random, -STRETCH, STRETCH) / 2)
    zero, one = np.zeros(DRAWINGS), np.ones(DRAWINGS)
    return (
        _matrices(stretch, zero, zero, 1 / stretch)
        @ _matrices(one, zero, slant, one)
        @ _matrices(np.cos(turn), np.sin(turn), -np.sin(turn), np.cos(turn))
    )


def _matrices(*entries: np.ndarray) -> np.ndarray:
    """Returns matrices of four entries [DRAWINGS], row by row: [DRAWINGS, 2, 2]."""
    return np.stack(entries, axis=-1).reshape(-1, 2, 2)


def _place(random: np.random.Generator, curves: np.ndarray) -> np.ndarray:
    """Scales each drawing to pixels, near the middle: [DRAWINGS, points, 2]."""
    low, high = curves.min(axis=1), curves.max(axis=1)  # [DRAWINGS, 2]
    scale = _uniform(random, *LENGTH) / (high - low).max(axis=1)  # [DRAWINGS]
    shift = SHIFT * (2 * random.random((DRAWINGS, 1, 2)) - 1)
    centred = curves - ((low + high) / 2)[:, np.newaxis]
    return centred * scale[:, np.newaxis, np.newaxis] + shift + (SIZE - 1) / 2


def _ink(random: np.random.Generator, curves: np.ndarray) -> np.ndarray:
    """Inks pixels by distance: [DRAWINGS, points, 2] -> [DRAWINGS, SIZE, SIZE, 1]."""
    pixels = np.arange(SIZE, dtype=np.float32)
    steps = curves.astype(np.float32).T[..., np.newaxis] - pixels
    across, down = np.square(steps)  # each [points, DRAWINGS, SIZE]
    squares = across[..., np.newaxis, :] + down[..., np.newaxis]
    nearest = np.sqrt(squares.min(axis=0))[..., np.newaxis]  # [DRAWINGS, SIZE, SIZE, 1]
    radius = _uniform(random, *RADIUS).reshape(-1, 1, 1, 1)
    white = 255 * _uniform(random, *INK).reshape(-1, 1, 1, 1)
    # Full inside the pen, none outside, and a slope of one pixel across its edge.
    return np.rint(white * np.clip(radius + 0.5 - nearest, 0, 1)).astype(np.uint8)
