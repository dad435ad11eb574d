"""The page of results says what is in the folders, and nothing else."""

import dataclasses
import json
import pathlib
import shutil
import signal
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tools"))

from paper_tables import (  # noqa: E402
    command,
    inference,
    omniglot,
    programs,
    release,
    report,
)

from prwn_tf.config import EpisodeSpec  # noqa: E402
from prwn_tf.training import signals  # noqa: E402
from tests.children import child  # noqa: E402


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
            "shot": 1,
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
    text = report.page(omniglot.TABLES, output)
    link = "[prwn](omniglot/prwn)"
    plain = "98.28 ± 0.15 | 98.11 ± 0.12 | -0.17"
    assert f"| PRWN | {plain} |  | {link} | none |" in text
    inferred = "99.23 ± 0.08 | 99.22 ± 0.12 | -0.01 | "
    assert f"| PRWN + semi-supervised inference | {inferred} | {link} | refine" in text
    crowded = "| – | 97.33 ± 0.12 |  |  |"
    assert f"| PRWN, trained without them {crowded} {link} | none |" in text
    assert "| PRWN | 97.76 ± 0.11 | not run |" in text
    assert "results/omniglot/prwn --adapt=none,refine --distractors=0,5`" in text
    assert "| PN | 94.62 ± 0.09 | not run |" in text
    assert "| `prwn` | 20000 | 1235 | 0 | 3000 |" in text
    assert "| PRWN | 64.43 | 61.00 ± 1.00 | `prwn` |" in text


def test_other_label_splits_are_shown_beside_the_first(output):
    for seed, accuracy in ((1, 0.9812), (2, 0.9816)):
        result = json.loads((output / "prwn" / "result.json").read_text())
        result["test"][0]["accuracy"] = accuracy
        (output / f"prwn_seed{seed}").mkdir()
        (output / f"prwn_seed{seed}" / "result.json").write_text(json.dumps(result))
    text = report.page(omniglot.TABLES, output)
    # 98.11, 98.12 and 98.16: their mean, and the deviation of a sample.
    splits = "98.28 ± 0.15 | 98.11 ± 0.12 | -0.17 | 98.13 ± 0.03 (3)"
    assert f"| PRWN | {splits} | [prwn](omniglot/prwn) | none |" in text
    own = "98.11 ± 0.12 | 98.12 ± 0.12 | 98.16 ± 0.12"
    assert f"| PRWN | Without distractors | 1 | none | {own} |" in text


def test_a_row_that_learned_the_validation_classes_is_not_calibrated(
    tmp_path, monkeypatch
):
    row = ROOT / "results/omniglot/pn_all_train_val"
    assert not (row / "calibration.json").exists()
    (tmp_path / row.name).mkdir()
    for name in ("config.json", "result.json"):
        shutil.copyfile(row / name, tmp_path / row.name / name)
    monkeypatch.setattr(inference, "cli", None)  # it would load TensorFlow
    inference.measure(omniglot.TABLES, tmp_path, tmp_path)


def test_other_label_splits_are_tested_as_their_row():
    tables = omniglot.TABLES
    assert tables.further_tests("pn_seed2") == tables.evaluations["pn"]
    assert tables.further_tests("prwn_distractors_seed1") == ()


def test_differences_have_their_sign_and_interval(output):
    pair = {"run": "PRWN", "base": "PN_VAT", "distractors": 5, "adapt": "filter"}
    pair |= {"difference": 0.0012, "interval": 0.0004}
    turned = pair | {"run": "PRWN_distractors", "base": "PN_VAT", "difference": -0.002}
    numbers = {"rows": [{}], "differences": [pair, turned]}
    (output / "analysis" / "pairs.json").write_text(json.dumps(numbers))
    text = report.page(omniglot.TABLES, output)
    assert "| points | filter, 5 distractors |" in text
    assert "| PRWN − PN_VAT | +0.12 ± 0.04 |" in text
    assert "| PRWN_distractors − PN_VAT | -0.20 ± 0.04 |" in text


def test_a_difference_is_shown_once_and_not_turned_around(output):
    pair = {"run": "PRWN", "base": "PRWN_distractors", "distractors": 0}
    pair |= {"adapt": "none", "difference": 0.002, "interval": 0.0004}
    numbers = {"rows": [{}], "differences": [pair]}
    (output / "analysis" / "pairs.json").write_text(json.dumps(numbers))
    text = report.page(omniglot.TABLES, output)
    assert "| PRWN − PRWN_distractors | +0.20 ± 0.04 |" in text
    assert "PRWN_distractors − PRWN " not in text


def test_a_vat_loss_says_how_long_the_change_is_and_of_what_episodes(output):
    row = {"run": "PN", "scale": "own", "share": 1 / 32, "vat_loss": 13.96}
    spec = {"way": 5, "shot": 1, "unlabeled": 10, "distractors": 5}
    numbers = {"spec": spec, "rows": [row | {"interval": 1.448}]}
    (output / "analysis" / "consistency.json").write_text(json.dumps(numbers))
    text = report.page(omniglot.TABLES, output)
    assert "| model | paper | scale | 1/32 norm | run |" in text
    assert "| PN | 5.9 | own | 14 ± 1.4 | `pn` |" in text
    pool = "10 unlabelled images a class and of 5 distractor classes"
    assert f"test episodes are 5-way 1-shot, {pool}. Bands are 95 %." in text


def test_a_short_trial_of_one_row_has_its_page(output):
    """One validation is the first and the last, and one run has no differences."""
    row = {"run": "PRWN", "step": 500, "accuracy": 0.9, "interval": 0.01}
    (output / "analysis" / "training.json").write_text(json.dumps({"rows": [row]}))
    (output / "analysis" / "pairs.json").write_text(
        json.dumps({"rows": [row], "differences": []})
    )
    text = report.page(omniglot.TABLES, output)
    assert "| PRWN | 90.00 ± 1.00 at 500 | 90.00 ± 1.00 at 500 |" in text
    assert "PRWN − PRWN" not in text


def test_what_was_measured_of_an_earlier_model_goes(tmp_path, monkeypatch):
    monkeypatch.setattr(release, "release", lambda run, output: None)
    measured = [tmp_path / "inference/pn.json", tmp_path / "inference/prwn.json"]
    ablations = tmp_path / "ablations"
    measured += [ablations / row / "evaluation.json" for row in ("pn", "prwn")]
    for path in measured:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("{}")
    command.release(tmp_path / "run", tmp_path / "pn")
    assert [path.exists() for path in measured] == [False, True, False, True]
    assert [path.name for path in ablations.iterdir()] == ["prwn"]


def test_a_released_row_gets_the_tests_that_it_lacks(output, tmp_path, monkeypatch):
    path = output / "prwn" / "result.json"
    result = json.loads(path.read_text())
    crowded = [test for test in result["test"] if test["distractors"] == 5]
    result["test"] = [test for test in result["test"] if test["distractors"] == 0]
    result["test_spec"] = {"shot": 1, "distractors": 0}
    path.write_text(json.dumps(result))
    commands = []

    def run(*arguments, data_dir):
        commands.append(arguments)
        (tmp_path / "runs/prwn_distractors5").mkdir(parents=True)
        found = tmp_path / "runs/prwn_distractors5/evaluation.json"
        found.write_text(json.dumps(crowded))

    monkeypatch.setattr(programs, "run", run)
    for _ in range(2):  # the second time it has them
        command._test(output / "prwn", {"distractors": 5}, tmp_path / "runs", tmp_path)
    [[program, workdir, *flags]] = commands
    assert (program, workdir) == ("evaluate", f"--workdir={output / 'prwn'}")
    assert flags[:2] == ["--distractors=5", "--adapt=none,refine"]
    assert json.loads(path.read_text())["test"] == [*result["test"], *crowded]


def test_the_gate_is_shown_beside_its_rivals(output):
    assert "The gate against" not in report.page(omniglot.TABLES, output)
    gains = {"none": 0.011, "refine": -0.002, "gate": 0.0}
    entries = [
        {
            "adapt": adapt,
            "accuracy": 0.99 - gain,
            "gate_gain": gain,
            "gate_interval": 0.001,
            "temperature": 2.0,
            "calibration_error": 0.02,
            "calibrated_error": 0.005,
        }
        for adapt, gain in gains.items()
    ]
    strangers = {"adapt": "gate", "distractors": 5, "roc_area": 0.991}
    strangers |= {"false_alarms": 0.048, "caught": 0.95}
    spec = {"way": 5, "shot": 2, "unlabeled": 7}
    content = {
        "episodes": 2000,
        "situations": [{"title": "clean", "spec": spec, "adaptations": entries}],
        "strangers": [strangers],
    }
    (output / inference.FOLDER).mkdir()
    (output / inference.FOLDER / "prwn.json").write_text(json.dumps(content))
    text = report.page(omniglot.TABLES, output)
    assert "| run | 5-way 2-shot, 7 unlabelled a class | none | gate |" in text
    # Bold where another one is better than the gate.
    row = "| `prwn` | clean | 97.90 | 99.00 | +1.10 ± 0.10 | **-0.20 ± 0.10** |"
    assert row in text
    assert "| `prwn` | 5 | gate | 0.991 | 4.8 % | 95.0 % |" in text
    assert "| `prwn` | none | 2.00 | 0.50 | 2 |" in text


def test_situations_can_be_drawn_from_twenty_images_a_class():
    for situation in omniglot.TABLES.situations:
        spec = dataclasses.replace(EpisodeSpec(5, 1, 14, 5), **situation.task)
        assert spec.shot + spec.query + spec.unlabeled <= 20


@pytest.mark.parametrize(
    ("flags", "text"),
    [
        (["--episodes=5"], "give another --output and --runs"),
        (["--output=a/b", "--runs=a/../a/b"], "give two folders"),
        (["--output=mine", "--runs=a"], "README.md is no page of results"),
        (["--output=c/d", "--runs=a"], "c/d/pn is no released row"),
    ],
)
def test_nothing_of_the_readers_is_replaced(tmp_path, flags, text):
    (tmp_path / "README.md").write_text("# My thesis\n")
    (tmp_path / "c/d/pn").mkdir(parents=True)
    (tmp_path / "c/README.md").write_text("# Results\n")
    (tmp_path / "omniglot").mkdir()
    (tmp_path / "omniglot/manifest.json").write_text("{}")  # seems prepared
    found = child.run(
        *(ROOT / "tools" / "reproduce.py", "omniglot"),
        *("--rows=pn", f"--data_dir={tmp_path}", *flags),
        cwd=tmp_path,
    )
    assert found.returncode == 2
    assert text in found.stderr.splitlines()[-1]
    assert (tmp_path / "README.md").read_text() == "# My thesis\n"


PATIENT = """
import signal, sys
signal.signal(signal.SIGTERM, lambda *unused: sys.exit(7))
print("ready", flush=True)
signal.pause()
"""


def test_a_signal_is_passed_on_and_its_effect_awaited():
    request = signals.StopRequest()
    patient = subprocess.Popen(
        [sys.executable, "-c", PATIENT], stdout=subprocess.PIPE, text=True
    )
    with patient:
        assert patient.stdout.readline() == "ready\n"
        request.signal_number = signal.SIGTERM
        assert programs.wait(patient, request) == 7
