"""The page of a data set's results, read from the folders of its rows.

Only the prose of its notes is written by hand.
"""

import itertools
import pathlib
import statistics
from collections.abc import Iterator
from typing import Any

from paper_tables import ablations, inference, markdown, sections
from paper_tables.description import Cell, DatasetTables, Table
from paper_tables.results import Results

from prwn_tf import files, protocols
from prwn_tf.errors import UserError
from prwn_tf.precision import PRECISIONS
from prwn_tf.task import Task


def write(tables: DatasetTables, output: pathlib.Path) -> None:
    """Writes the page of all results anew."""
    files.write_text(tables.page(output), page(tables, output))


def check_replaceable(tables: DatasetTables, output: pathlib.Path) -> None:
    """Raises if `write` would replace a page that it did not write."""
    place = tables.page(output)
    title, *_ = tables.notes.read_text(encoding="utf-8").splitlines()
    if place.exists() and not place.read_bytes().startswith(f"{title}\n".encode()):
        better = output.parent / "quick" / tables.dataset
        raise UserError(
            f"{place} is no page of results, and one would replace it; give an "
            f"--output in a folder of its own, such as {better}"
        )


def page(tables: DatasetTables, output: pathlib.Path) -> str:
    """Returns the page in Markdown."""
    results = Results(tables, output)
    parts = [tables.notes.read_text(encoding="utf-8").strip()]
    for table in tables.tables:
        if any(results.result(cell.row) for cell in table.cells):
            parts += [f"## {table.title}", _cells(results, table)]
    parts += ["## The runs", _runs(results)]
    if tables.spread:
        parts += ["## Other label splits", _spread(results)]
    parts += ablations.sections(tables, output, results.link(ablations.FOLDER))
    parts += inference.sections(results)
    return "\n\n".join([*parts, *sections.all_sections(results)]) + "\n"


def _cells(results: Results, table: Table) -> str:
    """Returns the accuracies of a table beside the paper's."""
    shots = results.tables.shots
    lines = []
    for cell in table.cells:
        compared = [
            text
            for shot in shots
            for text in _compared(results, cell, table.distractors, shot)
        ]
        run = f"`{cell.row}`"
        if results.result(cell.row):
            run = f"[{cell.row}]({results.link(cell.row)})"
        lines.append((cell.title, *compared, run, cell.adapt))
    columns = [
        f"{shot}-shot {name}" if len(shots) > 1 else name
        for shot in shots
        for name in _columns(results.tables)
    ]
    return markdown.table(("model", *columns, "run", "`--adapt`"), lines)


def _columns(tables: DatasetTables) -> tuple[str, ...]:
    """Returns what a table says of each shot."""
    splits = ("mean ± deviation of label splits",) if tables.spread else ()
    return ("paper", "ours", "difference", *splits)


def _compared(
    results: Results, cell: Cell, distractors: int, shot: int
) -> Iterator[str]:
    """Yields the paper's accuracy, ours, the difference, and that of all splits."""
    published = cell.paper.get(shot)
    yield markdown.percent(*published) if published else "–"
    entry = results.test(cell.row, cell.adapt, distractors, shot)
    yield markdown.measured(entry)
    both = entry and published
    yield f"{100 * entry['accuracy'] - published[0]:+.2f}" if both else ""
    if results.tables.spread:
        yield _deviation(_of_splits(results, cell, distractors, shot))


def _runs(results: Results) -> str:
    """Returns what each run is, and the commands that repeat it."""
    tables = results.tables
    lines = []
    for row in tables.all_rows:
        result = results.result(row)
        if result:
            lines.append(
                (
                    f"`{row}`",
                    _episodes(result) if tables.short else result["step"],
                    f"{result['seconds']:.0f}",
                    result["seed"],
                    result["test"][0]["episodes"],
                    f"`{_training(tables, row, result)}`",
                    f"`{_evaluation(tables, row, result['test'])}`",
                )
            )
    episodes = "episodes of the whole setting" if tables.short else "episodes"
    header = ("run", episodes, "seconds", "seed", "test episodes", "train", "test")
    return markdown.table(header, lines)


def _episodes(result: dict[str, Any]) -> str:
    """Returns how many training episodes a row had of those that were published."""
    task = Task(dataset=result["dataset"], method=result["method"])
    return f"{result['step']} of {protocols.protocol(task).episodes}"


def _training(tables: DatasetTables, row: str, result: dict[str, Any]) -> str:
    """Returns the command that trains a row again."""
    flags = tables.flags(row, pathlib.Path())
    if result.get("precision", PRECISIONS[0]) != PRECISIONS[0]:
        flags.append(f"--precision={result['precision']}")
    place = f"--workdir={tables.runs_dir}/{row}"
    return " ".join(["python -m prwn_tf.train", *flags, place])


def _evaluation(tables: DatasetTables, row: str, tests: list[dict[str, Any]]) -> str:
    """Returns the command that gives the digits of a row's tests again."""
    adaptations = ",".join(dict.fromkeys(test["adapt"] for test in tests))
    flags = [f"--workdir={tables.released_dir}/{row}", f"--adapt={adaptations}"]
    for name in ("shot", "distractors"):
        numbers = dict.fromkeys(test[name] for test in tests)
        if len(numbers) > 1:
            flags.append(f"--{name}={','.join(map(str, numbers))}")
    return " ".join(["python -m prwn_tf.evaluate", *flags])


def _spread(results: Results) -> str:
    """Returns the accuracies of the same rows with other seeds."""
    tables = results.tables
    lines = []
    for table, shot in itertools.product(tables.tables, tables.shots):
        for cell in table.cells:
            entries = _of_splits(results, cell, table.distractors, shot)
            if any(entries[1:]):
                cells = map(markdown.measured, entries)
                lines.append((cell.title, table.title, shot, cell.adapt, *cells))
    seeds = [f"seed {seed}" for seed in (0, *tables.seeds)]
    return markdown.table(("model", "episodes", "shot", "`--adapt`", *seeds), lines)


def _of_splits(
    results: Results, cell: Cell, distractors: int, shot: int
) -> list[dict[str, Any] | None]:
    """Returns the tests of a cell's trainings, one for each label split."""
    names = results.tables.splits(cell.row)
    return [results.test(name, cell.adapt, distractors, shot) for name in names]


def _deviation(entries: list[dict[str, Any] | None]) -> str:
    """Returns the mean of tests and their standard deviation (%), and their number."""
    accuracies = [100 * entry["accuracy"] for entry in entries if entry]
    if len(accuracies) < 2:
        return ""
    mean, deviation = statistics.mean(accuracies), statistics.stdev(accuracies)
    return f"{markdown.percent(mean, deviation)} ({len(accuracies)})"
