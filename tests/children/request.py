"""What a preloaded process is asked to run."""

import dataclasses
from collections.abc import Callable


@dataclasses.dataclass(frozen=True)
class Program:
    """A program as a shell would tell it to `python`.

    Attributes:
        arguments: "-m" and a module, "-c" and code, or a file; then what they get.
        before: called in the child before the program; it must be picklable.
    """

    arguments: tuple[str, ...]
    environment: dict[str, str]
    directory: str
    before: Callable[[], None] | None = None
