"""Trainings with one setting changed: which there are, and what a page says of them."""

import json
import pathlib
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tools"))

from paper_tables import ablations, omniglot, report  # noqa: E402
from paper_tables.description import Ablation, Factor  # noqa: E402

from tests.children import child  # noqa: E402

STEPS = Factor("inner steps", "walk_steps", 3, (0, 5))


def measured(
    output: pathlib.Path, name: str, accuracy: float, precision: str = "float32"
) -> None:
    """Releases a training that was measured."""
    tests = [
        {"adapt": adapt, "accuracy": accuracy + more, "interval": 0.002}
        for adapt, more in (("none", 0), ("refine", 0.01))
    ]
    folder = output / "ablations" / name
    folder.mkdir(parents=True)
    (folder / "evaluation.json").write_text(json.dumps(tests))
    (folder / "config.json").write_text(json.dumps({"precision": precision}))


def test_each_training_changes_one_setting():
    short = Ablation("prwn", "PRWN", (STEPS,), episodes=600)
    assert short.trainings() == {
        "prwn_short": ["--episodes=600"],
        "prwn_short_walk_steps_0": ["--episodes=600", "--walk_steps=0"],
        "prwn_short_walk_steps_5": ["--episodes=600", "--walk_steps=5"],
    }
    whole = Ablation("prwn", "PRWN", (STEPS,))
    assert whole.trainings()["prwn_walk_steps_0"] == ["--walk_steps=0"]
    assert "prwn" not in whole.trainings()  # it is released


CONFIGS = """
import sys
from absl import flags
from prwn_tf import train
from prwn_tf.cli import read
rows = [line.split() for line in sys.argv[1].splitlines()]
configs = []
for arguments in rows:
    flags.FLAGS.unparse_flags()
    for name in flags.FLAGS:
        flags.FLAGS[name].unparse()
    flags.FLAGS(["train", *arguments])
    configs.append(read.train_config())
assert len({repr(config) for config in configs}) == len(rows)
"""


def test_all_of_them_are_settings_that_can_be_trained():
    names = omniglot.TABLES.ablation_rows
    lines = (" ".join(omniglot.TABLES.flags(name, ROOT)) for name in names)
    child.run("-c", CONFIGS, "\n".join(lines), check=True)


def test_what_a_factor_calls_the_rows_own_is_what_it_has():
    """A value of the row itself would be the same training twice."""
    for ablation in omniglot.TABLES.ablations:
        for factor in ablation.factors:
            assert factor.own not in factor.others


def test_the_page_has_what_was_trained(tmp_path):
    output = tmp_path / "omniglot"
    measured(output, "prwn_short", 0.97)
    measured(output, "prwn_short_walk_steps_0", 0.96, "bfloat16")
    text = report.page(omniglot.TABLES, output)
    own = "| 97.00 ± 0.20 | 98.00 ± 0.20 | `prwn_short` |"
    assert f"| `--walk_steps` | 3 {own}" in text
    changed = "| 96.00 ± 0.20 | 97.00 ± 0.20 | `prwn_short_walk_steps_0`, bfloat16 |"
    assert f"| `--walk_steps` | 0 {changed}" in text
    title = "PRWN, one setting changed (validation, 6000 episodes)"
    assert f"## {title}\n" in text
    assert f"![{title}](omniglot/ablations/prwn_short.png)" in text
    ablations.draw_all(omniglot.TABLES, output)
    for kind in ("png", "svg", "pdf"):
        assert (output / "ablations" / f"prwn_short.{kind}").exists()


@pytest.mark.parametrize("released", [True, False])
def test_a_released_row_is_measured_once_it_is_compared_with(tmp_path, released):
    if released:
        (tmp_path / "prwn_distractors").mkdir()
    assert list(ablations.missing(omniglot.TABLES, tmp_path)) == []
    measured(tmp_path, "prwn_distractors_beta_2_0.999", 0.97)
    missing = list(ablations.missing(omniglot.TABLES, tmp_path))
    assert missing == ["prwn_distractors"] * released


@pytest.mark.parametrize("kept", ["config.json", "validation.csv", ablations.MEASURED])
def test_what_was_measured_is_released(kept):
    """On a clean checkout: a file that git ignores is not there."""
    for training in (ROOT / "results").glob("*/ablations/*/"):
        # A released row is compared with, and has its validations itself.
        released = (training.parents[1] / training.name).exists()
        assert (training / kept).exists() or (released and kept != ablations.MEASURED)
