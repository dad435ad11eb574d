"""Runs a reader over thousands of damaged files, each made from its number."""

import pathlib
import random
from collections.abc import Callable

from prwn_tf.errors import UserError
from tests.faults import watch

MEMORY = 2**28


def fuzz(place: pathlib.Path, cases: int, case: Callable[[random.Random], None]) -> int:
    """Runs seeded cases; returns how many were refused.

    Each ends well or in a UserError of one line, changes nothing outside of `place`,
    starts no program, and needs little memory.
    """
    refused, wrong = 0, {}
    with watch.memory_below(MEMORY), watch.nothing_outside(place):
        for number in range(cases):
            try:
                case(random.Random(number))
            except UserError as error:
                refused += 1
                if "\n" in str(error):
                    wrong[number] = error
            except Exception as error:
                wrong[number] = error
    assert not wrong, f"{len(wrong)} cases went wrong: {dict(list(wrong.items())[:9])}"
    return refused
