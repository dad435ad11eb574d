"""mini- and tiered-ImageNet as Ren et al. (2018) packed them: pickles and arrays."""

import pathlib
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from prwn_tf.data import tree
from prwn_tf.data.formats import npz, pickled_fields, pickles
from prwn_tf.data.formats.lazy_array import LazyArray
from prwn_tf.data.raw import EncodedRows, Images, PixelRows
from prwn_tf.data.sets import wnids
from prwn_tf.data.sets.imagenet_layout import Layout, SourceClass
from prwn_tf.data.store.reader import SPLITS
from prwn_tf.errors import UserError


def read(dataset: str, paths: Sequence[pathlib.Path], scratch: pathlib.Path) -> Layout:
    """Returns the classes in pickles and npz arrays.

    Args:
        dataset: "mini" or "tiered".
        paths: files that may be of it.
        scratch: folder for arrays that have to be unpacked.
    """
    arrays = [path for path in paths if path.suffix.lower() == ".npz"]
    roots = {path: pickles.load(path) for path in paths if path not in arrays}
    if dataset == "mini":
        used, classes = _mini_caches(roots)
        words = "pickles of pixels"
    else:
        used, classes = _tiered_pairs(roots, arrays, scratch)
        words = "pickles of PNG images"
        if any(path in arrays for path in used):
            words = "arrays of pixels, blue first"
    skipped = {"other pickles and arrays": len(paths) - len(used)}
    names = ", ".join(tree.shown(path.name) for path in used)
    return Layout(f"{words}: {names}", classes, skipped)


# --- mini


def _mini_caches(
    roots: Mapping[pathlib.Path, Any],
) -> tuple[list[pathlib.Path], list[SourceClass]]:
    """Returns the pickles that are of mini-ImageNet, and their classes.

    Args:
        roots: path -> what the pickle holds.
    """
    used = [
        path
        for path, root in roots.items()
        if any(
            pickled_fields.has_field(root, key) for key in ("image_data", "class_dict")
        )
    ]
    if roots and not used:
        path, root = next(iter(roots.items()))
        raise UserError(
            f"{path} has no keys 'image_data' and 'class_dict', found "
            f"{pickled_fields.keys(root)}; get mini-imagenet-cache-train.pkl and its "
            "like"
        )
    return used, [each for path in used for each in _mini_cache(path, roots[path])]


def _mini_cache(path: pathlib.Path, root: Any) -> list[SourceClass]:
    """Returns the classes of a pickle of mini-ImageNet.

    It is a dictionary of `image_data` [n, height, width, 3] and `class_dict`, which
    leads from a class to its rows.
    """
    pixels = pickled_fields.field(path, root, "image_data")
    pickled_fields.check_pixels(path, "image_data", pixels)
    rows_of = pickled_fields.field(path, root, "class_dict")
    if not isinstance(rows_of, Mapping):
        raise UserError(
            f"{path}: 'class_dict' should be a dictionary of classes, found "
            f"{pickled_fields.kind(rows_of)}"
        )
    return [
        SourceClass(
            pickled_fields.text(name),
            PixelRows(path.name, pixels, _rows(path, name, rows, len(pixels))),
        )
        for name, rows in rows_of.items()
    ]


def _rows(path: pathlib.Path, name: Any, value: Any, images: int) -> list[int]:
    """Returns the rows of a class, or raises if they are not rows of the images."""
    key = f"class_dict[{pickled_fields.text(name)}]"
    if isinstance(value, range):
        value = list(value[: images + 1])
    rows = pickled_fields.integers(path, key, value)
    outside = rows[(rows < 0) | (rows >= images)]
    if len(outside):
        raise UserError(
            f"{path}: {key!r} has row {outside[0]}, but 'image_data' has {images} "
            "images"
        )
    if len(np.unique(rows)) != len(rows):
        raise UserError(f"{path}: {key!r} has a row twice")
    return rows.tolist()


# --- tiered


def _tiered_pairs(
    roots: Mapping[pathlib.Path, Any],
    arrays: Sequence[pathlib.Path],
    scratch: pathlib.Path,
) -> tuple[list[pathlib.Path], list[SourceClass]]:
    """Returns the files that are of tiered-ImageNet, and their classes.

    Images and labels belong together by the split in their names.

    Args:
        roots: path -> what the pickle holds.
        arrays: npz files.
        scratch: folder for arrays that have to be unpacked.
    """
    labels, images = {}, {}
    for path, root in roots.items():
        if (items := _encoded_images(path, root)) is not None:
            images[_split_of(path)] = (path, items)
        elif pickled_fields.has_field(root, "label_specific"):
            labels[_split_of(path)] = (path, root)
    for path in arrays:
        # Ren's program unpacks its own PNGs to an npz beside them.
        if (split := _split_of(path)) not in images:
            pixels = npz.load(path, "images", scratch)
            pickled_fields.check_pixels(path, "images", pixels)
            images[split] = (path, pixels)
    if not images and (roots or arrays):
        raise UserError(
            f"{next(iter(roots or arrays))} and its like hold no images of "
            "tiered-ImageNet; get train_images_png.pkl or train_images.npz and its like"
        )
    used, classes = [], []
    for split, (path, content) in images.items():
        if split not in labels:
            raise UserError(
                f"{path} was given without its labels; give --source a folder with it "
                f"and {split}_labels.pkl, a pickle with the keys 'label_specific' and "
                "'label_specific_str'"
            )
        used += [path, labels[split][0]]
        classes += _tiered_split(split, path, content, *labels[split])
    return used, classes


def _encoded_images(path: pathlib.Path, root: Any) -> Sequence[LazyArray] | None:
    """Returns arrays that are each the bytes of a PNG file, or None for other pickles.

    Raises:
        UserError: it is a list, but not of such arrays.
    """
    items = root.objects if isinstance(root, LazyArray) else root
    if not isinstance(items, list) or not items:
        return None
    for index, item in enumerate(items):
        flat = isinstance(item, LazyArray) and item.dtype == np.uint8
        if not flat or max(item.shape, default=0) != np.prod(item.shape):
            raise UserError(
                f"{path}: image {index} should be an array of the bytes of a PNG file, "
                f"found {pickled_fields.kind(item)}"
            )
    return items


def _tiered_split(
    split: str,
    path: pathlib.Path,
    images: LazyArray | Sequence[LazyArray],
    labels_path: pathlib.Path,
    labels: Any,
) -> list[SourceClass]:
    """Returns the classes of a split, from its images and its labels."""
    numbers = pickled_fields.integers(
        labels_path,
        "label_specific",
        pickled_fields.field(labels_path, labels, "label_specific"),
    )
    names = pickled_fields.names(
        labels_path,
        "label_specific_str",
        pickled_fields.field(labels_path, labels, "label_specific_str"),
    )
    _check_labels(path, len(images), labels_path, numbers, len(names))
    names = _as_wnids(path.parent, names, split)
    order = np.argsort(numbers, kind="stable")
    starts = np.searchsorted(numbers[order], np.arange(len(names) + 1))
    return [
        SourceClass(
            name, _tiered_images(path, images, order[first:last].tolist()), split
        )
        for name, first, last in zip(names, starts[:-1], starts[1:], strict=True)
        if last > first
    ]


def _tiered_images(
    path: pathlib.Path, images: LazyArray | Sequence[LazyArray], rows: list[int]
) -> Images:
    """Returns the images of a class, given by their rows."""
    if isinstance(images, LazyArray):
        # The npz is what OpenCV made of the PNGs, and that is blue first.
        return PixelRows(path.name, images, rows, bgr=True)
    return EncodedRows(path.name, images, rows)


def _check_labels(
    path: pathlib.Path,
    images: int,
    labels_path: pathlib.Path,
    numbers: np.ndarray,
    names: int,
) -> None:
    """Raises unless there is a label for each image, and a name for each label."""
    if len(numbers) != images:
        raise UserError(
            f"{path} has {images:,} images but {labels_path.name} has {len(numbers):,} "
            "labels; they do not belong together, get both again"
        )
    outside = np.flatnonzero((numbers < 0) | (numbers >= names))
    if len(outside):
        raise UserError(
            f"{labels_path}: image {outside[0]} has label {numbers[outside[0]]}, but "
            f"'label_specific_str' names {names} classes; get it again"
        )


def _as_wnids(folder: pathlib.Path, names: list[str], split: str) -> list[str]:
    """Returns class names as wnids, where Ren's lists of both lie beside the pickles.

    Some names are those of two classes of ImageNet, but of one of the split at most.
    """
    try:
        words, ids = (
            (folder / name).read_text(encoding="utf-8").splitlines()
            for name in ("class_names.txt", "synsets.txt")
        )
    except (OSError, ValueError):
        return names
    known = set(wnids.tiered()[split])
    both = zip(map(str.strip, words), map(str.strip, ids), strict=False)
    wnid_of = {word: wnid for word, wnid in both if wnid in known}
    return [wnid_of.get(name.strip(), name) for name in names]


def _split_of(path: pathlib.Path) -> str:
    """Returns the split that the name of a file says, or raises if it says none."""
    words = re.split(r"[^a-z]+", path.name.lower())
    for split in SPLITS:
        if split in words:
            return split
    raise UserError(
        f"{path} should have train, val or test in its name, as in train_labels.pkl; "
        "rename it"
    )
