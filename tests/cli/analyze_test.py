import csv
import json
import shutil
import subprocess
import sys

import pytest

from prwn_tf.config import ADAPTATIONS
from tests.cli import program

LABELS = ["PRWN (prwn)", "PRWN (other)"]


@pytest.fixture(scope="module")
def analyzed(finished, data_dir, tmp_path_factory):
    """What all analyses print of a run and of its copy, and the folder they write."""
    folder = tmp_path_factory.mktemp("analyzed")
    other = shutil.copytree(finished, folder / "other")
    result = program.run(
        "analyze",
        f"--workdir={finished}",
        f"--workdir={other}",
        f"--data_dir={data_dir}",
        f"--output={folder / 'out'}",
        "--ways=2,5",
        "--eval_episodes=10",
        "--walk_steps=3",
        "--epsilons=0.1,0.5",
        "--unlabeled=2",
    )
    assert result.returncode == 0, result.stderr
    return result.stdout, folder / "out"


# Each analysis has its own test in tests/analysis/; these are of all together.


@pytest.mark.slow
def test_every_view_and_way_of_two_runs_is_written(analyzed):
    _, output = analyzed
    landing = list(csv.DictReader((output / "landing.csv").open()))
    views = 4 * ([LABELS[0]] * 4 + [LABELS[1]] * 4)
    assert [row["run"] for row in landing] == views
    assert {row["way"] for row in landing} == {"5", "20"}
    ways = json.loads((output / "ways.json").read_text())
    assert [row["way"] for row in ways["rows"]] == [2, 5, 2, 5]
    assert ways["rows"][0]["query"] == 14  # as the run was tested
    assert ways["rows"][0]["unlabeled"] == 2  # as asked
    points = list(csv.DictReader((output / "embedding.csv").open()))
    assert len(points) == 2 * (5 * 20 + 5)
    assert len(json.loads((output / "scale.json").read_text())["rows"]) == 2
    calibration = json.loads((output / "calibration.json").read_text())
    assert [row["adapt"] for row in calibration["rows"]] == 2 * [*ADAPTATIONS]
    assert all(row["temperature"] > 0 for row in calibration["rows"])
    assert {row["when"] for row in calibration["bins"]} == {"before", "after"}


@pytest.mark.slow
def test_a_run_and_its_copy_differ_in_nothing(analyzed):
    _, output = analyzed
    ways = json.loads((output / "ways.json").read_text())
    assert [row["gain"] for row in ways["relative_gain"]] == [0, 0]
    pairs = json.loads((output / "pairs.json").read_text())["differences"]
    assert {row["difference"] for row in pairs} == {0}
    assert {row["distractors"] for row in pairs} == {0, 5}
    consistency = json.loads((output / "consistency.json").read_text())
    losses = {
        (row["run"], row["scale"], row["share"]): row["vat_loss"]
        for row in consistency["rows"]
    }
    assert len(losses) == 2 * 2 * 2
    first, second = (losses[label, "common", 0.5] for label in LABELS)
    assert first == pytest.approx(second, rel=1e-4)
    assert first > losses[LABELS[0], "common", 0.1] > 0


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["training", "landing", "ways", "consistency", "embedding", "calibration"]
)
def test_every_figure_is_named_and_drawn(analyzed, name):
    said, output = analyzed
    assert name in said.splitlines()
    for kind in ("svg", "pdf"):
        assert (output / f"{name}.{kind}").exists()
    assert (output / f"{name}.png").stat().st_size < 100_000
    assert "numbers and figures are in" in said.splitlines()[-1]


def test_one_analysis_leaves_the_others_out(finished, data_dir, tmp_path):
    result = program.run(
        "analyze",
        f"--workdir={finished}",
        f"--data_dir={data_dir}",
        f"--output={tmp_path}",
        "--what=landing",
        "--eval_episodes=5",
    )
    assert result.returncode == 0, result.stderr
    files = {path.name for path in tmp_path.iterdir()}
    kinds = ("json", "csv", "png", "svg", "pdf")
    assert files == {"tensorboard", *(f"landing.{kind}" for kind in kinds)}
    assert len(list(csv.reader((tmp_path / "landing.csv").open()))) == 1 + 4 * 11


@pytest.mark.parametrize(
    ("flags", "texts"),
    [
        (["--what=landing,color"], ["--what takes training, scale", "got 'color'"]),
        (["--ways=5,161"], ["161 classes", "test split has 160"]),
        (["--way=161"], ["161 classes", "test split has 160"]),
        (["--split=val", "--ways=81"], ["81 classes", "val split has 80"]),
    ],
)
def test_impossible_settings_exit_with_2(finished, data_dir, flags, texts):
    result = program.run(
        "analyze", f"--workdir={finished}", f"--data_dir={data_dir}", *flags
    )
    program.assert_one_line(result, 2, *texts)


def test_a_missing_package_is_named(finished, data_dir):
    code = f"""
import sys
sys.modules["matplotlib"] = None
sys.argv = ["analyze", "--workdir={finished}", "--data_dir={data_dir}"]
from prwn_tf import analyze, cli
cli.run(analyze.main)
"""
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    program.assert_one_line(result, 2, "matplotlib", "pip install -e '.[figures]'")
