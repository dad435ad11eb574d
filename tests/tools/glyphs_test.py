"""Three seeds of the first command: what is stored of each, and of all."""

import json
import pathlib
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[2]
sys.path.append(str(ROOT / "tools"))
from glyphs import command  # noqa: E402


def test_numbers_of_finished_runs(tmp_path):
    places = {seed: tmp_path / f"seed{seed}" for seed in command.SEEDS}
    for seed, place in places.items():
        for folder, accuracy in (("", 0.9 + seed / 100), ("without_walk", 0.8)):
            tests = [
                {"adapt": adapt, "accuracy": accuracy, "interval": 0.01, "episodes": 9}
                for adapt in command.ADAPTATIONS
            ]
            (place / folder).mkdir(exist_ok=True)
            (place / folder / "result.json").write_text(json.dumps({"test": tests}))
        (place / "versions.json").write_text("{}")
    content = command.numbers(places)
    assert [run["gain"] for run in content["runs"]] == pytest.approx([0.1, 0.11, 0.12])
    [row] = [
        row
        for row in content["summary"]
        if (row["run"], row["adapt"]) == ("prwn", "refine")
    ]
    ends = {"lowest": 0.9, "highest": 0.92}
    assert row == {
        "run": "prwn",
        "adapt": "refine",
        "mean": pytest.approx(0.91),
        **ends,
    }


def test_the_stored_means_are_those_of_the_stored_runs():
    text = (ROOT / "results/glyphs/glyphs.json").read_text(encoding="utf-8")
    content = json.loads(text)
    for row in content["summary"]:
        again = command.summary(content["runs"], row["run"], row["adapt"])
        assert again == pytest.approx(row)
