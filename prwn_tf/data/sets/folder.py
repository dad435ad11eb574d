"""Anyone's own images: a folder for each class, and nothing else to write.

    pictures/cat/1.jpg, pictures/dog/1.jpg ...             classes are split by seed
    pictures/train/cat/1.jpg, pictures/val/dog/1.jpg ...   classes are split as given

Few-shot learning is tested on classes that training has not seen, so it is classes
that are held out, and not images, unless there are too few of them.
"""

import itertools
from collections.abc import Mapping, Sequence

from prwn_tf.data import tree
from prwn_tf.data.raw import MIN_IMAGES, ImageFiles, Import, RawClass
from prwn_tf.data.sets import class_folders, divided
from prwn_tf.data.sets.class_folders import ClassFolders
from prwn_tf.data.sets.divided import REMEDY
from prwn_tf.data.store.reader import SPLITS
from prwn_tf.data.tree import Tree
from prwn_tf.errors import UserError
from prwn_tf.images import formats

SIZE = 84
HOLD_OUT = ("classes", "images")


def describe(
    source: Tree,
    *,
    size: int = SIZE,
    seed: int | None = None,
    hold_out: str = "classes",
    split_of: Mapping[str, str] | None = None,
    paths_of: Mapping[str, list[str]] | None = None,
) -> Import:
    """Returns the classes of a folder tree that are large enough, and their splits.

    Args:
        size: height and width of the images to be made.
        seed: draws the classes or images that are held out; 0 if it is not given.
        hold_out: "classes", or "images" to have every class in all splits.
        split_of: the split of each class that is used, instead of a draw.
        paths_of: the images of each class, where it is not folders that tell.
    """
    if paths_of is None and not source.image_count:
        raise UserError(f"{source.root} holds no {formats.NAMES} images; {REMEDY}")
    least = MIN_IMAGES * (len(SPLITS) if hold_out == "images" else 1)
    if paths_of is None:
        by_split = class_folders.by_split(source, least)
    else:
        by_split = {"": class_folders.by_table(source, paths_of, least)}
    notes = [note for each in by_split.values() for note in each.notes()]
    try:
        classes = _divided(source, by_split, seed, hold_out, split_of)
    except UserError as error:
        raise UserError("; ".join([error.with_flags, *notes])) from error
    drawn = "" in by_split and split_of is None
    return Import(
        dataset="folder",
        source=str(source.root),
        layout=f"own images in {_words(by_split, split_of)}"
        + ", labelled by a table" * (paths_of is not None),
        size=size,
        classes=classes,
        about={"held_out": hold_out, "seed": seed or 0} if drawn else {},
        skipped=_skipped(source, by_split, classes, paths_of),
        notes=notes,
    )


def _divided(
    source: Tree,
    by_split: Mapping[str, ClassFolders],
    seed: int | None,
    hold_out: str,
    split_of: Mapping[str, str] | None,
) -> list[RawClass]:
    """Returns all classes in their splits: given, listed or drawn.

    Raises if something was asked for that decides nothing then.
    """
    draws = {"--hold_out=images": hold_out == "images", "--seed": seed is not None}
    if "" not in by_split:
        for flag, asked in {"--class_splits": split_of is not None, **draws}.items():
            if asked:
                raise UserError(
                    f"{source.root} has train, val and test folders, which {flag} does "
                    "not use; leave it out, or put all classes into one folder"
                )
        given = {split: classes.paths_of for split, classes in by_split.items()}
        return divided.as_given(given)
    root, paths_of = by_split[""].root, by_split[""].paths_of
    if split_of is None:
        return divided.drawn(root, paths_of, seed or 0, hold_out)
    for flag, asked in draws.items():
        if asked:
            raise UserError(
                f"{flag} has no effect with --class_splits, which names the split of "
                "each class; leave one of them out"
            )
    return divided.as_listed(root, paths_of, split_of)


def _skipped(
    source: Tree,
    by_split: Mapping[str, ClassFolders],
    classes: Sequence[RawClass],
    paths_of: Mapping[str, list[str]] | None,
) -> dict[str, int]:
    """Returns what of a tree is in no class, in words -> how many."""
    small = sum(count for each in by_split.values() for count in each.small.values())
    if paths_of is None:
        used = sum(len(raw.images) for raw in classes)
        untold = {"images outside of class folders": source.image_count - used - small}
    else:
        # A table may name files that the tree has not.
        rest = source.without(itertools.chain(*paths_of.values()))
        labeled = sum(map(len, paths_of.values()))
        used = sum(len(raw.images) for raw in classes)
        untold = {
            "images without a label": rest.image_count,
            "images of classes that the list does not name": labeled - used - small,
        }
    return {
        tree.NOT_IMAGES: source.other_count,
        **untold,
        "images of classes that are too small": small,
    }


def _words(
    by_split: Mapping[str, ClassFolders], split_of: Mapping[str, str] | None
) -> str:
    """Returns how the classes lie in their folders, in words."""
    if "" not in by_split:
        return "class folders under train, val and test"
    return "class folders" + ", split by a list" * (split_of is not None)


def unlabeled_images(source: Tree) -> ImageFiles:
    """Returns all images of a tree, in whatever folders they lie."""
    paths = [path for folder in source.folders for path in folder.image_paths()]
    if not paths:
        raise UserError(
            f"--unlabeled_source={source.root} holds no images that are not in "
            "--source or --labels as well; give a folder that does"
        )
    return ImageFiles(paths)
