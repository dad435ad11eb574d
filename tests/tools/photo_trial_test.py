"""A served model tried as people use it, here on drawings."""

import json
import pathlib

from tests.children import child

ROOT = pathlib.Path(__file__).parents[2]
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
