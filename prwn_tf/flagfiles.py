"""Mistakes in a flagfile, told with file and line, which absl's messages lack."""

import difflib
import os
import pathlib
import sys
from collections.abc import Iterator, Sequence

from absl import flags


def check(arguments: Sequence[str]) -> None:
    """Exits with absl's code for usage if a flagfile has a flag that nobody defined."""
    for problem in _problems(list(arguments), seen=set()):
        print(problem, file=sys.stderr)
        sys.exit(1)


def _problems(arguments: list[str], seen: set[pathlib.Path]) -> Iterator[str]:
    for path in _flagfiles(arguments):
        if path in seen:
            continue
        seen.add(path)
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
        except (OSError, ValueError) as error:
            yield f"cannot read --flagfile={path}: {error}"
            continue
        for number, line in enumerate(lines, 1):
            name = line.strip().lstrip("-").partition("=")[0].split(" ")[0]
            if line.strip().startswith("-") and not _known(name):
                near = difflib.get_close_matches(name, list(flags.FLAGS), n=1)
                hint = f"; did you mean --{near[0]}?" if near else ""
                yield f"{path}:{number}: unknown flag --{name}{hint}"
        yield from _problems([line.strip() for line in lines], seen)


def _flagfiles(arguments: list[str]) -> Iterator[pathlib.Path]:
    for index, argument in enumerate(arguments):
        name, equals, value = argument.lstrip("-").partition("=")
        if not argument.startswith("-") or name != "flagfile":
            continue
        if not equals and index + 1 < len(arguments):
            value = arguments[index + 1]
        yield pathlib.Path(os.path.expanduser(value))


def _known(name: str) -> bool:
    if name in flags.FLAGS:
        return True
    positive = name.removeprefix("no")
    return positive in flags.FLAGS and flags.FLAGS[positive].boolean
