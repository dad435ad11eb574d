"""What unlabelled images do for the released models, in pools of many kinds.

All adaptations answer the same fresh test episodes, so that differences are paired. The
settings of the rivals were chosen on validation classes, as those of the gate were.
"""

import dataclasses
import pathlib
from typing import TYPE_CHECKING, Any

import numpy as np
from paper_tables import markdown
from paper_tables.description import DatasetTables
from paper_tables.results import Results

from prwn_tf import cli, files
from prwn_tf.evaluation.intervals import half_width
from prwn_tf.training.workdir import Workdir

if TYPE_CHECKING:
    from paper_tables.subjects import Examined

FOLDER = "inference"
SEED = 1  # of the episodes; those of the tables above have 0
EPISODES = 1000
GATE = "gate"


def measure(
    tables: DatasetTables, output: pathlib.Path, data_dir: pathlib.Path
) -> None:
    """Measures the rows that are released in a folder, each of them once."""
    missing = [row for row in tables.inference_rows if _is_missing(output, row)]
    uncalibrated = [row for row in tables.all_rows if _is_uncalibrated(output, row)]
    if not missing and not uncalibrated:
        return
    cli.load_tensorflow()
    from paper_tables.subjects import Examined

    for row in dict.fromkeys((*missing, *uncalibrated)):
        examined = Examined(output / row, data_dir)
        examined.calibrate()
        if row in missing:
            files.write_json(
                output / FOLDER / f"{row}.json", _measured(tables, examined)
            )
        print(f"measured {output / row}", flush=True)


def _is_missing(output: pathlib.Path, row: str) -> bool:
    released = (output / row / "result.json").exists()
    return released and not (output / FOLDER / f"{row}.json").exists()


def _is_uncalibrated(output: pathlib.Path, row: str) -> bool:
    """Returns whether validation classes could tell how sure a row is, and did not."""
    workdir = Workdir(output / row)
    if not workdir.result.exists() or workdir.calibration.exists():
        return False
    return not workdir.load_config().learns_validation


def _measured(tables: DatasetTables, examined: "Examined") -> dict[str, Any]:
    """Returns the accuracies of every situation, and how strangers are told."""
    situations = []
    for situation in tables.situations:
        spec = dataclasses.replace(examined.config.test, **situation.task)
        evaluations = examined.evaluate(spec, SEED, EPISODES)
        gate = next(each for each in evaluations if each.adapt == GATE)
        situations.append(
            {
                "title": situation.title,
                "spec": dataclasses.asdict(spec),
                "adaptations": [
                    each.row() | _gain(gate.accuracies - each.accuracies)
                    for each in evaluations
                ],
            }
        )
        print(f"{situation.title}: gate {gate.percent}", flush=True)
    return {
        "eval_seed": SEED,
        "episodes": EPISODES,
        "situations": situations,
        "strangers": [
            row
            for distractors in (0, 5)
            for row in examined.strangers(distractors, SEED, EPISODES // 10)
        ],
    }


def _gain(differences: np.ndarray) -> dict[str, float]:
    """Returns what the gate has more on the same episodes, with its interval: [E]."""
    gain = float(differences.mean())
    return {"gate_gain": gain, "gate_interval": half_width(differences)}


def sections(results: Results) -> list[str]:
    """Returns the titles and tables of what was measured; nothing if nothing was."""
    measured = {
        row: files.read_json(path)
        for row in results.tables.inference_rows
        if (path := results.output / FOLDER / f"{row}.json").exists()
    }
    if not measured:
        return []
    first = next(iter(measured.values()))
    folder = results.link(FOLDER)
    return [
        f"## The gate against all others ({first['episodes']} fresh episodes each)",
        f"Numbers of this table and of the next two: [{FOLDER}]({folder}).",
        _situations(measured),
        "## None of these (strangers among the queries, thresholds of validation)",
        _strangers(measured),
        "## Calibration error (points) of the same episodes, before and after",
        _errors(measured),
    ]


def _situations(measured: dict[str, dict[str, Any]]) -> str:
    """Returns accuracies of none and the gate, and what the gate has more than each."""
    lines = []
    for row, content in measured.items():
        for situation in content["situations"]:
            entries = {each["adapt"]: each for each in situation["adaptations"]}
            accuracies = (100 * entries[name]["accuracy"] for name in ("none", GATE))
            gains = [_gain_text(each) for name, each in entries.items() if name != GATE]
            cells = (f"{accuracy:.2f}" for accuracy in accuracies)
            lines.append((f"`{row}`", situation["title"], *cells, *gains))
    names = [f"− {name}" for name in entries if name != GATE]
    return markdown.table(("run", _task(measured), "none", "gate", *names), lines)


def _task(measured: dict[str, dict[str, Any]]) -> str:
    """Returns the first situation's episodes, from which the others differ."""
    spec = next(iter(measured.values()))["situations"][0]["spec"]
    points = f"{spec['unlabeled']} unlabelled a class"
    return f"{spec['way']}-way {spec['shot']}-shot, {points}"


def _gain_text(entry: dict[str, Any]) -> str:
    """Returns a paired difference; bold where the other one wins."""
    gain, interval = 100 * entry["gate_gain"], 100 * entry["gate_interval"]
    text = f"{gain:+.2f} ± {interval:.2f}"
    return f"**{text}**" if gain < -interval else text


def _strangers(measured: dict[str, dict[str, Any]]) -> str:
    """Returns how well strangers are told from images of an episode's classes."""
    lines = [
        (
            f"`{row}`",
            entry["distractors"],
            entry["adapt"],
            f"{entry['roc_area']:.3f}",
            f"{100 * entry['false_alarms']:.1f} %",
            f"{100 * entry['caught']:.1f} %",
        )
        for row, content in measured.items()
        for entry in content["strangers"]
    ]
    header = ("run", "distractor classes", "`--adapt`", "ROC area", "false alarms")
    return markdown.table((*header, "strangers found"), lines)


def _errors(measured: dict[str, dict[str, Any]]) -> str:
    """Returns the calibration errors of the first situation."""
    lines = []
    for row, content in measured.items():
        for entry in content["situations"][0]["adaptations"]:
            if entry["temperature"] is not None:
                errors = (entry["calibration_error"], entry["calibrated_error"])
                cells = (f"{100 * error:.2f}" for error in errors)
                temperature = f"{entry['temperature']:.3g}"
                lines.append((f"`{row}`", entry["adapt"], *cells, temperature))
    return markdown.table(("run", "`--adapt`", "before", "after", "temperature"), lines)
