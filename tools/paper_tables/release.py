"""A finished run made small enough to be given away.

What is left is what `evaluate`, `analyze`, `distractors` and `export` need: the config,
the result, the weights without the optimizer's state, the validations, and how the test
episodes were spread in place of all of them.
"""

import pathlib
import shutil

import numpy as np

from prwn_tf import files, runs
from prwn_tf.training import weights
from prwn_tf.training.workdir import Workdir

KEPT = (
    "config.json",
    "versions.json",
    "result.json",
    "validation.csv",
    "calibration.json",
)
PERCENTILES = (0, 5, 25, 50, 75, 95, 100)


def release(run: pathlib.Path, output: pathlib.Path) -> None:
    """Writes the run in one folder to another, whole or not at all."""
    trained = runs.load_model(Workdir(run))
    beside = output.with_name(f".{output.name}.tmp")
    shutil.rmtree(beside, ignore_errors=True)
    checkpoints = Workdir(beside).checkpoints
    weights.save(checkpoints, trained.model, trained.config.select, trained.step)
    for name in KEPT:
        if (run / name).exists():  # a run of before has not all of them
            shutil.copyfile(run / name, beside / name)
    for name in ("config.json", "result.json"):
        _name_origin(beside / name)
    summary = summarize(run / "episodes.csv")
    files.write_json(beside / "episodes_summary.json", summary)
    shutil.rmtree(output, ignore_errors=True)
    beside.rename(output)


def _name_origin(path: pathlib.Path) -> None:
    """Says which run an encoder came from, not where that lay on one machine."""
    content = files.read_json(path)
    if origin := content.get("init_from"):
        origin["workdir"] = pathlib.PurePath(origin["workdir"]).name
        files.write_json(path, content)


def summarize(path: pathlib.Path) -> dict[str, dict[str, float]]:
    """Returns mean, deviation and percentiles of each column of accuracies."""
    header, *rows = files.read_csv(path)
    columns = np.array(rows, np.float64).T  # [columns, episodes]
    return {
        name: {
            "episodes": len(values),
            "mean": float(np.mean(values)),
            "deviation": float(np.std(values)),
            **{f"percentile {p}": float(np.percentile(values, p)) for p in PERCENTILES},
        }
        for name, values in zip(header[1:], columns[1:], strict=True)
    }
