"""The page of results, results/README.md, read from the folders beside it.

Only the prose of `notes.md` is written by hand.
"""

import pathlib
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from omniglot import rows
from omniglot.rows import Published, Table

from prwn_tf import files
from prwn_tf.errors import UserError

NOTES = pathlib.Path(__file__).with_name("notes.md")
NOT_RUN = "not run"
FIGURES = ("ways", "landing", "consistency", "distractors_roc")


def write(output: pathlib.Path) -> None:
    """Writes the page of all results anew, beside the folder of the rows."""
    files.write_text(_place(output), page(output))


def check_replaceable(output: pathlib.Path) -> None:
    """Raises if `write` would replace a page that it did not write."""
    place = _place(output)
    title, *_ = NOTES.read_text(encoding="utf-8").splitlines()
    if place.exists() and not place.read_bytes().startswith(f"{title}\n".encode()):
        better = output.parent / "quick/omniglot"
        raise UserError(
            f"{place} is no page of results, and one would replace it; give an "
            f"--output in a folder of its own, such as {better}"
        )


def _place(output: pathlib.Path) -> pathlib.Path:
    """Returns where the page lies."""
    return output.parent / "README.md"


def page(output: pathlib.Path) -> str:
    """Returns the page in Markdown."""
    results = Results(output)
    parts = [NOTES.read_text(encoding="utf-8").strip()]
    for table in rows.TABLES:
        parts += [f"## {table.title}", _cells(results, table)]
    parts += ["## The runs", _runs(results)]
    parts += ["## Other label splits", _spread(results)]
    parts += [
        "## 800 ways, 1 shot",
        _analysis(results, "ways", rows.HIGHER_WAY, _at_800),
    ]
    clean = _analysis(results, "distractors", rows.CLEAN, _clean)
    parts += ["## The walker among distractors (p_clean, smoothed)", clean]
    moved = _analysis(results, "consistency", rows.CONSISTENCY, _vat_loss)
    parts += ["## Local consistency (average VAT loss)", moved]
    parts += ["## Coming home (landing probability by inner steps)", _landing(results)]
    figures = [
        f"![{name}]({output.name}/analysis/{name}.png)"
        for name in FIGURES
        if (output / "analysis" / f"{name}.png").exists()
    ]
    return "\n\n".join([*parts, *figures]) + "\n"


class Results:
    """The released rows and the analyses of them."""

    def __init__(self, output: pathlib.Path):
        self.output = output

    def result(self, row: str) -> dict[str, Any] | None:
        """Returns the result of a row, if it is there."""
        path = self.output / row / "result.json"
        return files.read_json(path) if path.exists() else None

    def test(self, row: str, adapt: str, distractors: int) -> dict[str, Any] | None:
        """Returns one entry of a row's tests, if it is there."""
        result = self.result(row)
        for entry in result["test"] if result else []:
            if (entry["adapt"], entry["distractors"]) == (adapt, distractors):
                return entry
        return None

    def analysis(self, name: str) -> list[dict[str, Any]]:
        """Returns the rows of an analysis, none if it was not made."""
        path = self.output / "analysis" / f"{name}.json"
        return files.read_json(path)["rows"] if path.exists() else []


def _cells(results: Results, table: Table) -> str:
    """Returns the accuracies of a table beside the paper's."""
    lines = []
    for cell in table.cells:
        paper = _percent(cell.accuracy, cell.interval)
        entry = results.test(cell.row, cell.adapt, table.distractors)
        if entry is None:
            lines.append((cell.title, paper, NOT_RUN, "", f"`{cell.row}`", cell.adapt))
            continue
        accuracy, interval = 100 * entry["accuracy"], 100 * entry["interval"]
        gap = "" if cell.accuracy is None else f"{accuracy - cell.accuracy:+.2f}"
        lines.append(
            (
                cell.title,
                paper,
                _percent(accuracy, interval),
                gap,
                f"[{cell.row}]({results.output.name}/{cell.row})",
                cell.adapt,
            )
        )
    header = ("model", "paper", "ours", "difference", "run", "`--adapt`")
    return _table(header, lines)


def _runs(results: Results) -> str:
    """Returns what each run is, and the commands that repeat it."""
    lines = []
    for row in (*rows.ROWS, *rows.REPEATS):
        result = results.result(row)
        if result:
            lines.append(
                (
                    f"`{row}`",
                    result["step"],
                    f"{result['seconds']:.0f}",
                    result["seed"],
                    result["test"][0]["episodes"],
                    f"`{_training(row)}`",
                    f"`{_evaluation(row, result['test'])}`",
                )
            )
    header = ("run", "episodes", "seconds", "seed", "test episodes", "train", "test")
    return _table(header, lines)


def _training(row: str) -> str:
    """Returns the command that trains a row again."""
    flags = " ".join(rows.flags(row, pathlib.Path()))
    return f"python -m prwn_tf.train {flags} --workdir=runs/omniglot/{row}"


def _evaluation(row: str, tests: list[dict[str, Any]]) -> str:
    """Returns the command that gives the digits of a row's tests again."""
    adaptations = ",".join(dict.fromkeys(test["adapt"] for test in tests))
    distractors = {test["distractors"]: None for test in tests}
    flags = [f"--workdir=results/omniglot/{row}", f"--adapt={adaptations}"]
    if len(distractors) > 1:
        flags += [f"--distractors={','.join(map(str, distractors))}"]
    return " ".join(["python -m prwn_tf.evaluate", *flags])


def _spread(results: Results) -> str:
    """Returns the accuracies of the same rows with other seeds."""
    lines = []
    for row in rows.SPREAD:
        for adapt in ("none", "refine"):
            names = (row, *(f"{row}_seed{seed}" for seed in rows.SEEDS))
            entries = [results.test(name, adapt, distractors=0) for name in names]
            cells = [
                _percent(100 * e["accuracy"], 100 * e["interval"]) if e else NOT_RUN
                for e in entries
            ]
            lines.append((row, adapt, *cells))
    header = ("run", "`--adapt`", "seed 0", *(f"seed {seed}" for seed in rows.SEEDS))
    return _table(header, lines)


def _analysis(
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
        ours = next(filter(None, numbers), NOT_RUN)
        paper = "–" if each.number is None else each.number
        lines.append((each.label, paper, ours, f"`{each.row}`"))
    return _table(("model", "paper", "ours", "run"), lines)


def _at_800(row: dict[str, Any]) -> str | None:
    """Returns the accuracy of a row of 800 ways, and None of any other."""
    if row["way"] != 800:
        return None
    return _percent(100 * row["accuracy"], 100 * row["interval"])


def _clean(row: dict[str, Any]) -> str:
    """Returns how likely the walker is at a clean point."""
    return f"{row['p_clean_smoothed']:.3f} ± {row['p_clean_smoothed_interval']:.3f}"


def _vat_loss(row: dict[str, Any]) -> str:
    """Returns the average VAT loss of a run."""
    return f"{row['vat_loss']:.1f} ± {row['interval']:.1f}"


def _landing(results: Results) -> str:
    """Returns the landing probabilities of every run by its inner steps."""
    entries = results.analysis("landing")
    steps = sorted({row["steps"] for row in entries})
    lines = []
    for label in dict.fromkeys(row["run"] for row in entries):
        curve = {row["steps"]: row["landing"] for row in entries if row["run"] == label}
        lines.append((label, *(f"{curve[step]:.2f}" for step in steps)))
    return _table(("model", *map(str, steps)), lines) if lines else NOT_RUN


def _percent(accuracy: float | None, interval: float | None) -> str:
    """Returns an accuracy in per cent with its interval, or a dash."""
    if accuracy is None:
        return "–"
    return f"{accuracy:.2f}" + (f" ± {interval:.2f}" if interval else "")


def _table(header: Sequence[str], lines: Iterable[Sequence[Any]]) -> str:
    """Returns a table in Markdown."""
    table = [header, ["---"] * len(header), *lines]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in table)
