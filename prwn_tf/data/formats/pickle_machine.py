"""The operations of a pickle on plain values, with every name decided by the caller.

Python's own reader imports what a pickle names and calls it. This machine only moves
values about; names, calls and states go through three functions that it is given. It
leaves long strings in the file.
"""

import ast
import io
import reprlib
import struct
from collections.abc import Callable, Collection
from typing import Any

from prwn_tf.data.formats.lazy_array import Span

LONG_STRING = 1024  # bytes; strings of so many stay in the file
_KEYS = (str, bytes, int, float, type(None))


class ForbiddenError(Exception):
    """The pickle asks for something that data does not need; the message says what."""


class Machine:
    """Runs one pickle, of any protocol from 0 to 5.

    Text of Python 2 is kept as bytes.
    """

    def __init__(
        self,
        file: io.BufferedReader,
        *,
        look_up: Callable[[str, str], Any],
        call: Callable[[Any, tuple[Any, ...]], Any],
        build: Callable[[Any, Any], None],
    ):
        """Takes a file, and the functions that decide.

        Args:
            look_up: module and name -> what stands for it.
            call: what `look_up` gave and arguments -> the value made of them.
            build: gives a value that `call` made its state.
        """
        self._file = file
        self._end = file.seek(0, io.SEEK_END)
        file.seek(0)
        self._look_up = look_up
        self._call = call
        self._build_value = build
        self._stack: list[Any] = []
        self._below: list[list[Any]] = []  # the stack as it was at each mark
        self._memo: dict[int, Any] = {}
        self._steps = self._operations()

    def run(self) -> Any:
        """Returns the value that the pickle holds."""
        steps, read = self._steps, self._file.read
        while (code := read(1)) != b".":
            if code not in steps:
                if not code:
                    raise EOFError("the end is missing")
                raise ForbiddenError(f"operation {code!r}")
            steps[code]()
        return self._stack.pop()

    def _operations(self) -> dict[bytes, Callable[[], None]]:
        """Returns what each operation does, by its code; all others are refused."""
        number = self._number
        return {
            **self._value_operations(),
            **self._container_operations(),
            **self._stack_operations(),
            # The protocol, and the length of a frame, of which we need neither
            b"\x80": lambda: number("<B"),
            b"\x95": lambda: number("<Q"),
        }

    def _value_operations(self) -> dict[bytes, Callable[[], None]]:
        """Returns the operations that push numbers and strings."""
        push, number = self._push, self._number
        return {
            # Numbers and the like
            b"N": lambda: push(None),
            b"\x88": lambda: push(True),
            b"\x89": lambda: push(False),
            b"I": lambda: push(_decimal(self._line())),
            b"L": lambda: push(int(self._line().rstrip(b"L"))),
            b"F": lambda: push(float(self._line())),
            b"K": lambda: push(number("<B")),
            b"M": lambda: push(number("<H")),
            b"J": lambda: push(number("<i")),
            b"\x8a": lambda: push(self._long(number("<B"))),
            b"\x8b": lambda: push(self._long(number("<i"))),
            b"G": lambda: push(number(">d")),
            # Strings: of Python 2, text, bytes
            b"S": lambda: push(ast.literal_eval("b" + self._line().decode("ascii"))),
            b"U": lambda: push(self._bytes(number("<B"))),
            b"T": lambda: push(self._bytes(number("<i"))),
            b"V": lambda: push(self._line().decode("raw-unicode-escape")),
            b"X": lambda: push(self._text(number("<I"))),
            b"\x8c": lambda: push(self._text(number("<B"))),
            b"\x8d": lambda: push(self._text(number("<Q"))),
            b"C": lambda: push(self._bytes(number("<B"))),
            b"B": lambda: push(self._bytes(number("<I"))),
            b"\x8e": lambda: push(self._bytes(number("<Q"))),
            b"\x96": lambda: push(self._bytes(number("<Q"))),
        }

    def _container_operations(self) -> dict[bytes, Callable[[], None]]:
        """Returns the operations that make containers and add to them."""
        push = self._push
        return {
            b"(": self._mark,
            b")": lambda: push(()),
            b"t": lambda: push(tuple(self._from_mark())),
            b"\x85": lambda: push(self._last(1)),
            b"\x86": lambda: push(self._last(2)),
            b"\x87": lambda: push(self._last(3)),
            b"]": lambda: push([]),
            b"l": lambda: push(self._from_mark()),
            b"a": lambda: self._extend([self._stack.pop()]),
            b"e": lambda: self._extend(self._from_mark()),
            b"}": lambda: push({}),
            b"d": lambda: push(_pairs(self._from_mark())),
            b"s": lambda: self._update(list(self._last(2))),
            b"u": lambda: self._update(self._from_mark()),
            b"\x8f": lambda: push(set()),
            b"\x90": self._add,
            b"\x91": lambda: push(frozenset(check_keys(self._from_mark()))),
        }

    def _stack_operations(self) -> dict[bytes, Callable[[], None]]:
        """Returns the operations on the stack and the memo, and those that call."""
        push, number = self._push, self._number
        return {
            # The stack and the memo
            b"0": lambda: self._stack.pop(),
            b"1": self._from_mark,
            b"2": lambda: push(self._stack[-1]),
            b"p": lambda: self._put(int(self._line())),
            b"q": lambda: self._put(number("<B")),
            b"r": lambda: self._put(number("<I")),
            b"\x94": lambda: self._put(len(self._memo)),
            b"g": lambda: push(self._memo[int(self._line())]),
            b"h": lambda: push(self._memo[number("<B")]),
            b"j": lambda: push(self._memo[number("<I")]),
            # Names, calls and states
            b"c": lambda: push(self._look_up(_name(self._line()), _name(self._line()))),
            b"\x93": lambda: push(self._look_up(*map(_name, self._last(2)))),
            b"R": lambda: push(self._call(*self._last(2))),
            b"\x81": lambda: push(self._call(*self._last(2))),
            b"b": self._build,
        }

    # --- The file

    def _line(self) -> bytes:
        """Reads a line."""
        line = self._file.readline()
        if not line.endswith(b"\n"):
            raise EOFError("a line is cut short")
        return line[:-1].rstrip(b"\r")

    def _number(self, form: str) -> Any:
        """Reads a number in a form of `struct`."""
        return struct.unpack(form, self._file.read(struct.calcsize(form)))[0]

    def _long(self, size: int) -> int:
        """Reads a whole number of so many bytes."""
        return int.from_bytes(self._bytes(size), "little", signed=True)

    def _bytes(self, size: int) -> bytes | Span:
        """Reads bytes; many are left in the file."""
        self._check_size(size)
        return self._file.read(size) if size < LONG_STRING else self._skip(size)

    def _text(self, size: int) -> str | Span:
        """Reads text; much of it is left in the file."""
        self._check_size(size)
        if size < LONG_STRING:
            return self._file.read(size).decode("utf-8", "surrogatepass")
        return self._skip(size)._replace(text=True)

    def _check_size(self, size: int) -> None:
        """Raises if the file ends before so many bytes."""
        if not 0 <= size <= self._end - self._file.tell():
            raise EOFError(f"a string of {size} bytes is cut short")

    def _skip(self, size: int) -> Span:
        """Passes over bytes, and returns where they are."""
        span = Span(self._file.tell(), size)
        self._file.seek(size, io.SEEK_CUR)
        return span

    # --- The stack

    def _push(self, value: Any) -> None:
        """Puts a value on the stack."""
        self._stack.append(value)

    def _mark(self) -> None:
        """Puts a mark on the stack."""
        self._below.append(self._stack)
        self._stack = []

    def _from_mark(self) -> list[Any]:
        """Takes off what lies above the last mark, and the mark."""
        values, self._stack = self._stack, self._below.pop()
        return values

    def _last(self, count: int) -> tuple[Any, ...]:
        """Takes so many values off the stack."""
        values = tuple(self._stack[-count:])
        if len(values) < count:
            raise IndexError("the stack is empty")
        del self._stack[-count:]
        return values

    def _put(self, place: int) -> None:
        """Writes the last value of the stack to the memo."""
        self._memo[place] = self._stack[-1]

    def _extend(self, values: list[Any]) -> None:
        """Adds values to the list on the stack."""
        _of_type(self._stack[-1], list).extend(values)

    def _add(self) -> None:
        """Adds values to the set on the stack."""
        values = check_keys(self._from_mark())
        _of_type(self._stack[-1], set).update(values)

    def _update(self, values: list[Any]) -> None:
        """Adds keys and values to the dictionary on the stack."""
        _of_type(self._stack[-1], dict).update(_pairs(values))

    def _build(self) -> None:
        """Gives the last value but one the last as its state."""
        state = self._stack.pop()
        self._build_value(self._stack[-1], state)


def check_keys(values: Collection[Any]) -> Collection[Any]:
    """Returns the values, or raises if one is not plain.

    They will be hashed, and hashing deep tuples ends the process.
    """
    for value in values:
        if not isinstance(value, _KEYS):
            raise ForbiddenError(f"a {type(value).__name__} as a key")
    return values


def shown(value: Any) -> str:
    """Returns a value as text for messages, however deep or long it is."""
    return reprlib.repr(value)


def _of_type(value: Any, kind: type) -> Any:
    """Returns a value, or raises if it is not of a type.

    Other types may run code of their own when they are added to.
    """
    if type(value) is not kind:
        raise ForbiddenError(f"a {type(value).__name__} as a {kind.__name__}")
    return value


def _pairs(values: list[Any]) -> dict[Any, Any]:
    """Returns the dictionary of keys and values that take turns in a list."""
    return dict(zip(check_keys(values[::2]), values[1::2], strict=True))


def _decimal(line: bytes) -> int | bool:
    """Returns a number, or a boolean, which protocol 0 writes with two digits."""
    return line == b"01" if line in (b"00", b"01") else int(line)


def _name(value: Any) -> str:
    """Returns a name as text, or raises if it is none."""
    if isinstance(value, bytes):
        return value.decode("utf-8")
    if not isinstance(value, str):
        raise ForbiddenError(f"a name that is {shown(value)}")
    return value
