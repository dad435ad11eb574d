"""Chooses the settings of each model on validation, with seeds of their own.

Few labels have a rate and a length of training to choose. The walk has its weights as
well, at the number of inner steps of the paper's figure; then, with what was best, the
number of inner steps and their decay.
"""

import dataclasses
import itertools
import pathlib
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import tqdm
from toy import settings, study
from toy.settings import Setting

from prwn_tf import files

FILE = "tuning.json"
SEEDS = range(100, 105)  # none of those that are reported
STEPS = (300, 1_000, 3_000, 6_000)
RATES = (1e-3, 3e-3, 1e-2, 3e-2)
WEIGHTS = (0.1, 0.3, 1.0, 3.0)
VISITS = (0.0, 1.0)
INNER_STEPS = (0, 1, 2, 3)
DECAYS = (0.7, 1.0)
OF_WALK = ("walk_weight", "visit_weight", "walk_steps", "walk_decay")
MAX_ROWS = 8  # of each model in the table

Candidate = tuple[str, Setting]  # model and setting


def numbers(
    datasets: Sequence[str], data_dir: pathlib.Path, command: str, quick: bool = False
) -> dict[str, Any]:
    """Returns what all candidates of each set reached."""
    seeds = SEEDS[:1] if quick else SEEDS
    rows = {name: tune(name, study.Data(name, data_dir), seeds) for name in datasets}
    return {"command": command, "seeds": list(seeds), **rows}


def report(content: dict[str, Any]) -> str:
    """Returns the best candidates of each set as Markdown, from all numbers."""
    parts = [
        "# Settings tried on validation",
        f"`{content['command']}`",
        f"1-shot accuracy (%) of validation points, mean over {len(content['seeds'])} "
        "seeds that are reported nowhere else, and their standard deviation. The best "
        f"{MAX_ROWS} of each model; [all](tuning.json).",
    ]
    for dataset in filter(content.__contains__, settings.DATASETS):
        rows = content[dataset]
        header = list(rows[0])
        lines = [header, ["---"] * len(header)]
        for model in ("few", "walk"):
            best = [row for row in rows if row["model"] == model][:MAX_ROWS]
            lines += [[_cell(row, name) for name in header] for row in best]
        table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
        parts += [f"## {dataset}", table]
    return "\n\n".join(parts) + "\n"


def chosen(path: pathlib.Path, dataset: str) -> dict[str, Setting]:
    """Returns the best setting of each tuned model, none if nothing was tuned.

    Args:
        path: file of the numbers of `report`.
    """
    rows = files.read_json(path).get(dataset, ()) if path.exists() else ()
    best: dict[str, Setting] = {}
    for row in rows:  # best first
        best.setdefault(row["model"], _setting(dataset, row))
    return best


def tune(dataset: str, data: study.Data, seeds: Sequence[int] = SEEDS) -> list[dict]:
    """Returns the validation accuracy of every candidate and length, best first."""
    trained = study.Study(data)
    first = candidates(dataset)
    rows = _try(dataset, trained, first, seeds)
    best = max(
        (row for row in rows if row["model"] == "walk"),
        key=lambda row: row["validation"],
    )
    further = [each for each in walks_like(dataset, best) if each not in first]
    rows += _try(dataset, trained, further, seeds)
    return sorted(rows, key=lambda row: -row["validation"])


def _try(
    dataset: str,
    trained: study.Study,
    tried: Iterable[Candidate],
    seeds: Sequence[int],
) -> list[dict]:
    """Returns a row for each candidate and length."""
    jobs = {
        (model, setting): study.Job(setting, (model,), tuple(seeds))
        for model, setting in tried
    }
    outcomes = {key: [] for key in jobs}
    progress = tqdm.tqdm(
        trained.run(jobs, STEPS),
        desc=dataset,
        total=len(jobs) * len(seeds),
        disable=None,
    )
    for key, outcome in progress:
        outcomes[key].append(outcome)
    return [_row(*key, step, outcomes[key]) for key in jobs for step in STEPS]


def _cell(row: dict[str, Any], name: str) -> str:
    """Returns a value as the table has it; few labels have no walk."""
    if row["model"] == "few" and name in OF_WALK:
        return "–"
    value = row[name]
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _row(
    model: str, setting: Setting, step: int, outcomes: Sequence[study.Outcome]
) -> dict[str, Any]:
    """Returns a candidate and what it reached after some steps."""
    validation = [100 * each.curve[step]["val"] for each in outcomes]
    return {
        "model": model,
        "learning_rate": setting.learning_rate,
        "walk_weight": setting.walk.weight,
        "visit_weight": setting.walk.visit_weight,
        "walk_steps": setting.walk.steps,
        "walk_decay": setting.walk.decay,
        "steps": step,
        "validation": float(np.mean(validation)),
        "spread": float(np.std(validation)),
    }


def _setting(dataset: str, row: dict[str, Any]) -> Setting:
    """Returns the setting of a row."""
    base = settings.equal_training(dataset)
    walk = dataclasses.replace(
        base.walk,
        weight=row["walk_weight"],
        visit_weight=row["visit_weight"],
        steps=row["walk_steps"],
        decay=row["walk_decay"],
    )
    return dataclasses.replace(
        base,
        learning_rate=row["learning_rate"],
        walk=walk,
        steps=(row["steps"],) * len(settings.MODELS),
    )


def candidates(dataset: str) -> list[Candidate]:
    """Returns few labels at every rate, and the walk at every rate and weight."""
    base = dataclasses.replace(
        settings.equal_training(dataset),
        steps=(max(STEPS),) * len(settings.MODELS),
    )
    tried: list[Candidate] = []
    for rate in RATES:
        setting = dataclasses.replace(base, learning_rate=rate)
        tried.append(("few", setting))
        for weight, visit in itertools.product(WEIGHTS, VISITS):
            walk = dataclasses.replace(base.walk, weight=weight, visit_weight=visit)
            tried.append(("walk", dataclasses.replace(setting, walk=walk)))
    return tried


def walks_like(dataset: str, row: dict[str, Any]) -> list[Candidate]:
    """Returns the walk of a row with every number of inner steps and decay."""
    setting = dataclasses.replace(
        _setting(dataset, row), steps=(max(STEPS),) * len(settings.MODELS)
    )
    return [
        ("walk", dataclasses.replace(setting, walk=walk))
        for walk in (
            dataclasses.replace(setting.walk, steps=steps, decay=decay)
            for steps, decay in itertools.product(INNER_STEPS, DECAYS)
            if steps or decay == DECAYS[0]  # without inner steps nothing decays
        )
    ]
