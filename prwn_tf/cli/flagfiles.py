"""Flagfiles: released ones by name, and mistakes told with file and line.

absl's own messages have neither file nor line.
"""

import os
import pathlib
import sys
from collections.abc import Iterator, Sequence

from absl import flags

from prwn_tf import released
from prwn_tf.cli import words

FLAG = "flagfile"


def located(arguments: Sequence[str]) -> list[str]:
    """Returns arguments in which every flagfile is a path, released ones too."""
    arguments = list(arguments)
    for place, name in _flagfiles(arguments):
        written = arguments[place].startswith("-")
        path = released.flagfile(name)
        arguments[place] = f"--{FLAG}={path}" if written else path
    return arguments


def check(arguments: Sequence[str]) -> None:
    """Exits with absl's code for usage at the first mistake in a flagfile."""
    for problem in _problems(list(arguments), seen=set()):
        print(problem, file=sys.stderr)
        sys.exit(1)


def paths(arguments: Sequence[str]) -> Iterator[pathlib.Path]:
    """Yields the flagfiles that arguments name, and those that these name."""
    waiting, seen = list(arguments), set()
    while named := [pathlib.Path(released.flagfile(n)) for _, n in _flagfiles(waiting)]:
        waiting = []
        for path in named:
            if path not in seen:
                seen.add(path)
                yield path
                lines = path.read_text(encoding="utf-8").splitlines()
                waiting += [line.strip() for line in lines]


def _problems(arguments: list[str], seen: set[pathlib.Path]) -> Iterator[str]:
    for _, name in _flagfiles(arguments):
        path = pathlib.Path(released.flagfile(name))
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
        return words.unknown(first)
    if more:
        return f"{line!r} should be --{first}=VALUE, without spaces"
    if name == FLAG and (path := released.flagfile(value)) != os.path.expanduser(value):
        return f"{line!r} is found by its name on a command line alone; write {path}"
    if equals and name in flags.FLAGS:
        try:
            flags.FLAGS[name].parser.parse(value)
        except (TypeError, ValueError, OverflowError) as error:
            return f"--{name}={value}: {error}"
    return None


def _flagfiles(arguments: list[str]) -> Iterator[tuple[int, str]]:
    """Yields the flagfiles that arguments name, each with the place of its name."""
    for index, argument in enumerate(arguments):
        name, equals, value = argument.lstrip("-").partition("=")
        if not argument.startswith("-") or name != FLAG:
            continue
        if equals:
            yield index, value
        elif index + 1 < len(arguments):
            yield index + 1, arguments[index + 1]


def _known(name: str) -> bool:
    """Returns whether a flag has that name; absl keeps `--flagfile` to itself."""
    if name == FLAG or name in flags.FLAGS:
        return True
    positive = name.removeprefix("no")
    return positive in flags.FLAGS and flags.FLAGS[positive].boolean
