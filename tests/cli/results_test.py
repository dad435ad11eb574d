"""The commands of results/README.md give the digits of the released rows again."""

import json
import pathlib
import re

import pytest

from tests.cli import program

RESULTS = pathlib.Path(__file__).parents[2] / "results"
COMMANDS = re.findall(
    r"`python -m prwn_tf\.evaluate --workdir=results/omniglot/(\w+) (.*?)`",
    (RESULTS / "README.md").read_text(encoding="utf-8"),
)
QUICK = ("prwn",)  # tests/cli/methods_test.py has heads of their own
ROUNDING = 1e-4  # another CPU may decide a few of the 210,000 queries differently


def test_every_row_has_its_command():
    released = {path.parent.name for path in RESULTS.glob("omniglot/*/result.json")}
    assert {row for row, _ in COMMANDS} == released
    assert released >= set(QUICK)


@pytest.mark.parametrize(
    ("row", "flags"),
    [
        pytest.param(row, flags, id=row, marks=[pytest.mark.slow][row in QUICK :])
        for row, flags in COMMANDS
    ],
)
def test_the_command_gives_the_digits_again(row, flags, real_omniglot, tmp_path):
    workdir = RESULTS / "omniglot" / row
    result = program.run(
        "evaluate",
        f"--workdir={workdir}",
        *flags.split(),
        f"--data_dir={real_omniglot}",
        f"--output={tmp_path}",
    )
    assert result.returncode == 0, result.stderr
    found = json.loads((tmp_path / "evaluation.json").read_text())
    expected = json.loads((workdir / "result.json").read_text())["test"]
    assert _accuracies(found) == pytest.approx(_accuracies(expected), abs=ROUNDING)


@pytest.mark.slow
def test_bfloat16_moves_it_by_less_than_a_tenth_of_a_point(real_omniglot, tmp_path):
    workdir = RESULTS / "omniglot" / "prwn"
    result = program.run(
        "evaluate",
        *(
            f"--workdir={workdir}",
            f"--data_dir={real_omniglot}",
            f"--output={tmp_path}",
        ),
        *("--adapt=none,refine", "--precision=bfloat16"),
    )
    assert result.returncode == 0, result.stderr
    found = _accuracies(json.loads((tmp_path / "evaluation.json").read_text()))
    expected = _accuracies(json.loads((workdir / "result.json").read_text())["test"])
    expected = {key: expected[key] for key in found}
    assert found == pytest.approx(expected, abs=0.001)
    assert found != expected  # or it was not computed otherwise


def _accuracies(entries: list[dict]) -> dict[tuple, float]:
    return {
        (entry["adapt"], entry["distractors"]): entry["accuracy"] for entry in entries
    }
