"""The sandbox in which faults are provoked, and how many files are damaged."""

from collections.abc import Callable, Iterator

import pytest

from tests.faults import fuzzing
from tests.faults.harness import Sandbox


@pytest.fixture(scope="module")
def sandbox(tmp_path_factory) -> Iterator[Sandbox]:
    """Where a module's children run; clean when its last test has ended."""
    sandbox = Sandbox(tmp_path_factory.mktemp("temporary"))
    try:
        yield sandbox
        sandbox.check_clean()
    finally:
        sandbox.close()


@pytest.fixture(params=["tenth", pytest.param("rest", marks=pytest.mark.slow)])
def cases(request) -> Callable[[int], list[int]]:
    """Chooses among the numbers of so many cases: a tenth, or all others.

    The tenth is another one after each commit.
    """
    digit = fuzzing.last_digit()

    def choose(count: int) -> list[int]:
        return [
            number
            for number in range(count)
            if (number % 10 == digit) == (request.param == "tenth")
        ]

    return choose
