"""The manifest of a prepared data set, read as a stranger's file: all of it checked."""

import pathlib
from collections.abc import Iterable
from typing import Any

from prwn_tf import files
from prwn_tf.errors import UserError

FILE = "manifest.json"
FORMAT = 1
SPLITS = ("train", "val", "test")
UNLABELED = "unlabeled"  # beside the splits; its only class has the same name
DTYPES = ("uint8", "float32")  # of a pixel, of a coordinate
MOST = 2**48  # of any number, so that products of a few fit in 64 bits


def read(directory: pathlib.Path) -> dict[str, Any]:
    """What the manifest in a folder says, if it is whole."""
    path = directory / FILE
    remedy = f"delete {directory} and prepare the data again"
    try:
        content = files.read_json(path)
    except UserError as error:
        raise UserError(f"{error}; {remedy}") from error
    found = content.get("format") if isinstance(content, dict) else None
    if found != FORMAT:
        raise UserError(
            f"{path} has format {found!r}, this version reads {FORMAT}; {remedy}"
        )
    try:
        _check(content)
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise UserError(f"{path} is damaged ({error!r}); {remedy}") from error
    return content


def is_dataset(directory: str | pathlib.Path) -> bool:
    """Whether a folder's manifest is that of a prepared data set, at first sight."""
    try:
        content = files.read_json(pathlib.Path(directory, FILE))
    except UserError:
        return False
    return isinstance(content, dict) and content.keys() >= {"image_shape", "splits"}


def _check(content: dict[str, Any]) -> None:
    height, width, channels = content["image_shape"]
    _check_numbers([height, width, channels], least=1)
    if content.get("dtype", "uint8") not in DTYPES:
        raise ValueError(f"dtype {content['dtype']!r}")
    for split in SPLITS:
        content["splits"][split]  # missing ones are a KeyError
    for split, part in content["splits"].items():
        if split not in (*SPLITS, UNLABELED):
            raise ValueError(f"split {split!r}")
        if not all(map(is_text, [part["sha256"], *part["classes"]])):
            raise ValueError("text that is none")
        _check_numbers([part["bytes"], part["images"], *part["classes"].values()])


def is_text(value: Any) -> bool:
    """Whether it can be printed; JSON can hold halves of characters."""
    return isinstance(value, str) and not any("\ud800" <= c <= "\udfff" for c in value)


def _check_numbers(numbers: Iterable[Any], least: int = 0) -> None:
    for number in numbers:
        if type(number) is not int or not least <= number < MOST:
            raise ValueError(f"number {number!r}")
