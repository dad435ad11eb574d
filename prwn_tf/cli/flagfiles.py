"""Mistakes in a flagfile, told with file and line, which absl's messages lack."""

import difflib
import os
import pathlib
import sys
from collections.abc import Iterator, Sequence

from absl import flags


def check(arguments: Sequence[str]) -> None:
    """Exits with absl's code for usage at the first mistake in a flagfile."""
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
            if mistake := _mistake(line.strip()):
                yield f"{path}:{number}: {mistake}"
        yield from _problems([line.strip() for line in lines], seen)


def _mistake(line: str) -> str | None:
    """Returns what is wrong with a line, if anything."""
    if line.startswith("\ufeff"):
        return "begins with a byte order mark; save the file as UTF-8 without one"
    if not line or line.startswith(("#", "//")):
        return None
    if not line.startswith("-"):
        return f"{line!r} is no flag; write --NAME=VALUE, or # before a comment"
    name, equals, value = line.lstrip("-").partition("=")
    first, *more = name.split(" ")
    if not _known(first):
        near = difflib.get_close_matches(first, list(flags.FLAGS), n=1)
        hint = f"; did you mean --{near[0]}?" if near else ""
        return f"unknown flag --{first}{hint}"
    if more:
        return f"{line!r} should be --{first}=VALUE, without spaces"
    if equals and name in flags.FLAGS:
        try:
            flags.FLAGS[name].parser.parse(value)
        except (TypeError, ValueError, OverflowError) as error:
            return f"--{name}={value}: {error}"
    return None


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
