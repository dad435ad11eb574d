"""Numbers and tables in Markdown."""

from collections.abc import Iterable, Sequence
from typing import Any

NOT_RUN = "not run"


def percent(accuracy: float, interval: float | None = None) -> str:
    """Returns an accuracy in per cent with its interval, if there is one."""
    return f"{accuracy:.2f}" + (f" ± {interval:.2f}" if interval else "")


def measured(entry: dict[str, Any] | None) -> str:
    """Returns the accuracy of a test with its interval."""
    if entry is None:
        return NOT_RUN
    return percent(100 * entry["accuracy"], 100 * (entry["interval"] or 0))


def table(header: Sequence[str], lines: Iterable[Sequence[Any]]) -> str:
    """Returns a table in Markdown."""
    everything = [header, ["---"] * len(header), *lines]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in everything)
