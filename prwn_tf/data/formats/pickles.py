"""Reads pickles that hold arrays and plain containers, and refuses all others.

mini- and tiered-ImageNet are passed around as pickles, and a pickle is a program: the
usual reader runs whatever it asks for. This one knows the few names below and how to
put arrays together from them, imports nothing by name, and leaves the arrays in the
file: a pickle of 7 GB needs little memory.
"""

import pathlib
import struct
from collections.abc import Callable
from typing import Any

import numpy as np

from prwn_tf.data.formats.lazy_array import LazyArray, Source, Span
from prwn_tf.data.formats.pickle_machine import (
    ForbiddenError,
    Machine,
    check_keys,
    shown,
)
from prwn_tf.errors import UserError, first_line
from prwn_tf.images import header

# Damaged bytes lead the machine to try almost anything, of no consequence.
_DAMAGE = (
    ArithmeticError,
    AttributeError,
    EOFError,
    LookupError,
    MemoryError,
    RecursionError,
    SyntaxError,
    TypeError,
    ValueError,
    struct.error,
)


def load(path: pathlib.Path) -> Any:
    """Returns what a pickle holds, with a LazyArray for every array.

    Example:
        >>> load(pathlib.Path("mini-imagenet-cache-test.pkl")).keys()
        dict_keys([b'image_data', b'class_dict'])
    """
    arrays = _Arrays(Source(path))
    try:
        with path.open("rb", buffering=2**20) as file:
            _check_beginning(path, file.peek(512))
            machine = Machine(
                file, look_up=arrays.look_up, call=arrays.call, build=arrays.build
            )
            return machine.run()
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror or error}") from error
    except ForbiddenError as error:
        raise UserError(
            f"{path} asks for {error}, which no data needs: only arrays and plain "
            "containers are read from a pickle; do not open it with other programs, "
            "get it from its publisher"
        ) from error
    except _DAMAGE as error:
        raise UserError(
            f"{path} is damaged or cut short ({first_line(error)}); download it again"
        ) from error


def looks_like_one(beginning: bytes) -> bool:
    """Returns whether a file that begins so is a pickle of a list or a dictionary."""
    if beginning.startswith(b"\x80"):
        return 2 <= beginning[1] <= 5 if len(beginning) > 1 else False
    return beginning.startswith((b"(l", b"(d", b"]q", b"}q", b"](", b"}("))


def _check_beginning(path: pathlib.Path, beginning: bytes) -> None:
    """Raises if a file is empty or a web page."""
    if not beginning:
        raise UserError(f"{path} is empty: the download failed; get it again")
    if header.is_web_page(beginning):
        raise UserError(header.refused_download(path, "a pickle"))


class _Type:
    """A type of elements; its byte order is told after it is made."""

    def __init__(self, name: Any):
        if not isinstance(name, str | bytes):
            raise ForbiddenError(f"an array of {shown(name)}")
        self.dtype = np.dtype(name.decode("ascii") if isinstance(name, bytes) else name)
        if self.dtype.kind not in "biufSUO":
            raise ForbiddenError(f"an array of {self.dtype}")

    def finish(self, state: tuple[Any, ...]) -> None:
        """Takes the byte order from the state that the pickle gives."""
        order = state[1].decode() if isinstance(state[1], bytes) else state[1]
        if self.dtype.kind in "biufU":
            self.dtype = self.dtype.newbyteorder(order)


class _Arrays:
    """The names that make arrays and containers, and what stands for them."""

    def __init__(self, source: Source):
        self._source = source
        makers: dict[str, Callable[..., Any]] = {
            "numpy.ndarray": _not_called,
            "numpy.dtype": lambda name, *unused: _Type(name),
            "_codecs.encode": _encoded,
            "collections.OrderedDict": _container(dict),
            "collections.defaultdict": lambda *unused: {},
        }
        for package in ("numpy.core", "numpy._core"):
            makers |= {
                f"{package}.multiarray._reconstruct": self._empty,
                f"{package}.multiarray.scalar": _scalar,
                f"{package}.numeric._frombuffer": self._from_buffer,
            }
        for package in ("builtins", "__builtin__"):
            makers |= {
                f"{package}.{kind.__name__}": _container(kind)
                for kind in (list, dict, set, frozenset)
            }
            makers |= {
                f"{package}.range": range,
                f"{package}.xrange": range,
                f"{package}.bytes": _encoded,
                f"{package}.bytearray": _encoded,
            }
        self._makers = makers
        self._known = {id(maker) for maker in makers.values()}

    def look_up(self, module: str, name: str) -> Callable[..., Any]:
        """Returns what stands for a name, or raises if it is none of ours."""
        if f"{module}.{name}" not in self._makers:
            raise ForbiddenError(f"{module}.{name}")
        return self._makers[f"{module}.{name}"]

    def call(self, maker: Any, arguments: tuple[Any, ...]) -> Any:
        """Returns the value that one of our names makes of its arguments."""
        if id(maker) not in self._known:
            raise ForbiddenError(f"a call of {shown(maker)}")
        return maker(*arguments)

    def build(self, value: Any, state: Any) -> None:
        """Fills an array or a type of elements."""
        if isinstance(value, _Type):
            value.finish(state)
        elif isinstance(value, LazyArray):
            _, shape, kind, fortran, data = state
            _fill(value, kind, shape, data, fortran=bool(fortran))
        else:
            raise ForbiddenError(f"the state of a {type(value).__name__}")

    def _empty(self, *unused: Any) -> LazyArray:
        """Returns an array that `build` will fill."""
        return LazyArray(self._source)

    def _from_buffer(
        self, data: Any, kind: _Type, shape: Any, order: str, *axes: Any
    ) -> LazyArray:
        """Returns an array as protocol 5 writes it."""
        if order not in ("C", "F") or any(axis is not None for axis in axes):
            raise ForbiddenError(f"an array in order {shown(order)}")
        array = self._empty()
        _fill(array, kind, shape, data, fortran=order == "F")
        return array


def _fill(
    array: LazyArray, kind: _Type, shape: Any, data: Any, *, fortran: bool
) -> None:
    """Fills an array with bytes or, if it is one of objects, with a list."""
    shape = tuple(shape)
    if not all(type(length) is int for length in shape):
        raise ForbiddenError(f"an array of shape {shown(shape)}")
    if kind.dtype.kind != "O":
        array.fill(kind.dtype, shape, data, fortran=fortran)
    elif isinstance(data, list) and shape == (len(data),):
        array.objects = data
    else:
        raise ForbiddenError(f"objects in an array of shape {shown(shape)}")


def _container(kind: type) -> Callable[..., Any]:
    """Returns a function that makes containers of a kind."""

    def make(*contents: Any) -> Any:
        # A range is written in a few bytes and would be made a list of any length.
        if not all(isinstance(part, list | tuple | dict | set) for part in contents):
            raise ForbiddenError(f"a {kind.__name__} of {shown(contents)}")
        if kind is not list:
            for part in contents:
                pairs = kind is dict and not isinstance(part, dict)
                check_keys([key for key, _ in part] if pairs else part)
        return kind(*contents)

    return make


def _encoded(content: Any = b"", *unused: Any) -> bytes | Span:
    """Returns bytes, which Python 2 writes as text.

    Each byte is the character of its number.
    """
    if isinstance(content, str):
        return content.encode("latin-1")
    if isinstance(content, bytes | Span):
        return content
    raise ForbiddenError(f"bytes made of a {type(content).__name__}")


def _scalar(kind: _Type, data: Any = b"") -> Any:
    """Returns a number of NumPy as one of Python."""
    if kind.dtype.kind == "O" or not isinstance(data, bytes):
        raise ForbiddenError("a single object as a number")
    return np.frombuffer(data, kind.dtype)[0].item()


def _not_called(*unused: Any) -> None:
    """Raises, because pickles name this type and do not call it."""
    raise ForbiddenError("a call of numpy.ndarray")
