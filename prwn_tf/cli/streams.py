"""Standard output and error that never stop a program, whatever becomes of them.

They may be closed, full, or know no sign but ASCII; the reader at the other end of a
pipe may leave. None of it is worth a step of training: what cannot be shown is
dropped, and at the end it is said.
"""

import contextlib
import os
import sys
from collections.abc import Iterator
from typing import Any, TextIO

PLAIN_SIGNS = str.maketrans({"±": "+-", "×": "x", "−": "-", "–": "-", "…": "..."})


def open_closed() -> None:
    """Opens what was closed, or the next file that is opened would stand in for it."""
    descriptor = os.open(os.devnull, os.O_RDWR)
    while descriptor <= 2:
        descriptor = os.open(os.devnull, os.O_RDWR)
    os.close(descriptor)
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            stream = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
            setattr(sys, name, stream)


class Patient:
    """A stream whose first failure is kept, and whose later output goes nowhere."""

    def __init__(self, stream: TextIO):
        self._stream = stream
        self.error: OSError | None = None

    def write(self, text: str) -> int:
        """Writes as far as possible."""
        with self._kept():
            try:
                self._stream.write(text)
            except UnicodeEncodeError:
                self._stream.write(_in(self._stream.encoding, text))
        return len(text)

    def flush(self) -> None:
        """Hands what was written to the system, as far as possible."""
        with self._kept():
            self._stream.flush()

    @contextlib.contextmanager
    def _kept(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            self.error = self.error or error
            # What waits in the buffer must go somewhere, too.
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self._stream.fileno())
            os.close(nowhere)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextlib.contextmanager
def patient() -> Iterator[tuple[Patient, Patient]]:
    """Makes standard output and error patient for a while, and yields both."""
    open_closed()
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = ours = Patient(sys.stdout), Patient(sys.stderr)
    try:
        yield ours
    finally:
        for stream in ours:
            stream.flush()
        sys.stdout, sys.stderr = before


def _in(encoding: str, text: str) -> str:
    """Returns text with other signs for those that an encoding has not."""
    plain = text.translate(PLAIN_SIGNS)
    return plain.encode(encoding, "backslashreplace").decode(encoding)
