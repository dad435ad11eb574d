"""Command lines and tables of `python -m prwn_tf.predict`."""

import csv
import pathlib

NAMES = ("ant", "bée", "cat")


def flags(model, folders, output, changes=()) -> list[str]:
    values = {
        "model": model,
        "support": folders / "support",
        "query": folders / "query",
        "unlabeled": folders / "unlabeled",
        "adapt": "filter",
        "output": output,
    } | dict(changes)
    return [f"--{name}={value}" for name, value in values.items() if value is not None]


def read(path: pathlib.Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))
