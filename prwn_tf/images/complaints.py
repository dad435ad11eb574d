"""What the JPEG decoder says of damaged images, which it hands out all the same.

It writes a line to the standard error of C, and TensorFlow hears nothing of it. So that
stream is led into a file while images are decoded. Several threads share it: who
wants to know which image was meant decodes that one alone. Of what else is written
meanwhile, lines of a log are passed on.
"""

import contextlib
import ctypes
import functools
import os
import re
import threading
from collections.abc import Iterator

DAMAGE = re.compile(
    r"Corrupt JPEG data: (.*)|(Premature end of JPEG.*)|(Inconsistent progression.*)"
)
# How lines of a log begin, after a date or the letter of their weight.
LOGGED = re.compile(r"\d{4}-\d\d-\d\d |[IWEF]\d{4} ")
MAX_THREADS = 64  # that decode at once
UNBUFFERED = 2  # C's _IONBF
_turns = threading.Semaphore(MAX_THREADS)
_alone = threading.Lock()


@contextlib.contextmanager
def heard(*, alone: bool = False) -> Iterator[list[str]]:
    """Yields a list that holds at the end what was said of damage meanwhile.

    Args:
        alone: whether to wait until no other thread decodes, and keep it so.
    """
    turns = MAX_THREADS if alone else 1
    with _alone if alone else contextlib.nullcontext():
        for _ in range(turns):
            _turns.acquire()
    reasons: list[str] = []
    try:
        with _stream().listening() as said:
            yield reasons
        for line in said:
            if match := DAMAGE.search(line):
                reasons.append(next(filter(None, match.groups())))
    finally:
        _turns.release(turns)


class _Silence:
    """Stands in where C's standard error cannot be led elsewhere: nothing is heard."""

    @contextlib.contextmanager
    def listening(self) -> Iterator[list[str]]:
        """Yields a list that stays empty."""
        yield []


class _Stream:
    """C's standard error, led into a file for as long as somebody listens."""

    def __init__(self):
        system = ctypes.CDLL(None)
        self._standard = ctypes.c_void_p.in_dll(system, "stderr")
        self._usual = self._standard.value
        self._file = os.memfd_create("complaints")
        system.fdopen.restype = ctypes.c_void_p
        self._led = system.fdopen(self._file, b"a")
        system.setvbuf(ctypes.c_void_p(self._led), None, UNBUFFERED, 0)
        self._lock = threading.Lock()
        self._listeners = 0

    @contextlib.contextmanager
    def listening(self) -> Iterator[list[str]]:
        """Yields a list that holds at the end the lines that were written meanwhile."""
        with self._lock:
            self._listeners += 1
            self._standard.value = self._led
            start = self._size()
        lines: list[str] = []
        try:
            yield lines
        finally:
            with self._lock:
                lines += self._lines(start)
                self._listeners -= 1
                if not self._listeners:
                    self._restore()

    def _restore(self) -> None:
        """Leads the stream back, and passes on what was said of other things."""
        self._standard.value = self._usual
        others = [line for line in self._lines(0) if LOGGED.match(line)]
        os.ftruncate(self._file, 0)
        with contextlib.suppress(OSError):
            os.write(2, "".join(f"{line}\n" for line in others).encode())

    def _lines(self, start: int) -> list[str]:
        """Returns what was written from a place on."""
        text = os.pread(self._file, self._size() - start, start)
        return text.decode(errors="replace").splitlines()

    def _size(self) -> int:
        """Returns how much was written."""
        return os.fstat(self._file).st_size


@functools.cache
def _stream() -> _Stream | _Silence:
    """Returns the one stream of this process; only Linux has what it takes."""
    try:
        return _Stream()
    except (AttributeError, ValueError, OSError):
        return _Silence()
