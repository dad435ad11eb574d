"""Several kinds of episodes in one call of `evaluate`."""

import csv
import json
import shutil

import pytest

from prwn_tf.config import ADAPTATIONS
from tests.cli import program


def test_several_settings_give_one_table(finished, data_dir, tmp_path):
    result = program.run(
        "evaluate",
        f"--workdir={finished}",
        f"--data_dir={data_dir}",
        f"--output={tmp_path}",
        "--way=2,5",
        "--distractors=0,3",
        "--adapt=none,filter",
        "--adapt=refine",
        "--eval_episodes=20",
    )
    assert result.returncode == 0, result.stderr
    rows = json.loads((tmp_path / "evaluation.json").read_text())
    kinds = [(row["way"], row["distractors"], row["adapt"]) for row in rows]
    assert kinds == [
        (way, distractors, adapt)
        for way in (2, 5)
        for distractors in (0, 3)
        for adapt in ("none", "filter", "refine")
    ]
    lines = result.stdout.splitlines()
    header = next(line for line in lines if line.split()[:2] == ["way", "distractors"])
    assert header.split()[-3:] == ["none", "filter", "refine"]
    last = lines[lines.index(header) + 4].split()
    assert last[:3] == ["5", "3", "20.00"]  # and the accuracy of chance
    assert last[3] == f"{100 * rows[9]['accuracy']:.2f}"
    columns = next(csv.reader((tmp_path / "evaluation_episodes.csv").open()))
    assert columns[12] == "accuracy_refine_5way_3distractors"
    assert columns[-1] == "confidence_refine_5way_3distractors"


def test_calibrated_on_validation_classes_and_tested_on_others(
    finished, data_dir, tmp_path
):
    run = shutil.copytree(finished, tmp_path / "run")
    trained = json.loads((run / "calibration.json").read_text())
    (run / "calibration.json").unlink()
    flags = [f"--workdir={run}", f"--data_dir={data_dir}", "--eval_episodes=20"]
    result = program.run("evaluate", *flags, "--adapt=auto")
    program.assert_one_line(result, 2, "--adapt=auto", "--calibrate makes it")
    result = program.run("evaluate", *flags)
    assert "uncalibrated" in result.stdout
    asked = ["--adapt=none,auto", "--calibrate", "--strangers", "--eval_seed=3"]
    result = program.run("evaluate", *flags, *asked, "--balance=dirichlet", "--query=5")
    assert result.returncode == 0, result.stderr
    # As train did at its end, whatever the tests are drawn by.
    assert json.loads((run / "calibration.json").read_text()) == trained
    none, auto = json.loads((run / "evaluation.json").read_text())
    assert auto["chosen"] in result.stdout.splitlines()[0]
    assert (none["balance"], none["eval_seed"]) == ("dirichlet", 3)
    for row in (none, auto):
        assert row["temperature"] > 0
        assert row["calibrated_error"] < 0.3
    strangers = json.loads((run / "evaluation_strangers.json").read_text())
    assert [row["adapt"] for row in strangers] == list(ADAPTATIONS)
    assert all(0 <= row["false_alarms"] < 0.3 for row in strangers)
    assert "unlabelled a class on average, unequally many" in result.stdout
    assert "false alarms" in result.stdout


def test_more_ways_than_the_other_split_has(finished, data_dir, tmp_path):
    result = program.run(
        "evaluate",
        f"--workdir={finished}",
        f"--data_dir={data_dir}",
        f"--output={tmp_path}",
        "--way=100",  # of 160 test classes; validation has 80
        "--eval_episodes=3",
    )
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize(
    ("flags", "texts"),
    [
        (["--unlabeled=0", "--adapt=refine"], ["--adapt=refine", "--unlabeled is 0"]),
        (["--unlabeled=5,0", "--adapt=none,filter"], ["--adapt=filter"]),
        (["--adapt=none,best"], ["--adapt=best", "it has none, refine, filter"]),
        (["--way=5,161"], ["161 classes", "test split has 160"]),
        (["--shot=1,20"], ["20 images", "needs 39"]),
    ],
)
def test_impossible_settings_exit_with_2(finished, data_dir, flags, texts):
    result = program.run(
        "evaluate", f"--workdir={finished}", f"--data_dir={data_dir}", *flags
    )
    program.assert_one_line(result, 2, *texts)


@pytest.mark.parametrize("value", ["1,5", "x", "5,,10", ""])
def test_numbers_that_are_none_are_a_mistake_of_usage(finished, value):
    result = program.run("evaluate", f"--workdir={finished}", f"--way={value}")
    assert result.returncode == 1
    assert "--way" in result.stderr
    assert "Traceback" not in result.stderr
