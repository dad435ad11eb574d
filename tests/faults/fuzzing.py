"""Runs a reader over thousands of damaged files, each made from its number."""

import pathlib
import random
import subprocess
from collections.abc import Callable, Iterable

from prwn_tf.errors import UserError
from tests.faults import watch

ROOT = pathlib.Path(__file__).parents[2]
MEMORY = 2**28


def fuzz(
    place: pathlib.Path, numbers: Iterable[int], case: Callable[[random.Random], None]
) -> float:
    """Runs seeded cases; returns the share of those that were refused.

    Each ends well or in a UserError of one line, changes nothing outside of `place`,
    starts no program, and needs little memory.
    """
    refused, wrong, numbers = 0, {}, list(numbers)
    with watch.memory_below(MEMORY), watch.nothing_outside(place):
        for number in numbers:
            try:
                case(random.Random(number))
            except UserError as error:
                refused += 1
                if "\n" in str(error):
                    wrong[number] = error
            except Exception as error:
                wrong[number] = error
    assert not wrong, f"{len(wrong)} cases went wrong: {dict(list(wrong.items())[:9])}"
    return refused / len(numbers)


def last_digit() -> int:
    """Returns that of the cases which are run by default, another for each commit."""
    command = ["git", "rev-parse", "HEAD"]
    try:
        commit = subprocess.run(command, cwd=ROOT, capture_output=True, check=True)
    except (OSError, subprocess.CalledProcessError):  # no git, or no checkout of it
        return 0
    return int(commit.stdout, 16) % 10
