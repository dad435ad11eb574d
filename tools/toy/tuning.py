"""Chooses the settings of the walk on validation, with seeds of their own."""

import dataclasses
import itertools
import pathlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import tqdm
from toy import settings, study

SEEDS = range(100, 105)  # none of those that are reported
STEPS = (300, 1_000, 3_000, 6_000)
RATES = (1e-3, 3e-3, 1e-2, 3e-2)
WEIGHTS = (0.1, 0.3, 1.0, 3.0)
VISITS = (0.0, 1.0)
MAX_ROWS = 8  # of each model in the table


def report(
    datasets: Sequence[str], data_dir: pathlib.Path, command: str, quick: bool = False
) -> tuple[str, dict[str, Any]]:
    """Returns the best candidates of each set as Markdown, and all as numbers."""
    parts = ["# Settings tried on validation", f"`{command}`"]
    numbers: dict[str, Any] = {"command": command}
    for dataset in datasets:
        data = study.Data(dataset, data_dir)
        rows = tune(dataset, data, SEEDS[:1] if quick else SEEDS)
        numbers[dataset] = rows
        header = list(rows[0])
        lines = [header, ["---"] * len(header)]
        for model in ("few", "walk"):
            best = [row for row in rows if row["model"] == model][:MAX_ROWS]
            lines += [[_cell(value) for value in row.values()] for row in best]
        table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
        parts += [f"## {dataset}", table]
    return "\n\n".join(parts) + "\n", numbers


def _cell(value: Any) -> str:
    """Returns a value as the table has it."""
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def tune(dataset: str, data: study.Data, seeds: Sequence[int] = SEEDS) -> list[dict]:
    """Returns the validation accuracy of every candidate and length, best first."""
    jobs = {
        (model, setting): study.Job(setting, (model,), tuple(seeds))
        for model, setting in candidates(dataset)
    }
    outcomes = {key: [] for key in jobs}
    progress = tqdm.tqdm(
        study.Study(data).run(jobs, STEPS),
        desc=dataset,
        total=len(jobs) * len(seeds),
        disable=None,
    )
    for key, outcome in progress:
        outcomes[key].append(outcome)
    rows = [_row(*key, step, outcomes[key]) for key in jobs for step in STEPS]
    return sorted(rows, key=lambda row: -row["validation"])


def _row(
    model: str, setting: settings.Setting, step: int, outcomes: Sequence[study.Outcome]
) -> dict[str, Any]:
    """Returns a candidate and what it reached after some steps."""
    validation = [100 * each.curve[step]["val"] for each in outcomes]
    walks = model == "walk"
    return {
        "model": model,
        "learning_rate": setting.learning_rate,
        "walk_weight": setting.walk.weight if walks else 0.0,
        "visit_weight": setting.walk.visit_weight if walks else 0.0,
        "steps": step,
        "validation": float(np.mean(validation)),
        "spread": float(np.std(validation)),
    }


def candidates(dataset: str) -> Iterator[tuple[str, settings.Setting]]:
    """Yields the few-label model at every rate, and the walk at every weight too."""
    base = dataclasses.replace(
        settings.equal_training(dataset),
        steps=(max(STEPS),) * len(settings.MODELS),
    )
    for rate in RATES:
        setting = dataclasses.replace(base, learning_rate=rate)
        yield "few", setting
        for weight, visit in itertools.product(WEIGHTS, VISITS):
            walk = dataclasses.replace(base.walk, weight=weight, visit_weight=visit)
            yield "walk", dataclasses.replace(setting, walk=walk)
