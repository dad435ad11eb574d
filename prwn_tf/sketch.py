"""Draws folders of sketches to try `predict` on: support/, query/ and unlabeled/.

    python -m prwn_tf.sketch --output=sketches

Five things, each by many hands, in dark ink on white paper. Among the
unlabelled images, and some of the queries, are things of other kinds:
distractors.
"""

import itertools

import numpy as np
from absl import flags

from prwn_tf import cli, files

FLAGS = flags.FLAGS
flags.DEFINE_string("output", "sketches", "Folder to draw into.")
flags.DEFINE_integer("examples", 1, "Labelled drawings of each thing.", lower_bound=1)
flags.DEFINE_integer("seed", 0, "Draws other hands.", lower_bound=0)

SIZE = 105  # as Omniglot's drawings
QUERIES, UNLABELED = 12, 8  # drawings of each thing
STRANGERS = 3  # drawings of each distractor among the queries
PEN_RADIUS = (1.7, 2.6)  # Omniglot's pen; thinner lines fall apart at 28 pixels
SHAKE = 0.035  # deviation of a point, in units of the drawing
STEPS = 90  # points that are inked along a line as long as the drawing

Line = list[tuple[float, float]]


def arc(x: float, y: float, wide: float, high: float, start: float, stop: float):
    """Returns part of an ellipse as a line of points; angles are in turns."""
    angles = 2 * np.pi * np.linspace(start, stop, 13)
    return [(x + wide * np.cos(a), y + high * np.sin(a)) for a in angles]


def star() -> Line:
    """Returns a star of five points, drawn in one line."""
    angles = 2 * np.pi * (0.75 + 0.4 * np.arange(6))
    return [(0.5 + 0.5 * np.cos(a), 0.5 + 0.5 * np.sin(a)) for a in angles]


# Lines of points in a square from 0 to 1, y downwards.
THINGS: dict[str, list[Line]] = {
    "house": [
        [(0.1, 0.45), (0.1, 1), (0.9, 1), (0.9, 0.45)],
        [(0, 0.5), (0.5, 0), (1, 0.5)],
        [(0.4, 1), (0.4, 0.7), (0.6, 0.7), (0.6, 1)],
    ],
    "star": [star()],
    "fish": [
        arc(0.4, 0.5, 0.4, 0.25, 0, 1),
        [(0.8, 0.5), (1, 0.25), (1, 0.75), (0.8, 0.5)],
        arc(0.2, 0.44, 0.04, 0.04, 0, 1),
    ],
    "tree": [
        arc(0.5, 0.32, 0.36, 0.32, 0.3, 1.2),
        [(0.42, 0.62), (0.42, 1), (0.58, 1), (0.58, 0.62)],
    ],
    "umbrella": [
        arc(0.5, 0.5, 0.5, 0.45, 0.5, 1),
        [(0, 0.5), (1, 0.5)],
        [(0.5, 0.05), (0.5, 0.88)],
        arc(0.4, 0.88, 0.1, 0.1, 0, 0.5),
    ],
}
DISTRACTORS: dict[str, list[Line]] = {
    "arrow": [[(0, 1), (1, 0)], [(0.6, 0), (1, 0), (1, 0.4)]],
    "glasses": [
        arc(0.2, 0.5, 0.2, 0.2, 0, 1),
        arc(0.8, 0.5, 0.2, 0.2, 0, 1),
        arc(0.5, 0.5, 0.1, 0.1, 0.5, 1),
    ],
    "key": [
        arc(0.2, 0.5, 0.2, 0.2, 0, 1),
        [(0.4, 0.5), (1, 0.5), (1, 0.7)],
        [(0.8, 0.5), (0.8, 0.68)],
    ],
    "bolt": [[(0.7, 0), (0.25, 0.55), (0.6, 0.5), (0.3, 1)]],
}


def main() -> None:
    cli.load_tensorflow()
    import tensorflow as tf

    output = cli.path(FLAGS.output)
    images = drawings(FLAGS.seed, FLAGS.examples)
    for name, image in images.items():
        content = tf.io.encode_png(image[..., None]).numpy()
        files.write_bytes(output / name, content)
    print(f"drew {len(images)} images into {output}/support, query and unlabeled")


def drawings(seed: int, examples: int) -> dict[str, np.ndarray]:
    """Draws everything: file name -> [SIZE, SIZE] of uint8, dark on white."""
    random = np.random.default_rng(seed)
    images, loose = {}, {"query": [], "unlabeled": []}
    for name, lines in THINGS.items():
        for number in range(examples):
            images[f"support/{name}/{number}.png"] = draw(lines, random)
        loose["query"] += [(name, lines)] * QUERIES
        loose["unlabeled"] += [(name, lines)] * UNLABELED
    for name, lines in DISTRACTORS.items():
        loose["query"] += [(name, lines)] * STRANGERS
        loose["unlabeled"] += [(name, lines)] * UNLABELED
    for folder, todo in loose.items():
        counts: dict[str, int] = {}
        for name, lines in todo:
            number = counts[name] = counts.get(name, 0) + 1
            images[f"{folder}/{name}_{number:02}.png"] = draw(lines, random)
    return images


def draw(lines: list[Line], random: np.random.Generator) -> np.ndarray:
    """Returns one drawing by a new hand: [SIZE, SIZE]."""
    turn, slant = random.uniform(-0.15, 0.15), random.uniform(-0.15, 0.15)
    stretch = np.exp(random.uniform(-0.12, 0.12))
    hand = np.array([[np.cos(turn), np.sin(turn)], [-np.sin(turn), np.cos(turn)]])
    hand = np.array([[stretch, 0], [slant, 1 / stretch]]) @ hand
    points = [_ink(np.array(line), random) for line in lines]
    points = (np.concatenate(points) - 0.5) @ hand
    scale = SIZE * random.uniform(0.6, 0.72) / np.ptp(points, axis=0).max()
    shift = SIZE / 2 + random.uniform(-5, 5, 2)
    return _render(points * scale + shift, random.uniform(*PEN_RADIUS))


def _ink(line: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Returns points along a line [n, 2] whose corners were not quite hit: [m, 2]."""
    shaken = line + SHAKE * random.standard_normal(line.shape)
    if len(line) > 8:  # a curve: the hand strays slowly
        drift = np.linspace(0, 1, len(line))[:, None] * random.standard_normal((1, 2))
        shaken = line + SHAKE * (drift + 0.3 * random.standard_normal(line.shape))
    between = []
    for start, stop in itertools.pairwise(shaken):
        steps = 2 + int(STEPS * np.hypot(*(stop - start)))
        between.append(np.linspace(start, stop, steps))
    return np.concatenate(between)


def _render(points: np.ndarray, radius: float) -> np.ndarray:
    """Returns ink where a pen passed by: pixels [n, 2] -> [SIZE, SIZE]."""
    places = np.arange(SIZE)
    across = (places[None, :] - points[:, :1]) ** 2  # [n, SIZE]
    down = (places[None, :] - points[:, 1:]) ** 2
    square = (down[:, :, None] + across[:, None, :]).min(axis=0)  # [SIZE, SIZE]
    ink = np.clip(radius + 0.5 - np.sqrt(square), 0, 1)
    return np.rint(255 * (1 - ink)).astype(np.uint8)


if __name__ == "__main__":
    cli.run(main)
