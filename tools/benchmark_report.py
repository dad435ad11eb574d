"""The tables of the benchmark as they stand in docs/speed.md."""

import math
from collections.abc import Mapping, Sequence


def print_report(report: Mapping) -> None:
    """Prints a table for each part that was measured."""
    print(f"\nmachine: {report['machine']}\n")
    for name, times in report.get("steps", {}).items():
        print_steps(name, times)
    if "blocks" in report:
        print_blocks(report["blocks"])
    measured = {
        name: words
        for part in ("parts", "photos", "resnet")
        for name, words in report.get(part, {}).items()
    }
    if measured:
        print("| part | measured |")
        print("|---|---|")
        for name, value in measured.items():
            print(f"| {name} | {value} |")
        print()
    if "walk" in report:
        print_walk(report["walk"])
    if "curves" in report:
        print_curves(report["curves"])


def print_steps(work: str, times: Mapping[str, float]) -> None:
    """Prints the milliseconds of a training step of each competitor."""
    print(f"| training step, {work} episode | ms | ours is faster by |")
    print("|---|---|---|")
    for competitor, milliseconds in times.items():
        ratio = milliseconds / times["ours"]
        print(f"| {competitor} | {milliseconds:.0f} | {ratio:.2f} |")
    print()


def print_blocks(rows: Sequence[Mapping]) -> None:
    """Prints what each block of a mini step takes, and what its arithmetic would."""
    print("| block of a mini step | ms | bfloat16, ms | arithmetic limit, ms |")
    print("|---|---|---|---|")
    for row in rows:
        cells = (f"{row[name]:.0f}" for name in ("float32", "bfloat16", "limit"))
        print(f"| {row['block']} | {' | '.join(cells)} |")
    print()


def print_walk(rows: Sequence[Mapping]) -> None:
    """Prints time and memory of walks, and the power of the points they grow with."""
    print("| walk | D | time | grows as | memory beside the points |")
    print("|---|---|---|---|---|")
    before: Mapping = {}
    for row in rows:
        kind = "and its gradient" if row["gradient"] else "alone"
        alike = all(before.get(name) == row[name] for name in ("size", "gradient"))
        growth = f"U^{_exponent(before, row):.2f}" if alike else ""
        print(
            f"| {row['points']:,} points, the walk {kind} | {row['size']} | "
            f"{row['seconds']:.3g} s | {growth} | {row['gigabytes']:.2f} GB |"
        )
        before = row


def print_curves(rows: Sequence[Mapping]) -> None:
    """Prints what a second is enough for as episodes grow."""
    print("\n| episode with | images | training | test | images embedded |")
    print("|---|---|---|---|---|")
    for row in rows:
        print(
            f"| {row['factor']} {row['value']} | {row['images']} | "
            f"{row['training']:.2f} a second | {row['evaluation']:.0f} a second | "
            f"{row['embedding']:.0f} a second |"
        )


def _exponent(before: Mapping, after: Mapping) -> float:
    """Returns the power of the points that the time grew with."""
    longer = after["seconds"] / before["seconds"]
    return math.log(longer) / math.log(after["points"] / before["points"])
