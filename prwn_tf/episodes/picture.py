"""Pictures of an episode: what a model learns from and is asked, and what it draws.

A row for each class: support framed green, queries blue, unlabelled images gray. Below
them the distractor classes, framed red, and images of no class, framed yellow; then a
legend. A mini-batch is as many rows as columns. Images that a model has drawn stand
beside real ones, framed purple.
"""

import math
from collections.abc import Sequence

import numpy as np

from prwn_tf.config import EpisodeSpec
from prwn_tf.episodes.pipeline import Episode
from prwn_tf.images import lettering
from prwn_tf.spec import BatchSpec

MIN_PIXELS = 56  # pixels of an image in the picture
FRAME = 3
LEGEND_DOTS = 170  # of a letter, along the picture
HALF, MAX_ROWS = 6, 10  # columns of either kind beside drawn images, and rows
GREEN, BLUE, GRAY, RED, YELLOW, PURPLE = (
    (40, 160, 60),
    (40, 90, 220),
    (150, 150, 150),
    (220, 40, 40),
    (235, 190, 20),
    (150, 60, 200),
)


def picture(episode: Episode, spec: EpisodeSpec | BatchSpec) -> np.ndarray:
    """Returns the images of an episode, uint8, as one: [height, width, 3]."""
    if isinstance(spec, BatchSpec):
        images = _framed(np.asarray(episode.query)[:, 0], BLUE)
        return _stacked(_rows(images, columns=math.ceil(math.sqrt(spec.batch_size))))
    support, query, points = (np.asarray(part) for part in episode.images)
    by_class = [
        points[start : start + spec.unlabeled]
        for start in range(0, spec.class_points, max(1, spec.unlabeled))
    ]
    by_class += [points[:0]] * (spec.classes - len(by_class))
    rows = [
        [*_framed(support[n], GREEN), *_framed(query[n], BLUE), *_framed(own, GRAY)]
        for n, own in enumerate(by_class[: spec.way])
    ]
    columns = len(rows[0])
    known = [_blank(rows[0][0])] * (spec.shot + spec.query)
    rows += [[*known, *_framed(own, RED)] for own in by_class[spec.way :]]
    extra = _framed(points[spec.class_points :], YELLOW)
    return _with_legend(_stacked([*rows, *_rows(extra, columns)]), spec)


def beside_drawn(episode: Episode, drawn: np.ndarray) -> np.ndarray:
    """Returns support and unlabelled images, uint8, and drawn ones: [height, width, 3].

    Args:
        drawn: [n, H, W, C], numbers in [0, 1].
    """
    support, _, points = (np.asarray(part) for part in episode.images)
    support = support.reshape(-1, *support.shape[2:])
    made = _framed(np.uint8(np.rint(255 * np.asarray(drawn))), PURPLE)
    count = HALF * min(MAX_ROWS, math.ceil(len(made) / HALF))
    blanks = [_blank(made[0])] * count
    real = [*_framed(support, GREEN), *_framed(points, GRAY), *blanks][:count]
    made = [*made, *blanks][:count]
    halves = zip(_rows(real, HALF), _rows(made, HALF), strict=True)
    return _stacked([[*left, *right] for left, right in halves])


def _rows(images: Sequence[np.ndarray], columns: int) -> list[Sequence[np.ndarray]]:
    """Returns images row by row; the last row may be shorter."""
    return [images[start : start + columns] for start in range(0, len(images), columns)]


def _stacked(rows: Sequence[Sequence[np.ndarray]]) -> np.ndarray:
    """Returns rows of images as one image; what a row lacks of the first is blank."""
    blank, columns = _blank(rows[0][0]), len(rows[0])
    return np.vstack(
        [np.hstack([*row, *[blank] * (columns - len(row))]) for row in rows]
    )


def _with_legend(images: np.ndarray, spec: EpisodeSpec) -> np.ndarray:
    """Returns images above what their colours mean, of those that are there."""
    meanings = [
        ("labelled", GREEN, spec.shot),
        ("to label", BLUE, spec.query),
        ("unlabelled", GRAY, spec.unlabeled),
        ("distractor", RED, spec.unlabeled * spec.distractors),
        ("of no class", YELLOW, spec.extra),
    ]
    shown = [(text, color) for text, color, count in meanings if count]
    # TensorBoard shrinks pictures, by their longer side.
    scale = max(lettering.SCALE, max(images.shape[:2]) // LEGEND_DOTS)
    high = lettering.DOTS * scale
    longest = max(lettering.lettered(text, scale).shape[1] for text, _ in shown)
    width = max(images.shape[1], 2 * high + longest)
    lines = []
    for text, color in shown:
        line = np.full((2 * high, width, 3), 255, np.uint8)
        line[high // 2 : -high // 2, FRAME : FRAME + high] = color
        lettering.write(line, text, high // 2, 2 * high, scale)
        lines.append(line)
    beside = [(0, 0), (0, width - images.shape[1]), (0, 0)]
    return np.vstack([np.pad(images, beside, constant_values=255), *lines])


def _blank(image: np.ndarray) -> np.ndarray:
    return np.full_like(image, 255)


def _framed(images: np.ndarray, color: tuple[int, int, int]) -> list[np.ndarray]:
    """Returns images [n, H, W, 1 or 3], enlarged if small, with a frame around."""
    scale = -(-MIN_PIXELS // images.shape[1])
    large = images.repeat(scale, axis=1).repeat(scale, axis=2)
    large = np.broadcast_to(large, [*large.shape[:3], 3])
    count, height, width, _ = large.shape
    framed = np.full((count, height + 4 * FRAME, width + 4 * FRAME, 3), 255, np.uint8)
    framed[:, FRAME:-FRAME, FRAME:-FRAME] = color
    framed[:, 2 * FRAME : -2 * FRAME, 2 * FRAME : -2 * FRAME] = large
    return list(framed)
