"""The page of results says what is in the folders, and nothing else."""

import json
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tools"))

from omniglot import command, report, rows  # noqa: E402

RELEASED = sorted(
    path.parent.name for path in ROOT.glob("results/omniglot/*/result.json")
)


@pytest.fixture
def output(tmp_path) -> pathlib.Path:
    """One row and one analysis with numbers that are easy to recognise."""
    output = tmp_path / "omniglot"
    accuracies = {
        ("none", 0): 0.9811,
        ("refine", 0): 0.9922,
        ("none", 5): 0.9733,
        ("refine", 5): 0.9744,
    }
    tests = [
        {
            "adapt": adapt,
            "distractors": distractors,
            "accuracy": accuracy,
            "interval": 0.0012,
            "episodes": 3000,
        }
        for (adapt, distractors), accuracy in accuracies.items()
    ]
    result = {"step": 20_000, "seconds": 1234.6, "seed": 0, "test": tests}
    (output / "prwn").mkdir(parents=True)
    (output / "prwn" / "result.json").write_text(json.dumps(result))
    (output / "analysis").mkdir()
    ways = [
        {"run": "PRWN", "way": way, "accuracy": accuracy, "interval": 0.01}
        for way, accuracy in {5: 0.98, 800: 0.61}.items()
    ]
    (output / "analysis" / "ways.json").write_text(json.dumps({"rows": ways}))
    return output


def test_page(output):
    text = report.page(output)
    link = "[prwn](omniglot/prwn)"
    plain = "98.28 ± 0.15 | 98.11 ± 0.12 | -0.17"
    assert f"| PRWN | {plain} | {link} | none |" in text
    inferred = "99.23 ± 0.08 | 99.22 ± 0.12 | -0.01"
    assert f"| PRWN + semi-supervised inference | {inferred} | {link} | refine" in text
    crowded = "| – | 97.33 ± 0.12 |  |"
    assert f"| PRWN, trained without them {crowded} {link} | none |" in text
    assert "| PRWN | 97.76 ± 0.11 | not run |" in text
    assert "results/omniglot/prwn --adapt=none,refine --distractors=0,5`" in text
    assert "| PN | 94.62 ± 0.09 | not run |" in text
    assert "| `prwn` | 20000 | 1235 | 0 | 3000 |" in text
    assert "| PRWN | 64.43 | 61.00 ± 1.00 | `prwn` |" in text


def test_short_trainings_are_not_released_among_the_rows():
    reproduce = [sys.executable, str(ROOT / "tools" / "reproduce.py")]
    found = subprocess.run(
        [*reproduce, "omniglot", "--rows=pn_all", "--episodes=5"],
        capture_output=True,
        text=True,
    )
    assert found.returncode == 2
    assert "give another --output" in found.stderr.splitlines()[-1]


def test_every_row_has_its_flagfile():
    for row in rows.ROWS:
        assert (ROOT / "flags" / "omniglot" / f"{row}.flags").exists()
    assert {cell.row for cell in rows.CELLS} == set(rows.ROWS)


SAME_CONFIG = """
import pathlib, sys
from absl import flags
from prwn_tf import config, flag_values, train
from prwn_tf.training.workdir import Workdir
row, *arguments = sys.argv[1:]
flags.FLAGS(["train", *arguments])
asked, stored = flag_values.train_config(), Workdir(pathlib.Path(row)).load_config()
found = config.differences(asked, stored, may_change=True)
assert not found.keys() - {"conv_block", "xla"}, found
"""


@pytest.mark.parametrize("row", RELEASED)
def test_released_rows_were_trained_as_their_flagfiles_say(row):
    path = ROOT / "results" / "omniglot" / row
    found = subprocess.run(
        [sys.executable, "-c", SAME_CONFIG, str(path), *command.settings(row)],
        capture_output=True,
        text=True,
    )
    assert found.returncode == 0, found.stderr


def test_published_numbers_are_those_of_the_flagfiles():
    for cell in rows.CELLS:
        if cell.accuracy and cell.interval:
            text = (ROOT / "flags" / "omniglot" / f"{cell.row}.flags").read_text()
            assert f"{cell.accuracy:.2f} ± {cell.interval:.2f}" in text


def test_the_page_is_made_from_the_folders():
    results = ROOT / "results"
    assert (results / "README.md").read_text() == report.page(results / "omniglot")
