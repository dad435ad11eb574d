"""What a prepared data set holds, in a few lines for people."""

import pathlib
from typing import Any

from prwn_tf.config import FITS
from prwn_tf.data import tree
from prwn_tf.data.store import reader
from prwn_tf.errors import UserError

MAX_HELD_OUT = 20  # names of classes that are held out


def lines(directory: pathlib.Path) -> list[str]:
    """Returns a line for each split, for the size, and for what is not as published."""
    manifest = reader.read_manifest(directory)
    try:
        unsafe = [
            *_split_lines(manifest),
            *_skipped_lines(manifest),
            *_partial_lines(manifest),
            *_uneven_lines(manifest),
        ]
        return [tree.plain(line) for line in unsafe]
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise UserError(
            f"{directory / reader.MANIFEST} is damaged ({error!r}); prepare the data "
            "again"
        ) from error


def held_out(directory: pathlib.Path) -> list[str]:
    """Returns the names of the classes that training will not see, in lines."""
    splits = reader.read_manifest(directory)["splits"]
    held = {split: list(splits[split]["classes"]) for split in ("val", "test")}
    if held["val"] == held["test"]:
        return ["held out: images of every class"]
    return [
        f"{split} classes, held out: {tree.listed(names, MAX_HELD_OUT)}"
        for split, names in held.items()
    ]


def _split_lines(manifest: dict[str, Any]) -> list[str]:
    """Returns the classes and images of each split, and the size of it all."""
    splits = manifest["splits"]
    counts = [
        f"{split}: {len(splits[split]['classes']):,} classes, "
        f"{splits[split]['images']:,} images{_smallest(splits[split]['classes'])}"
        for split in reader.SPLITS
    ]
    if reader.UNLABELED in splits:
        counts.append(f"without a class: {splits[reader.UNLABELED]['images']:,} images")
    size = sum(part["bytes"] for part in splits.values())
    shape = "x".join(map(str, manifest["image_shape"]))
    fit = manifest.get("fit", FITS[0])
    fitted = f" by --fit={fit}" * (fit != FITS[0])
    return [*counts, f"all of {shape}{fitted}, {size:,} bytes"]


def _smallest(classes: dict[str, int]) -> str:
    """Returns the smallest class, which bounds the episodes; "" if all are alike."""
    if len(set(classes.values())) < 2:
        return ""
    name = min(classes, key=classes.__getitem__)
    return f", {classes[name]:,} in the smallest ({name})"


def _skipped_lines(manifest: dict[str, Any]) -> list[str]:
    """Returns a line on what was left out, if anything was."""
    counts = manifest.get("skipped") or {}
    if not counts:
        return []
    what = ", ".join(f"{count:,} {name}" for name, count in counts.items())
    unreadable = manifest.get("unreadable") or []
    return [f"skipped: {what}{_in_brackets(unreadable)}"]


def _partial_lines(manifest: dict[str, Any]) -> list[str]:
    """Returns a line on classes that are missing, if any are."""
    if "partial" not in manifest:
        return []
    partial = manifest["partial"]
    return [
        f"partial: {partial['missing']} of {partial['of']} classes are missing"
        f"{_in_brackets(partial['classes'])}"
    ]


def _uneven_lines(manifest: dict[str, Any]) -> list[str]:
    """Returns a line on classes of another size than published, if any are."""
    if "uneven" not in manifest:
        return []
    published, classes = manifest["uneven"]["published"], manifest["uneven"]["classes"]
    counts = [f"{name} has {count}" for name, count in classes.items()]
    return [
        f"unlike the published {published} images a class, {len(classes)} classes "
        f"have others{_in_brackets(counts)}"
    ]


def _in_brackets(names: list[str]) -> str:
    """Returns the first few names in brackets, or "" if there are none."""
    return f" ({tree.listed(names)})" if names else ""
