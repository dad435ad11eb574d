"""Folders of photographs as a user would have them, of mini-ImageNet's images.

The classes are those that `photos-conv4` has not learned: mini-ImageNet's validation
classes and some of its test classes to train on, other test classes to validate and to
test on. Where more are asked for than there are, those that it has learned are trained
on.
"""

import pathlib
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np

from prwn_tf.data.store.reader import ClassStore

NEW = 20  # classes to train on that the released model has not learned
VALIDATION, TEST = 6, 10  # classes
HELD_OUT_IMAGES = 60  # of each of those


class Size(NamedTuple):
    """How much there is to train on."""

    classes: int
    images: int  # of each class

    @property
    def name(self) -> str:
        return f"c{self.classes}_n{self.images}"


class Album(NamedTuple):
    """Some images of one class: where they are, and where they belong."""

    store: ClassStore
    class_index: int
    split: str
    images: int


def write(stores: Mapping[str, ClassStore], size: Size, folder: pathlib.Path) -> None:
    """Writes train/, val/ and test/, with a folder of PNG files for each class."""
    import tensorflow as tf

    for album in albums(stores, size):
        place = folder / album.split / album.store.names[album.class_index]
        place.mkdir(parents=True, exist_ok=True)
        chance = np.random.default_rng([0, album.class_index])
        rows = chance.permutation(album.store.rows(album.class_index))[: album.images]
        for number, image in enumerate(album.store.read(rows)):
            content = tf.io.encode_png(image).numpy()
            (place / f"{number:03}.png").write_bytes(content)


def albums(stores: Mapping[str, ClassStore], size: Size) -> Iterator[Album]:
    """Yields the classes of each split. A smaller set is part of a larger one."""
    new = [("val", index) for index in range(len(stores["val"].names))]
    new += [("test", index) for index in range(len(stores["test"].names))]
    learned = [("train", index) for index in range(len(stores["train"].names))]
    train = (new[:NEW] if size.classes <= NEW else learned)[: size.classes]
    held_out = new[NEW:]
    parts = {
        "train": (train, size.images),
        "val": (held_out[:VALIDATION], HELD_OUT_IMAGES),
        "test": (held_out[VALIDATION : VALIDATION + TEST], HELD_OUT_IMAGES),
    }
    for split, (classes, images) in parts.items():
        for source, index in classes:
            yield Album(stores[source], index, split, images)
