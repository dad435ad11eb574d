"""mini- and tiered-ImageNet, from whatever form of them a user has.

The class of an image is its WordNet id, and its split follows from that, whatever
folder or file it lies in.
"""

import dataclasses
import pathlib
import re
from collections.abc import Mapping, Sequence
from typing import Any

from prwn_tf.data import sources, tree
from prwn_tf.data.formats import pickles
from prwn_tf.data.raw import Import, RawClass
from prwn_tf.data.sets import imagenet_files, imagenet_pickles, wnids
from prwn_tf.data.sets.imagenet_layout import SourceClass
from prwn_tf.data.store.reader import SPLITS
from prwn_tf.data.tree import Tree
from prwn_tf.errors import UserError

SIZE = 84


@dataclasses.dataclass(frozen=True)
class Published:
    """What is published of a data set."""

    title: str
    splits: Mapping[str, Sequence[str]]  # wnids
    accepted: str
    images_per_class: int | None = None  # where all classes have as many


PUBLISHED = {
    "mini": Published(
        "mini-ImageNet",
        wnids.mini(),
        "mini-imagenet-cache-{train,val,test}.pkl, a folder of n0153282900000005.jpg "
        "files, and class folders named by wnid",
        600,
    ),
    "tiered": Published(
        "tiered-ImageNet",
        wnids.tiered(),
        "{train,val,test}_images_png.pkl or _images.npz with {train,val,test}_labels"
        ".pkl, and class folders named by wnid, such as ILSVRC-2012's",
    ),
}


def describe(
    dataset: str,
    source: Tree,
    *,
    scratch: pathlib.Path,
    size: int = SIZE,
    allow_partial: bool = False,
) -> Import:
    """Returns the classes of mini- or tiered-ImageNet in a source, told by content.

    Args:
        dataset: "mini" or "tiered".
        source: a tree of raw files, or a single pickle.
        scratch: folder for arrays that have to be unpacked.
        size: height and width of the images to be made.
        allow_partial: whether classes may be missing.
    """
    published = PUBLISHED[dataset]
    layout = imagenet_files.read(source)
    if not _by_split(published, layout.classes):
        layout = imagenet_pickles.read(dataset, _packed_files(source), scratch)
    classes = _by_split(published, layout.classes)
    if not classes:
        raise UserError(
            f"{source.root} holds no class of {published.title}; accepted are "
            f"{published.accepted}"
        )
    about = _missing_classes(published, source.root, classes, allow_partial)
    if published.images_per_class:
        about |= _uneven_classes(published.images_per_class, classes)
    other = f"classes that {published.title} does not have"
    return Import(
        dataset=dataset,
        source=str(source.root),
        layout=f"{published.title} as {layout.words}",
        size=size,
        classes=classes,
        about=about,
        skipped=layout.skipped | {other: len(layout.classes) - len(classes)},
    )


def _packed_files(source: Tree) -> list[pathlib.Path]:
    """Returns the files that are, or are called, pickles and npz arrays."""
    paths = [
        path
        for folder in source.folders
        for path in folder.other_paths()[: tree.MAX_SNIFFED]
    ]
    return [
        path
        for path in paths
        if path.suffix.lower() in sources.PACKED_SUFFIXES
        or pickles.looks_like_one(tree.beginning(path))
    ]


def _by_split(published: Published, classes: Sequence[SourceClass]) -> list[RawClass]:
    """Returns the classes that are published, in the order of the published lists.

    Classes that are named in words follow, in the split that their file names.
    """
    by_name: dict[str, SourceClass] = {}
    for each in classes:
        if each.name in by_name:
            raise UserError(
                f"class {each.name} is in {by_name[each.name].images.place(0)} and in "
                f"{each.images.place(0)}; remove one of the two"
            )
        by_name[each.name] = each
    by_wnid = [
        RawClass(split, wnid, by_name[wnid].images)
        for split in SPLITS
        for wnid in published.splits[split]
        if wnid in by_name
    ]
    # Ren's pickles may name classes in words; then their own split is what we have.
    in_words = [
        RawClass(each.split, each.name, each.images)
        for each in classes
        if each.split is not None and not _is_wnid(each.name)
    ]
    return sorted(by_wnid + in_words, key=lambda raw: SPLITS.index(raw.split))


def _is_wnid(name: str) -> bool:
    """Returns whether a class is named by its WordNet id."""
    return re.fullmatch(r"n\d{8}", name) is not None


def _missing_classes(
    published: Published,
    root: pathlib.Path,
    classes: Sequence[RawClass],
    allow_partial: bool,
) -> dict[str, Any]:
    """Returns an entry of the manifest on classes that are missing, if any are.

    Raises:
        UserError: some are missing, and it is not allowed.
    """
    names = {raw.name for raw in classes}
    total = sum(map(len, published.splits.values()))
    number = total - len(classes)
    if number <= 0:
        return {}
    missing = [
        wnid
        for split in SPLITS
        for wnid in published.splits[split]
        if wnid not in names
    ]
    if not all(map(_is_wnid, names)):
        missing = []  # which ones, cannot be told from names in words
    if not allow_partial:
        which = f": {tree.listed(missing)}" if missing else ""
        raise UserError(
            f"{root} lacks {number} of the {total} classes of {published.title}"
            f"{which}; complete it, or accept what is there with --allow_partial"
        )
    return {"partial": {"missing": number, "of": total, "classes": missing}}


def _uneven_classes(expected: int, classes: Sequence[RawClass]) -> dict[str, Any]:
    """Returns an entry of the manifest on classes of another size than published."""
    counts = {raw.name: len(raw.images) for raw in classes}
    uneven = {name: count for name, count in counts.items() if count != expected}
    if not uneven:
        return {}
    return {"uneven": {"published": expected, "classes": uneven}}
