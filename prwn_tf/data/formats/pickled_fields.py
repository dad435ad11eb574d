"""Checks what a pickle should hold: keys, arrays of pixels, lists of numbers."""

import pathlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from prwn_tf.data import tree
from prwn_tf.data.formats.lazy_array import LazyArray
from prwn_tf.errors import UserError


def has_field(root: Any, key: str) -> bool:
    """Returns whether a value is a dictionary with a key.

    The key may be text, or the bytes of Python 2.
    """
    return isinstance(root, Mapping) and (key in root or key.encode() in root)


def field(path: pathlib.Path, root: Any, key: str) -> Any:
    """Returns the value of a key, or raises if there is none."""
    if not has_field(root, key):
        raise UserError(f"{path} has no key {key!r}, found {keys(root)}; get it again")
    return root[key] if key in root else root[key.encode()]


def keys(root: Any) -> str:
    """Returns the keys of a dictionary, or what the value is instead, for messages."""
    if not isinstance(root, Mapping):
        return kind(root)
    if not root:
        return "an empty dictionary"
    return tree.listed([repr(text(key)) for key in root])


def text(value: Any) -> str:
    """Returns text that may have been pickled as bytes."""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def kind(value: Any) -> str:
    """Returns what a value is, for messages."""
    if isinstance(value, LazyArray):
        return f"an array of {value.shape} {value.dtype}"
    return f"a {type(value).__name__}"


def check_pixels(path: pathlib.Path, key: str, pixels: Any) -> None:
    """Raises unless a value is an array of colour images."""
    is_right = (
        isinstance(pixels, LazyArray)
        and pixels.dtype == np.uint8
        and len(pixels.shape) == 4
        and pixels.shape[3] == 3
        and min(pixels.shape[1:3]) > 0
    )
    if not is_right:
        raise UserError(
            f"{path}: {key!r} should be an array of images x height x width x 3 uint8, "
            f"found {kind(pixels)}"
        )


def integers(path: pathlib.Path, key: str, value: Any) -> np.ndarray:
    """Returns a list of whole numbers, which may have any form: [n] of int64."""
    if isinstance(value, LazyArray):
        value = value.read() if value.objects is None else value.objects
    if isinstance(value, np.ndarray) and value.ndim == 1 and value.dtype.kind in "iu":
        return value.astype(np.int64)
    if isinstance(value, list | tuple) and all(map(_is_whole_number, value)):
        return np.array(value, np.int64)
    raise UserError(
        f"{path}: {key!r} should be a list of whole numbers, found {kind(value)}"
    )


def _is_whole_number(value: Any) -> bool:
    """Returns whether a value is a whole number that fits in 64 bits."""
    return type(value) is int and abs(value) < 2**62


def names(path: pathlib.Path, key: str, value: Any) -> list[str]:
    """Returns a list of names, which may have any form."""
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
