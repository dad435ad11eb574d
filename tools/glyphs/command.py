"""The first command of the README with three seeds: what the walk adds on glyphs."""

import argparse
import pathlib
from typing import Any

from paper_tables import programs

from prwn_tf import cli, files
from prwn_tf.cli import define
from prwn_tf.config import ADAPTATIONS

ABOUT = "The first command of the README with three seeds, and their mean."
SEEDS = (0, 1, 2)
RUNS = {"without_walk": "without_walk", "prwn": ""}  # name -> place in the workdir
KEPT = ("adapt", "accuracy", "interval", "episodes")  # of a test


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the settings of the experiment."""
    parser.add_argument(
        "--output", default="results/glyphs/glyphs.json", help="the numbers"
    )
    parser.add_argument("--runs", default="runs/glyphs", help="the runs themselves")
    parser.add_argument(
        "--data_dir", default=define.DATA_DIR, help="folder of prepared data sets"
    )


def run(arguments: argparse.Namespace) -> None:
    """Trains what is missing, and writes and prints the numbers."""
    output, runs = cli.path(arguments.output), cli.path(arguments.runs)
    places = {seed: runs / f"seed{seed}" for seed in SEEDS}
    for seed, place in places.items():
        if not (place / "without_walk" / "result.json").exists():
            flags = (f"--seed={seed}", f"--workdir={place}")
            programs.run("train", *flags, data_dir=cli.path(arguments.data_dir))
    content = numbers(places)
    files.write_json(output, content)
    for row in content["summary"]:
        mean, *ends = (100 * row[name] for name in ("mean", "lowest", "highest"))
        spread = " to ".join(f"{end:.2f}" for end in ends)
        print(f"{row['run']:12}  {row['adapt']:6}  {mean:.2f}  {spread}")


def numbers(places: dict[int, pathlib.Path]) -> dict[str, Any]:
    """Returns the tests of finished runs by seed, and their means."""
    runs = [_run(seed, place) for seed, place in places.items()]
    return {
        "about": "the first command of the README with three seeds, on one CPU",
        "versions": files.read_json(places[SEEDS[-1]] / "versions.json"),
        "runs": runs,
        "summary": [summary(runs, run, adapt) for run in RUNS for adapt in ADAPTATIONS],
    }


def _run(seed: int, place: pathlib.Path) -> dict[str, Any]:
    """Returns what came of one seed."""
    tests = {
        name: [
            {key: test[key] for key in KEPT}
            for test in files.read_json(place / folder / "result.json")["test"]
        ]
        for name, folder in RUNS.items()
    }
    gain = tests["prwn"][0]["accuracy"] - tests["without_walk"][0]["accuracy"]
    command = f"python -m prwn_tf.train --seed={seed}"
    return {"command": command, "seed": seed, **tests, "gain": gain}


def summary(runs: list[dict[str, Any]], run: str, adapt: str) -> dict[str, Any]:
    """Returns mean and range of one adaptation over seeds."""
    values = [
        test["accuracy"]
        for each in runs
        for test in each[run]
        if test["adapt"] == adapt
    ]
    mean = sum(values) / len(values)
    ends = {"lowest": min(values), "highest": max(values)}
    return {"run": run, "adapt": adapt, "mean": mean, **ends}
