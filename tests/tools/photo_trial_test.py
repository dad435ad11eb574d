"""A served model tried as people use it, here on drawings."""

import json
import pathlib
import sys

from tests.children import child

ROOT = pathlib.Path(__file__).parents[2]
sys.path.append(str(ROOT / "tools"))
from photos import command  # noqa: E402

TOOL = str(ROOT / "tools/photo_trial.py")


def test_a_trial_prints_and_writes_what_it_found(tmp_path, data_dir):
    output = tmp_path / "trial.json"
    flags = ["--draws=2", "--query=3", "--unlabeled=4", "--shot=1,2", "--way=3"]
    done = child.run(
        TOOL,
        "--model=omniglot-prwn",
        "--dataset=glyphs",
        f"--data_dir={data_dir}",
        f"--output={output}",
        *flags,
    )
    assert done.returncode == 0, done.stderr
    rows = json.loads(output.read_text())["rows"]
    assert [row["shot"] for row in rows] == [1, 2]
    for row, line in zip(rows, done.stdout.splitlines()[-2:], strict=True):
        assert f"{row['accuracy']:.1f} ± {row['interval']:.1f} %" in line
        assert row["accuracy"] > 50  # chance is 33
        assert row["auroc"] > 0.5
    assert max(map(len, done.stdout.splitlines())) <= 80


def test_a_draw_that_is_too_large_is_refused(data_dir):
    done = child.run(TOOL, "--dataset=glyphs", f"--data_dir={data_dir}", "--query=90")
    assert done.returncode == 2
    assert "lower --query or --unlabeled" in done.stderr


def test_too_few_images_of_other_classes_are_refused(data_dir):
    """Fewer strangers than queries would be asked, or none, and nobody would know."""
    flags = "--dataset=glyphs", f"--data_dir={data_dir}", "--query=3", "--shot=1"
    done = child.run(TOOL, *flags, "--way=141", "--unlabeled=20")
    assert done.returncode == 2, done.stdout
    assert "19 other classes have 380 images, and a draw takes 433" in done.stderr
    assert "423 strangers and 10 unlabelled; lower --way, --query" in done.stderr


def test_the_page_has_tests_and_trials(tmp_path):
    test = {"way": 5, "shot": 5, "adapt": "gate", "accuracy": 0.6251, "interval": 0.004}
    row = {"shot": 1, "accuracy": 48.26, "interval": 2.14, "probability": 50.1}
    row |= {"calibration_error": 4.26, "auroc": 0.7014, "false_alarms": 5.06}
    content = {f"trial_{way}way.json": {"rows": [row]} for way in command.WAYS}
    content["result.json"] = {"test": [test]}
    fits = [{"adapt": "none", "shot": shot, "accuracy": 0.1 * shot} for shot in (1, 5)]
    content["calibration.json"] = {"fits": fits}
    for model in command.MODELS:
        for run in command.runs_of(model, tmp_path):
            (tmp_path / run).mkdir()
            for name, each in content.items():
                (tmp_path / run / name).write_text(json.dumps(each))
    text = command.page(tmp_path)
    assert text.startswith("# Models that know photographs\n")
    assert "| [`conv4_held_out`](conv4_held_out) | 50.00 |" in text
    assert "| [`conv4`](conv4) | 5-way 5-shot | gate | 62.51 ± 0.40 |" in text
    link = "[`photos-conv4`](conv4/trial_3way.json)"
    assert f"| {link} | 3 | 1 | 48.3 ± 2.1 | 50.1 | 4.3 | 0.701 | 5.1 |" in text


def test_the_page_is_made_from_the_released_runs():
    released = ROOT / "results/photos"
    assert (released / "README.md").read_text() == command.page(released)


def test_the_released_run_alone_learns_the_validation_classes(tmp_path):
    begun, held_out, released = command.runs_of("conv4", tmp_path).values()
    assert released == (*held_out, "--train_splits=train,val")
    assert held_out[1] == f"--init_from={tmp_path / 'conv4_classifier'}"
    assert begun == (f"--flagfile={ROOT / 'flags/photos/conv4_classifier.flags'}",)
