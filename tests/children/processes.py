"""Which processes descend from which, as /proc tells it."""

import pathlib
from collections.abc import Iterator


def children(parent: int) -> set[int]:
    """Returns the children of a process, also those that nobody has reaped."""
    return {process for process, other, _ in _all() if other == parent}


def descendants(ancestor: int) -> set[int]:
    """Returns the living children of a process, theirs, and so on."""
    everything = list(_all())
    family, before = {ancestor}, set()
    while family != before:
        before = set(family)
        family |= {process for process, parent, _ in everything if parent in family}
    ended = {process for process, _, state in everything if state == "Z"}
    return family - ended - {ancestor}


def _all() -> Iterator[tuple[int, int, str]]:
    """Yields each process, its parent and its state."""
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            stat = (folder / "stat").read_text()
        except OSError:  # it has just ended
            continue
        state, parent, *_ = stat.rpartition(")")[2].split()
        yield int(folder.name), int(parent), state
