"""What to expect of photographs of one's own, from a table that was measured.

`tools/reproduce.py own_photos` makes it: a model learns from so many classes of so many
images, from random weights or from released ones, and is then shown new classes.
"""

import math
from collections.abc import Iterable
from typing import NamedTuple

from prwn_tf import dataset_names, files, released

SHAPE = (84, 84, 3)  # of the images that were tried
MANY_CLASSES = 64  # as many as the model that was tried has learned
TRIED = "encoder of photos-conv4"  # the classifier that the released model begins with
BEST = "photos-resnet"  # of the released models, by results/photos


class Way(NamedTuple):
    """A way to a model: what it is, and how it is gone."""

    label: str
    advice: str


WAYS = {
    "frozen": Way(
        f"{TRIED}, as is", f"no training taught more: prwn predict --model={BEST}"
    ),
    "further": Way("the same, trained further", "add --flagfile=photos/finetune.flags"),
    "scratch": Way("random weights, trained", "train from random weights"),
}


class Row(NamedTuple):
    """One line of the table: a way to a model, what it learned from, what it can."""

    way: str
    classes: int  # 0: it learned from none
    images: int  # of each class
    shot: int
    accuracy: float  # % right, of five new classes
    interval: float

    def surpasses(self, other: "Row") -> bool:
        """Returns whether it is better than another by more than chance."""
        apart = self.accuracy - other.accuracy
        return apart > math.hypot(self.interval, other.interval)


def concerns(dataset: str, image_shape: tuple[int, ...]) -> bool:
    """Returns whether the images of a data set may be such photographs."""
    own = dataset_names.kind(dataset) in ("folder", "tfds")
    return own and tuple(image_shape) == SHAPE


def lines(classes: int, images: int) -> list[str]:
    """Returns what was measured with about so many classes and images of each.

    Nothing was while the table is being made.
    """
    if not released.own_photos().exists():
        return []
    rows = nearest(_table(), classes, images)
    size = next(f"{row.classes} classes of {row.images}" for row in rows if row.classes)
    shots = sorted({row.shot for row in rows})
    by_way = {(row.way, row.shot): row for row in rows}
    ways = [name for name in WAYS if (name, shots[-1]) in by_way]
    best = "frozen"  # unless training is seen to add something
    for name in ways:
        if by_way[name, shots[-1]].surpasses(by_way[best, shots[-1]]):
            best = name
    return [
        f"photographs, by results/own_photos: {size} images taught this of",
        f"five new classes, {' and '.join(map(str, shots))} examples of each:",
        *(
            f"  {WAYS[name].label:30}"
            + " and".join(f"{by_way[name, shot].accuracy:3.0f} %" for shot in shots)
            for name in ways
        ),
        f"so: {WAYS[best].advice}",
    ]


def nearest(table: Iterable[Row], classes: int, images: int) -> list[Row]:
    """Returns the rows of the nearest size, and those that depend on none."""
    table = list(table)
    sizes = {(row.classes, row.images) for row in table if row.classes}

    def away(size: tuple[int, int]) -> float:
        wanted = (max(1, classes), max(1, images))
        return sum(
            abs(math.log(there / here))
            for there, here in zip(size, wanted, strict=True)
        )

    best = min(sizes, key=away)
    return [row for row in table if (row.classes, row.images) in (best, (0, 0))]


def _table() -> list[Row]:
    """Returns the released table."""
    header, *rows = files.read_csv(released.own_photos())
    named = [dict(zip(header, row, strict=True)) for row in rows]
    return [
        Row(
            way=row["way"],
            classes=int(row["classes"] or 0),
            images=int(row["images"] or 0),
            shot=int(row["shot"]),
            accuracy=float(row["accuracy"]),
            interval=float(row["interval"]),
        )
        for row in named
    ]
