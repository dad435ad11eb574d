"""The mini-ImageNet columns: two shots from one training, and an honest length."""

import json
import pathlib
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tools"))

from paper_tables import mini, mini_pretrained, report  # noqa: E402

from tests.children import child  # noqa: E402

# What is a row's own; TPN and EGNN start at the right scale as they are.
OWN_FLAGS = (
    *("method", "train_shot", "label_ratio", "distractors", "eval_episodes"),
    *("conv4_scale", "walk_weight", "walk_temperature", "encoder", "train_unlabeled"),
)


@pytest.fixture
def output(tmp_path) -> pathlib.Path:
    """One row and one analysis with numbers that are easy to recognise."""
    output = tmp_path / "mini"
    accuracies = {
        ("none", 0, 5): 0.6511,
        ("none", 0, 1): 0.4822,
        ("filter", 5, 5): 0.6433,
        ("filter", 5, 1): 0.5044,
    }
    names = ("adapt", "distractors", "shot")
    tests = [
        dict(zip(names, kind, strict=True))
        | {"accuracy": accuracy, "interval": 0.0031, "episodes": 3000}
        for kind, accuracy in accuracies.items()
    ]
    result = {"dataset": "mini", "method": "prwn", "step": 10_000, "seconds": 8000.4}
    result |= {"seed": 0, "test": tests}
    (output / "prwn").mkdir(parents=True)
    (output / "prwn" / "result.json").write_text(json.dumps(result))
    (output / "analysis").mkdir()
    ways = [
        {"run": run, "way": way, "accuracy": accuracy, "interval": 0.01}
        for run, at_20 in {"PN": 0.4, "PRWN": 0.46}.items()
        for way, accuracy in {5: 0.65, 20: at_20}.items()
    ]
    gain = {"run": "PRWN", "base": "PN", "way": 20, "gain": 0.15, "interval": 0.012}
    numbers = {"rows": ways, "relative_gain": [gain | {"way": 5, "gain": 0}, gain]}
    (output / "analysis" / "ways.json").write_text(json.dumps(numbers))
    return output


def test_page(output):
    text = report.page(mini.TABLES, output)
    one = "50.89 ± 0.22 | 48.22 ± 0.31 | -2.67"
    five = "67.82 ± 0.19 | 65.11 ± 0.31 | -2.71"
    assert f"| PRWN | {one} | {five} | [prwn](prwn) | none |" in text
    none = "– | not run |  | 64.80 | not run | "
    assert f"| PRWN, 20 % of the labels | {none} | `prwn_label20` | none |" in text
    crowded = "– | 50.44 ± 0.31 |  | – | 64.33 ± 0.31 | "
    assert f"inference + filter | {crowded} | [prwn](prwn) | filter |" in text
    assert "| `prwn` | 10000 of 100000 | 8000 | 0 | 3000 |" in text
    command = "results/mini/prwn --adapt=none,filter --shot=5,1 --distractors=0,5`"
    assert command in text
    assert "--flagfile=flags/mini/short/prwn.flags --workdir=runs/mini/prwn`" in text
    assert "| PRWN | 65.00 ± 1.00 | 46.00 ± 1.00 |" in text
    assert "| gain at 20 ways | over PN |" in text
    assert "| PRWN | +15.0 ± 1.2 % |" in text
    assert "Numbers: [ways](analysis/ways.json)." in text
    assert "## Local consistency" not in text  # it was not made


def test_the_page_lies_among_the_rows(output):
    report.write(mini.TABLES, output)
    assert (output / "README.md").read_text().startswith("# Results on mini-ImageNet\n")
    report.check_replaceable(mini.TABLES, output)


def schedule(rows) -> frozenset[str]:
    """Returns the flags that all rows share, if all else is their own."""
    schedules, own = set(), tuple(f"--{name}=" for name in OWN_FLAGS)
    for row in rows:
        text = (ROOT / "flags/mini/short" / f"{row}.flags").read_text()
        flags = [line for line in text.splitlines() if line.startswith("--")]
        schedules.add(frozenset(flag for flag in flags if not flag.startswith(own)))
    [shared] = schedules
    return shared


def test_all_rows_of_a_kind_have_the_same_schedule():
    begun = {*mini.TABLES.origins, *mini.TABLES.origins.values()}
    shared = schedule(set(mini.TABLES.rows) - begun)
    assert {"--dataset=mini", "--shot=5", "--episodes=10000"} < shared
    begun, begun20 = (
        f"--init_from=runs/mini/{row}" for row in ("classifier", "classifier_label20")
    )
    own = schedule(mini_pretrained.ROWS)
    assert {begun, "--train_way=20", "--episodes=400"} < own
    assert schedule(mini_pretrained.LABEL20_ROWS) == own - {begun} | {begun20}
    assert {begun, "--episodes=1000"} < schedule(mini_pretrained.GRAPH_ROWS)


@pytest.mark.parametrize("source", [[], ["--source=nothing"]])
def test_data_that_is_not_there_is_told_in_one_line(tmp_path, source):
    told = child.run(
        *(ROOT / "tools" / "reproduce.py", "mini", "--rows=pn", *source),
        f"--data_dir={tmp_path / 'data'}",
        cwd=tmp_path,
    )
    assert told.returncode == 2
    [line] = told.stderr.splitlines()
    assert "--source" in line
    assert not list(tmp_path.iterdir())
