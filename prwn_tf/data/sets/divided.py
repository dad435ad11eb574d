"""Which of anyone's own classes, or of their images, are held out for what."""

from collections import defaultdict
from collections.abc import Mapping

import numpy as np

from prwn_tf.data import tree
from prwn_tf.data.raw import MIN_IMAGES, ImageFiles, RawClass
from prwn_tf.data.store.reader import SPLITS
from prwn_tf.errors import UserError

TRAIN_SHARE = 0.6  # the rest is halved between val and test
MIN_CLASSES = 2  # of a split: to tell apart
REMEDY = "give a folder that has a folder of images for each class"


def as_given(paths_of: Mapping[str, Mapping[str, list[str]]]) -> list[RawClass]:
    """Returns the classes of splits that the user has made.

    Args:
        paths_of: split -> class -> paths of its images.
    """
    splits_of: dict[str, list[str]] = defaultdict(list)
    for split, classes in paths_of.items():
        if len(classes) < MIN_CLASSES:
            raise UserError(
                f"the {split} folder has {len(classes)} class, at least "
                f"{MIN_CLASSES} are needed to tell apart; move some there"
            )
        for name in classes:
            splits_of[name].append(split)
    twice = {name: splits for name, splits in splits_of.items() if len(splits) > 1}
    if twice:
        name, splits = next(iter(twice.items()))
        raise UserError(
            f"{len(twice)} class{'es' * (len(twice) > 1)}, such as {name!r}, are in "
            f"{' and '.join(splits)}, but held-out classes must be new; give each "
            "class to one split, or put all into one folder and use --hold_out=images"
        )
    return [
        RawClass(split, name, ImageFiles(paths))
        for split in SPLITS
        for name, paths in sorted(paths_of[split].items())
    ]


def as_listed(
    root: str, paths_of: Mapping[str, list[str]], split_of: Mapping[str, str]
) -> list[RawClass]:
    """Returns the classes that a list names, in the splits that it gives them."""
    missing = [name for name in split_of if name not in paths_of]
    if missing:
        raise UserError(
            f"{tree.shown(root)} has no folder for {len(missing)} of the "
            f"{len(split_of)} classes of --class_splits: {tree.listed(missing)}"
        )
    chosen: dict[str, dict[str, list[str]]] = {split: {} for split in SPLITS}
    for name, split in split_of.items():
        chosen[split][name] = paths_of[name]
    return as_given(chosen)


def drawn(
    root: str, paths_of: Mapping[str, list[str]], seed: int, hold_out: str
) -> list[RawClass]:
    """Returns the classes in splits that are drawn by seed."""
    if not paths_of:
        raise UserError(f"{tree.shown(root)} has no class; {REMEDY}")
    if len(paths_of) < MIN_CLASSES:
        raise UserError(
            f"{tree.shown(root)} has one class, {tree.listed(paths_of)}: there is "
            f"nothing to tell it from; {REMEDY}"
        )
    return (_split_images if hold_out == "images" else _split_classes)(paths_of, seed)


def _split_classes(paths_of: Mapping[str, list[str]], seed: int) -> list[RawClass]:
    """Returns every class in one of the splits."""
    needed = MIN_CLASSES * len(SPLITS)
    if len(paths_of) < needed:
        raise UserError(
            f"{len(paths_of)} classes are too few to hold some out for validation and "
            f"test, which takes {needed}; hold out images of every class with "
            "--hold_out=images, or give python -m prwn_tf.predict "
            "--model=photos-resnet (omniglot-prwn for drawings) a few examples of each"
        )
    names = sorted(paths_of)
    places_of = _divided(len(names), seed, MIN_CLASSES)
    return [
        RawClass(split, names[place], ImageFiles(paths_of[names[place]]))
        for split, places in places_of.items()
        for place in places
    ]


def _split_images(paths_of: Mapping[str, list[str]], seed: int) -> list[RawClass]:
    """Returns every class in all of the splits, each time with other images."""
    places_of = {
        name: _divided(len(paths_of[name]), seed, MIN_IMAGES)
        for name in sorted(paths_of)
    }
    return [
        RawClass(
            split, name, ImageFiles([paths_of[name][place] for place in places[split]])
        )
        for split in SPLITS
        for name, places in places_of.items()
    ]


def _divided(count: int, seed: int, least: int) -> dict[str, list[int]]:
    """Returns the places 0..count-1 drawn for each split, in order.

    Validation and test get at least `least` places each.
    """
    # NumPy promises that bit generators stay as they are, not `permutation`.
    bits = np.random.Philox(np.random.SeedSequence([seed, count]))
    order = np.argsort(np.random.Generator(bits).random(count), kind="stable")
    held_out = max(2 * least, count - round(TRAIN_SHARE * count))
    parts = np.split(order, [count - held_out, count - held_out + held_out // 2])
    return {
        split: sorted(part.tolist()) for split, part in zip(SPLITS, parts, strict=True)
    }
