"""mini- and tiered-ImageNet, from whatever form of them a user has.

The class of an image is its WordNet id, and its split follows from that, whatever
folder or file it lies in.
"""

import dataclasses
import pathlib
import re
from collections.abc import Mapping, Sequence
from typing import Any

from prwn_tf.data import tree
from prwn_tf.data.formats import pickles
from prwn_tf.data.raw import Import, RawClass
from prwn_tf.data.sets import imagenet_files, imagenet_pickles, wnids
from prwn_tf.data.sets.imagenet_pickles import Found
from prwn_tf.data.store.reader import SPLITS
from prwn_tf.errors import UserError

SIZE = 84
PACKED_SUFFIXES = (".pkl", ".pickle", ".npz")


@dataclasses.dataclass(frozen=True)
class Kind:
    """What is known of a data set."""

    title: str
    splits: Mapping[str, Sequence[str]]  # wnids
    accepted: str
    class_images: int | None = None  # where all classes have as many


KINDS = {
    "mini": Kind(
        "mini-ImageNet",
        wnids.mini(),
        "mini-imagenet-cache-{train,val,test}.pkl, a folder of n0153282900000005.jpg "
        "files, and class folders named by wnid",
        600,
    ),
    "tiered": Kind(
        "tiered-ImageNet",
        wnids.tiered(),
        "{train,val,test}_images_png.pkl or _images.npz with {train,val,test}_labels"
        ".pkl, and class folders named by wnid, such as ILSVRC-2012's",
    ),
}


def find(
    dataset: str,
    folder: pathlib.Path,
    *,
    scratch: pathlib.Path,
    exclude: Sequence[pathlib.Path] = (),
    size: int = SIZE,
    allow_partial: bool = False,
) -> Import:
    """What lies in a folder of mini- or tiered-ImageNet, told by content.

    Args:
        folder: of raw files, or a single pickle.
        scratch: folder for arrays that have to be unpacked.
        exclude: folders inside that belong to something else.
    """
    kind = KINDS[dataset]
    folders = list(tree.walk(folder, exclude)) if folder.is_dir() else []
    layout = imagenet_files.find(folders)
    if not _by_split(kind, layout.classes):
        packed = _packed_files(folders) if folders else [folder]
        layout = imagenet_pickles.find(dataset, packed, scratch)
    classes = _by_split(kind, layout.classes)
    if not classes:
        raise UserError(
            f"{folder} holds no class of {kind.title}; accepted are {kind.accepted}"
        )
    about = _missing(kind, folder, classes, allow_partial)
    if kind.class_images:
        about |= _uneven(kind.class_images, classes)
    other = f"classes that {kind.title} does not have"
    return Import(
        dataset=dataset,
        source=str(folder),
        found=f"{kind.title} as {layout.words}",
        size=size,
        classes=classes,
        about=about,
        skipped=layout.skipped | {other: len(layout.classes) - len(classes)},
    )


def _packed_files(folders: Sequence[tree.Folder]) -> list[pathlib.Path]:
    """The files that are, or are called, pickles and npz arrays."""
    paths = [
        pathlib.Path(folder.path, name)
        for folder in folders
        for name in folder.others[: tree.SNIFFED]
    ]
    return [
        path
        for path in paths
        if path.suffix.lower() in PACKED_SUFFIXES
        or pickles.looks_like_one(tree.beginning(path))
    ]


def _by_split(kind: Kind, found: Sequence[Found]) -> list[RawClass]:
    """The classes of the data set in the order of its lists, then those by name."""
    by_name: dict[str, Found] = {}
    for each in found:
        if each.name in by_name:
            raise UserError(
                f"class {each.name} is in {by_name[each.name].images.place(0)} and in "
                f"{each.images.place(0)}; remove one of the two"
            )
        by_name[each.name] = each
    classes = [
        RawClass(split, wnid, by_name[wnid].images)
        for split in SPLITS
        for wnid in kind.splits[split]
        if wnid in by_name
    ]
    # Ren's pickles may name classes in words; then their own split is what we have.
    named = [
        RawClass(each.split, each.name, each.images)
        for each in found
        if each.split is not None and not _is_wnid(each.name)
    ]
    return sorted(classes + named, key=lambda raw: SPLITS.index(raw.split))


def _is_wnid(name: str) -> bool:
    return re.fullmatch(r"n\d{8}", name) is not None


def _missing(
    kind: Kind, folder: pathlib.Path, classes: Sequence[RawClass], allowed: bool
) -> dict[str, Any]:
    """The classes that are missing, for the manifest; an error if not allowed."""
    found = {raw.name for raw in classes}
    total = sum(map(len, kind.splits.values()))
    number = total - len(classes)
    if number <= 0:
        return {}
    missing = [w for split in SPLITS for w in kind.splits[split] if w not in found]
    if not all(map(_is_wnid, found)):
        missing = []  # which ones, cannot be told from names in words
    if not allowed:
        named = f": {', '.join(missing[:5])}" + " ..." * (number > 5) if missing else ""
        raise UserError(
            f"{folder} lacks {number} of the {total} classes of {kind.title}{named}; "
            "complete it, or accept what is there with --allow_partial"
        )
    return {"partial": {"missing": number, "of": total, "classes": missing}}


def _uneven(expected: int, classes: Sequence[RawClass]) -> dict[str, Any]:
    """Classes that are not as large as published, for the manifest."""
    counts = {raw.name: len(raw.images) for raw in classes}
    uneven = {name: count for name, count in counts.items() if count != expected}
    if not uneven:
        return {}
    return {"uneven": {"published": expected, "classes": uneven}}
