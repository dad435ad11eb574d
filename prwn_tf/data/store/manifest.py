"""The manifest of a prepared data set, which is read as a stranger's file."""

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
NUMBER_LIMIT = 2**48  # of any number, so that products of a few fit in 64 bits


def read(directory: pathlib.Path) -> dict[str, Any]:
    """Returns the manifest in a folder, or raises if any of it is wrong."""
    path = directory / FILE
    remedy = f"delete {directory} and prepare the data again"
    try:
        content = files.read_json(path)
    except UserError as error:
        raise UserError(f"{error}; {remedy}") from error
    version = content.get("format") if isinstance(content, dict) else None
    if version != FORMAT:
        raise UserError(
            f"{path} has format {version!r}, this version reads {FORMAT}; {remedy}"
        )
    try:
        _check(content)
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise UserError(f"{path} is damaged ({error!r}); {remedy}") from error
    return content


def is_dataset(directory: str | pathlib.Path) -> bool:
    """Returns whether a folder has a manifest like that of a data set.

    Only its main entries are looked at.
    """
    try:
        content = files.read_json(pathlib.Path(directory, FILE))
    except UserError:
        return False
    return isinstance(content, dict) and content.keys() >= {"image_shape", "splits"}


def _check(content: dict[str, Any]) -> None:
    """Raises an error of any of several types if an entry is not what it should be."""
    height, width, channels = content["image_shape"]
    _check_numbers([height, width, channels], least=1)
    if content.get("dtype", "uint8") not in DTYPES:
        raise ValueError(f"dtype {content['dtype']!r}")
    for split in SPLITS:
        content["splits"][split]  # missing ones are a KeyError
    for split, part in content["splits"].items():
        if split not in (*SPLITS, UNLABELED):
            raise ValueError(f"split {split!r}")
        if not all(map(files.is_text, [part["sha256"], *part["classes"]])):
            raise ValueError("text that is none")
        _check_numbers([part["bytes"], part["images"], *part["classes"].values()])


def _check_numbers(numbers: Iterable[Any], least: int = 0) -> None:
    """Raises unless all values are whole numbers from `least` to `NUMBER_LIMIT`."""
    for number in numbers:
        if type(number) is not int or not least <= number < NUMBER_LIMIT:
            raise ValueError(f"number {number!r}")
