"""What can go wrong for a user, and the exit code that says so.

Every message is one line: what was asked, what was found, and what to change.
"""

import re

COMMAND = "python -m"


class UserError(Exception):
    """A bad configuration, flag or data set.

    The message is written for the command line, with settings as flags: "lower
    --train_way". In Python, where there are no flags, it names the setting alone:
    "lower train_way".
    """

    exit_code = 2

    def __init__(self, message: str):
        # Names of files may have line breaks and codes for terminals in them.
        self.with_flags = "".join(
            c if c.isprintable() else repr(c)[1:-1] for c in message
        )
        super().__init__(_without_dashes(self.with_flags))


def _without_dashes(message: str) -> str:
    """Returns a message with settings in the place of flags, but in commands."""
    text, command, rest = message.partition(COMMAND)
    return re.sub(r"(?<![\w-])--(?=[a-z])", "", text) + command + rest


def first_line(error: Exception) -> str:
    """Returns why something failed: an error's first line with words, or its type."""
    message = getattr(error, "message", None)  # TensorFlow's, without its operation
    text = message if isinstance(message, str) else str(error)
    lines = (" ".join(line.split()) for line in text.splitlines())
    return next(filter(None, lines), type(error).__name__)


def is_out_of_memory(error: Exception) -> bool:
    """Returns whether memory ran out, by name: TensorFlow may not be loaded."""
    kinds = (kind.__name__ for kind in type(error).__mro__)
    return not {"MemoryError", "ResourceExhaustedError"}.isdisjoint(kinds)


class NonFiniteLossError(UserError):
    """The loss became NaN or infinite; the last checkpoint is still good."""

    exit_code = 3


class StorageError(UserError):
    """The disk is full, or a file cannot be written."""

    exit_code = 4


class LostWorkerError(UserError):
    """Another process of the same run is gone; all of them must be started again."""

    exit_code = 5


class Stopped(Exception):
    """A signal asked the run to stop, and its checkpoint is written."""

    def __init__(self, signal_number: int, message: str):
        super().__init__(message)
        self.exit_code = 128 + signal_number
