"""A released run is small, and answers as the run did."""

import json
import pathlib
import sys

import numpy as np
import pytest

from prwn_tf.training.workdir import Workdir
from tests.cli import program

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "tools"))

from paper_tables import release


@pytest.fixture(scope="module")
def released(finished, tmp_path_factory) -> pathlib.Path:
    path = tmp_path_factory.mktemp("released") / "row"
    release.release(finished, path)
    return path


def test_weights_without_the_optimizer(finished, released):
    def weigh(folder):
        return sum(path.stat().st_size for path in folder.glob("checkpoints/ckpt-12.*"))

    assert weigh(released) < 0.5 * weigh(finished)
    assert not list(released.parent.glob(".*"))


def test_evaluate_gives_the_same_digits(finished, released, data_dir):
    result = program.run("evaluate", f"--workdir={released}", f"--data_dir={data_dir}")
    assert result.returncode == 0, result.stderr
    [found] = json.loads((released / "evaluation.json").read_text())
    [expected, *_] = json.loads((finished / "result.json").read_text())["test"]
    assert found == expected | {"split": "test", "step": 12, "eval_seed": 0}


def test_no_place_on_a_machine_is_released(tmp_path):
    path = tmp_path / "config.json"
    origin = {"workdir": "/home/anybody/runs/classifier", "sha256": "12ab"}
    path.write_text(json.dumps({"seed": 0, "init_from": origin}))
    release._name_origin(path)
    named = {"workdir": "classifier", "sha256": "12ab"}
    assert json.loads(path.read_text()) == {"seed": 0, "init_from": named}


def test_validations_are_released(finished, released):
    path = released / "validation.csv"
    assert path.read_text() == (finished / "validation.csv").read_text()


def test_analyses_take_it(released, data_dir, tmp_path):
    result = program.run(
        "analyze",
        f"--workdir={released}",
        f"--data_dir={data_dir}",
        "--what=landing",
        "--eval_episodes=5",
        f"--output={tmp_path}",
    )
    assert result.returncode == 0, result.stderr
    assert (tmp_path / "landing.json").exists()


def test_training_is_not_taken_up_from_it(released, data_dir):
    before = sorted((released / "checkpoints").rglob("*"))
    result = program.run("train", *program.quick(released, data_dir))
    assert result.returncode == 2
    assert "Traceback" not in result.stderr
    assert "checkpoints" in result.stderr.splitlines()[-1]
    assert sorted((released / "checkpoints").rglob("*")) == before


def test_summary_of_episodes(tmp_path):
    path = tmp_path / "episodes.csv"
    path.write_text("episode,accuracy_none\n0,0.5\n1,1.0\n2,0.0\n3,0.5\n")
    found = release.summarize(path)["accuracy_none"]
    assert found["episodes"] == 4
    assert found["mean"] == 0.5
    assert found["deviation"] == pytest.approx(np.sqrt(0.125))
    assert found["percentile 100"] == 1.0


def test_released_rows_are_runs_of_today():
    results = pathlib.Path(__file__).parents[2] / "results" / "omniglot"
    rows = [path.parent for path in results.glob("*/result.json")]
    assert results / "prwn" in rows
    for row in rows:
        Workdir(row).load_config()  # or an error that names what it does not know
        assert list(row.glob("checkpoints/ckpt-*.index"))
