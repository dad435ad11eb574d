"""What a pickle should hold, checked: keys, arrays of pixels, lists of numbers."""

import pathlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from prwn_tf.data.formats.lazy_array import LazyArray
from prwn_tf.errors import UserError


def has_field(root: Any, key: str) -> bool:
    """Whether a dictionary has a key, as text or as the bytes of Python 2."""
    return isinstance(root, Mapping) and (key in root or key.encode() in root)


def field(path: pathlib.Path, root: Any, key: str) -> Any:
    """The value of a key that may be text or bytes."""
    if not has_field(root, key):
        raise UserError(f"{path} has no key {key!r}, found {keys(root)}; get it again")
    return root[key] if key in root else root[key.encode()]


def keys(root: Any) -> str:
    """What a pickle holds instead of what was looked for."""
    if not isinstance(root, Mapping):
        return kind(root)
    some = [repr(text(key)) for key in list(root)[:5]]
    return ", ".join(some) + " ..." * (len(root) > 5) if some else "an empty dictionary"


def text(value: Any) -> str:
    """Text that may have been pickled as bytes."""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def kind(value: Any) -> str:
    """What a value is, for messages."""
    if isinstance(value, LazyArray):
        return f"an array of {value.shape} {value.dtype}"
    return f"a {type(value).__name__}"


def check_pixels(path: pathlib.Path, key: str, pixels: Any) -> None:
    """Raises unless it is an array of colour images."""
    right = (
        isinstance(pixels, LazyArray)
        and pixels.dtype == np.uint8
        and len(pixels.shape) == 4
        and pixels.shape[3] == 3
        and min(pixels.shape[1:3]) > 0
    )
    if not right:
        raise UserError(
            f"{path}: {key!r} should be an array of images x height x width x 3 uint8, "
            f"found {kind(pixels)}"
        )


def integers(path: pathlib.Path, key: str, value: Any) -> np.ndarray:
    """A list of whole numbers in any form: [n] of int64."""
    if isinstance(value, LazyArray):
        value = value.read() if value.objects is None else value.objects
    if isinstance(value, np.ndarray) and value.ndim == 1 and value.dtype.kind in "iu":
        return value.astype(np.int64)
    whole = isinstance(value, list | tuple) and all(type(each) is int for each in value)
    if whole and all(abs(number) < 2**62 for number in value):
        return np.array(value, np.int64)
    raise UserError(
        f"{path}: {key!r} should be a list of whole numbers, found {kind(value)}"
    )


def names(path: pathlib.Path, key: str, value: Any) -> list[str]:
    """A list of names in any form."""
    if isinstance(value, LazyArray):
        value = value.read().tolist() if value.objects is None else value.objects
    if isinstance(value, Mapping) and all(type(number) is int for number in value):
        value = [name for _, name in sorted(value.items())]  # of some versions
    if not isinstance(value, list | tuple):
        raise UserError(
            f"{path}: {key!r} should be a list, or number -> name, found {kind(value)}"
        )
    for name in value:
        if not isinstance(name, str | bytes | int):
            raise UserError(f"{path}: {key!r} should be of names, found {kind(name)}")
    return [text(name) for name in value]
