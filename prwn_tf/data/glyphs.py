"""Glyphs: invented characters drawn by code, so that nothing need be downloaded.

A class is a character of two to four smooth strokes, a stroke is a cubic Bezier curve
with its control points on a coarse grid shared by all classes. Each of its drawings is
by another hand, which shakes the control points, then slants, turns, stretches and
places the whole character, and takes another pen.

Every class is a pure function of (seed, split, class index) and VERSION.
"""

import pathlib

import numpy as np
import tqdm

from prwn_tf.data import store

VERSION = 1  # raise it with any change of a drawn pixel
SIZE = 28
DRAWINGS = 20
CLASSES = {"train": 400, "val": 80, "test": 160}

# A character: its strokes run between the points of a grid of side 1.
STROKES = (2, 4)
GRID = 4
SHORTEST = 0.6  # from end to end of a stroke
BENDS = (-0.8, 0.0, 0.8)  # of either half of a stroke, in units of its length
JOINED = 0.5  # how often a stroke starts on an earlier one
APART = 0.2  # mean distance of a stroke to the earlier ones, so that both are seen

# A hand: the spread of each of its habits.
SHAKE = 0.05  # of a control point, standard deviation
SLANT = 0.3
TURN = 0.2  # radians
STRETCH = 0.2  # logarithm of height over width
LENGTH = (16.0, 22.0)  # pixels of the longer side
SHIFT = 2.5  # pixels from the middle of the image
RADIUS = (0.6, 1.2)  # pixels of the pen
INK = (0.75, 1.0)

SAMPLES = 32  # points on a stroke: at most about a pixel apart


def build(directory: pathlib.Path, *, seed: int = 0) -> None:
    """Draws every class of every split into a data set at `directory`."""
    about = {
        "dataset": "glyphs",
        "version": VERSION,
        "source": "drawn by prwn_tf.data.glyphs",
        "seed": seed,
    }
    classes = [
        (split, index) for split in store.SPLITS for index in range(CLASSES[split])
    ]
    with store.StoreWriter(
        directory, image_shape=(SIZE, SIZE, 1), about=about
    ) as writer:
        for split, index in tqdm.tqdm(classes, "glyphs", unit="class", disable=None):
            writer.add(split, f"{split}{index:03}", draw_class(seed, split, index))


def draw_class(seed: int, split: str, index: int) -> np.ndarray:
    """All drawings of one class: [DRAWINGS, SIZE, SIZE, 1] of uint8, ink is bright."""
    random = _stream(seed, split, index)
    strokes = _character(random)  # [strokes, 4, 2]
    shaken = strokes + SHAKE * _bell(random, (DRAWINGS, *strokes.shape))
    points = _curves(shaken)  # [drawings, points, 2]
    points = _place(random, points @ _hands(random))
    return _ink(random, points)


def _stream(seed: int, split: str, index: int) -> np.random.Generator:
    """The random numbers of one class.

    Only `Generator.random` is ever called on it: NumPy promises the bits of Philox
    for good, but may change how other distributions are made from them.
    """
    key = (VERSION, store.SPLITS.index(split), index)
    sequence = np.random.SeedSequence(seed, spawn_key=key)
    return np.random.Generator(np.random.Philox(sequence))


def _uniform(random: np.random.Generator, low: float, high: float) -> np.ndarray:
    """One number for each drawing: [drawings]."""
    return low + (high - low) * random.random(DRAWINGS)


def _bell(random: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Bell-shaped numbers of unit variance, never beyond 3."""
    return (random.random((6, *shape)).sum(axis=0) - 3) * np.sqrt(2)


def _below(random: np.random.Generator, limit: int) -> int:
    return int(limit * random.random())


def _character(random: np.random.Generator) -> np.ndarray:
    """Control points of a character in a box of longer side 1: [strokes, 4, 2]."""
    fewest, most = STROKES
    strokes = _stroke(random)[np.newaxis]
    count = fewest + _below(random, most - fewest + 1)
    while len(strokes) < count:
        start = None
        if random.random() < JOINED:
            earlier = strokes[_below(random, len(strokes))]
            start = _bernstein(np.array(_below(random, 3) / 2)) @ earlier
        stroke = _stroke(random, start)[np.newaxis]
        if _distance(_curves(stroke), _curves(strokes)) >= APART:
            strokes = np.concatenate([strokes, stroke])
    curves = _curves(strokes)
    low, high = curves.min(axis=0), curves.max(axis=0)
    return (strokes - (low + high) / 2) / (high - low).max()


def _stroke(random: np.random.Generator, start: np.ndarray | None = None) -> np.ndarray:
    """Control points of a line, an arc, a hook or an S: [4, 2]."""
    while True:
        ends = np.floor(GRID * random.random((2, 2))) / (GRID - 1)
        if start is not None:
            ends[0] = start
        chord = ends[1] - ends[0]
        if np.hypot(*chord) >= SHORTEST:
            break
    normal = np.array([-chord[1], chord[0]])
    bends = [BENDS[_below(random, len(BENDS))] for _ in range(2)]
    inner = [ends[0] + chord * (i + 1) / 3 + normal * bends[i] for i in range(2)]
    return np.stack([ends[0], *inner, ends[1]])


def _distance(points, others):
    steps = points[:, np.newaxis] - others  # [points, others, 2]
    return np.hypot(*steps.T).min(axis=0).mean()


def _bernstein(time: np.ndarray) -> np.ndarray:
    """Weights of a cubic Bezier curve's control points: [...] -> [..., 4]."""
    rest = 1 - time
    return np.stack([rest**3, 3 * rest**2 * time, 3 * rest * time**2, time**3], axis=-1)


def _curves(strokes: np.ndarray) -> np.ndarray:
    """Points along all strokes of a drawing: [..., strokes, 4, 2] -> [..., points, 2]."""
    points = _bernstein(np.linspace(0, 1, SAMPLES)) @ strokes
    return points.reshape(*strokes.shape[:-3], -1, 2)


def _hands(random: np.random.Generator) -> np.ndarray:
    """The linear map of (x, y) rows of each hand: [drawings, 2, 2]."""
    slant = _uniform(random, -SLANT, SLANT)
    turn = _uniform(random, -TURN, TURN)
    stretch = np.exp(_uniform(random, -STRETCH, STRETCH) / 2)
    zero, one = np.zeros(DRAWINGS), np.ones(DRAWINGS)
    return (
        _matrices(1 / stretch, zero, zero, stretch)
        @ _matrices(one, zero, slant, one)
        @ _matrices(np.cos(turn), np.sin(turn), -np.sin(turn), np.cos(turn))
    )


def _matrices(*entries: np.ndarray) -> np.ndarray:
    """Four entries of [drawings], row by row, to matrices: [drawings, 2, 2]."""
    return np.stack(entries, axis=-1).reshape(-1, 2, 2)


def _place(random: np.random.Generator, points: np.ndarray) -> np.ndarray:
    """Scales each drawing to pixels, and puts it near the middle of the image."""
    low, high = points.min(axis=1), points.max(axis=1)  # [drawings, 2]
    scale = _uniform(random, *LENGTH) / (high - low).max(axis=1)
    shift = SHIFT * (2 * random.random((DRAWINGS, 2)) - 1)
    centred = points - ((low + high) / 2)[:, np.newaxis]
    return (
        centred * scale[:, np.newaxis, np.newaxis]
        + ((SIZE - 1) / 2 + shift)[:, np.newaxis]
    )


def _ink(random: np.random.Generator, points: np.ndarray) -> np.ndarray:
    """Pixels by their distance to the curves: [drawings, SIZE, SIZE, 1] of uint8."""
    pixels = np.arange(SIZE, dtype=np.float32)
    points = points.astype(np.float32)
    squares = np.square(
        points.T[..., np.newaxis] - pixels
    )  # [2, points, drawings, SIZE]
    across, down = squares[..., np.newaxis, :], squares[..., np.newaxis]
    nearest = np.sqrt((across[0] + down[1]).min(axis=0))  # [drawings, SIZE, SIZE]
    radius, ink = _uniform(random, *RADIUS), _uniform(random, *INK)
    # A pixel is covered in full inside the pen, and fades over one pixel at its edge.
    cover = np.clip(radius[:, np.newaxis, np.newaxis] + 0.5 - nearest, 0, 1)
    return np.rint(255 * ink[:, np.newaxis, np.newaxis] * cover).astype(np.uint8)[
        ..., np.newaxis
    ]
