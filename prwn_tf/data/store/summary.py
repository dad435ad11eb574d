"""What a prepared data set holds, in a few lines for people."""

import pathlib
from typing import Any

from prwn_tf.data import tree
from prwn_tf.data.store import reader
from prwn_tf.errors import UserError

NAMED = 5


def lines(directory: pathlib.Path) -> list[str]:
    """Splits, size, and what was left out or is unlike the published data set."""
    manifest = reader.read_manifest(directory)
    try:
        found = [
            *_splits(manifest),
            *_skipped(manifest),
            *_partial(manifest),
            *_uneven(manifest),
        ]
        return [tree.plain(line) for line in found]
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise UserError(
            f"{directory / reader.MANIFEST} is damaged ({error!r}); prepare the data "
            "again"
        ) from error


def _splits(manifest: dict[str, Any]) -> list[str]:
    splits = manifest["splits"]
    found = [
        f"{split}: {len(splits[split]['classes']):,} classes, "
        f"{splits[split]['images']:,} images{_smallest(splits[split]['classes'])}"
        for split in reader.SPLITS
    ]
    if reader.UNLABELED in splits:
        found.append(f"without a class: {splits[reader.UNLABELED]['images']:,} images")
    size = sum(part["bytes"] for part in splits.values())
    shape = "x".join(map(str, manifest["image_shape"]))
    return [*found, f"all of {shape}, {size:,} bytes"]


def _smallest(classes: dict[str, int]) -> str:
    """The class that bounds the episodes, if some are smaller than others."""
    if len(set(classes.values())) < 2:
        return ""
    name = min(classes, key=classes.__getitem__)
    return f", {classes[name]:,} in the smallest ({name})"


def _skipped(manifest: dict[str, Any]) -> list[str]:
    counts = manifest.get("skipped") or {}
    if not counts:
        return []
    what = ", ".join(f"{count:,} {name}" for name, count in counts.items())
    unreadable = manifest.get("unreadable") or []
    return [f"skipped: {what}{_some(unreadable)}"]


def _partial(manifest: dict[str, Any]) -> list[str]:
    if "partial" not in manifest:
        return []
    partial = manifest["partial"]
    return [
        f"partial: {partial['missing']} of {partial['of']} classes are missing"
        f"{_some(partial['classes'])}"
    ]


def _uneven(manifest: dict[str, Any]) -> list[str]:
    if "uneven" not in manifest:
        return []
    published, classes = manifest["uneven"]["published"], manifest["uneven"]["classes"]
    counts = [f"{name} has {count}" for name, count in classes.items()]
    return [
        f"unlike the published {published} images a class, {len(classes)} classes "
        f"have others{_some(counts)}"
    ]


def _some(names: list[str]) -> str:
    if not names:
        return ""
    return f" ({', '.join(names[:NAMED])}{', ...' * (len(names) > NAMED)})"
