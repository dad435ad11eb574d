"""The parts of the page that come from the analyses; those not made are left out."""

from collections.abc import Callable, Sequence
from typing import Any

from paper_tables import analyses, markdown
from paper_tables.description import Published
from paper_tables.results import Results

SHOWN = ("ways", "landing", "consistency", "distractors_roc")


def all_sections(results: Results) -> list[str]:
    """Returns the titles and texts of the analyses that were made, then figures."""
    tables = results.tables
    ways = _ways_at if tables.higher_ways.at else _by_way
    sections = {
        tables.higher_ways.title: ("ways", ways),
        "The walker among distractors (p_clean, smoothed)": ("distractors", _clean),
        "Local consistency (average VAT loss)": ("consistency", _consistency),
        "Coming home (landing probability by inner steps)": ("landing", _landing),
    }
    parts = []
    for title, (name, text) in sections.items():
        if results.analysis(name):
            parts += [f"## {title}", text(results)]
    return parts + [
        f"![{name}]({results.link(analyses.FOLDER, f'{name}.png')})"
        for name in SHOWN
        if (results.output / analyses.FOLDER / f"{name}.png").exists()
    ]


def _beside_paper(
    results: Results,
    name: str,
    published: Sequence[Published],
    number: Callable[[dict[str, Any]], str | None],
) -> str:
    """Returns the numbers of an analysis beside the paper's.

    Args:
        number: returns what a row of the analysis says, or None if it is another.
    """
    entries = results.analysis(name)
    lines = []
    for each in published:
        numbers = (number(row) for row in entries if row["run"] == each.label)
        ours = next(filter(None, numbers), markdown.NOT_RUN)
        paper = "–" if each.number is None else each.number
        lines.append((each.label, paper, ours, f"`{each.row}`"))
    return markdown.table(("model", "paper", "ours", "run"), lines)


def _ways_at(results: Results) -> str:
    """Returns the accuracies of the number of ways that the paper has them for."""
    _, runs, way = results.tables.higher_ways

    def number(row: dict[str, Any]) -> str | None:
        return markdown.measured(row) if row["way"] == way else None

    return _beside_paper(results, "ways", runs, number)


def _by_way(results: Results) -> str:
    """Returns the accuracies of all numbers of ways, and how they compare."""
    entries = results.analysis("ways")
    ways = sorted({row["way"] for row in entries})
    by_run = {
        label: {row["way"]: row for row in entries if row["run"] == label}
        for label in dict.fromkeys(row["run"] for row in entries)
    }
    base = results.tables.higher_ways.runs[0].label
    lines = []
    for label, by_way in by_run.items():
        cells = [markdown.measured(by_way.get(way)) for way in ways]
        gain = ""
        if base in by_run and label != base:
            ratio = by_way[ways[-1]]["accuracy"] / by_run[base][ways[-1]]["accuracy"]
            gain = f"{100 * (ratio - 1):+.1f} %"
        lines.append((label, *cells, gain))
    header = ("model", *(f"{way} ways" for way in ways))
    return markdown.table((*header, f"relative to {base} at {ways[-1]} ways"), lines)


def _clean(results: Results) -> str:
    """Returns how likely the walker is at a clean point."""

    def number(row: dict[str, Any]) -> str:
        return f"{row['p_clean_smoothed']:.3f} ± {row['p_clean_smoothed_interval']:.3f}"

    return _beside_paper(results, "distractors", results.tables.clean, number)


def _consistency(results: Results) -> str:
    """Returns the average VAT losses."""

    def number(row: dict[str, Any]) -> str:
        return f"{row['vat_loss']:.1f} ± {row['interval']:.1f}"

    return _beside_paper(results, "consistency", results.tables.consistency, number)


def _landing(results: Results) -> str:
    """Returns the landing probabilities of every run by its inner steps."""
    entries = results.analysis("landing")
    steps = sorted({row["steps"] for row in entries})
    lines = []
    for label in dict.fromkeys(row["run"] for row in entries):
        curve = {row["steps"]: row["landing"] for row in entries if row["run"] == label}
        lines.append((label, *(f"{curve[step]:.2f}" for step in steps)))
    return markdown.table(("model", *map(str, steps)), lines)
