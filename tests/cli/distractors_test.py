import csv
import json
import shutil

import pytest

from tests.cli import program


def test_numbers_and_figures_of_two_runs(finished, data_dir, tmp_path):
    result = program.run(
        "distractors",
        f"--workdir={finished}",
        f"--workdir={finished}",
        "--label=first",
        "--label=second",
        f"--data_dir={data_dir}",
        f"--output={tmp_path}",
        "--way=4",
        "--unlabeled=3",
        "--eval_episodes=20",
    )
    assert result.returncode == 0, result.stderr
    assert result.stderr == ""
    header, columns, first, second, last = result.stdout.splitlines()
    assert "20 episodes of the test classes: 4-way 1-shot" in header
    assert header.endswith("3 unlabelled a class, 4 distractors")
    assert first.split()[0] == "first"
    assert first.split()[1:] == second.split()[1:]  # the same run
    assert str(tmp_path) in last
    stored = json.loads((tmp_path / "distractors.json").read_text())
    assert stored["spec"]["distractors"] == 4
    row = stored["rows"][0]
    assert columns.split()[0] == "p_clean"
    assert first.split()[1] == f"{row['p_clean_smoothed']:.3f}"
    assert len(first) <= 80
    assert 0 < row["p_clean_raw_interval"] < row["p_clean_raw"] < 1
    [summary, _] = csv.DictReader((tmp_path / "distractors.csv").open())
    assert float(summary["roc_area"]) == pytest.approx(row["roc_area"], rel=1e-4)
    episodes = list(csv.DictReader((tmp_path / "distractors_episodes.csv").open()))
    assert len(episodes) == 40
    for name in ("clean", "roc", "histogram", "episode_first", "episode_second"):
        assert (tmp_path / f"distractors_{name}.png").stat().st_size < 100_000
    assert list((tmp_path / "tensorboard").iterdir())


def test_unset_flags_are_the_papers_and_results_lie_in_the_workdir(
    finished, data_dir, tmp_path
):
    workdir = shutil.copytree(finished, tmp_path / "run")
    result = program.run(
        "distractors",
        f"--workdir={workdir}",
        f"--data_dir={data_dir}",
        "--eval_episodes=5",
    )
    assert result.returncode == 0, result.stderr
    spec = json.loads((workdir / "analysis" / "distractors.json").read_text())["spec"]
    assert (spec["way"], spec["shot"]) == (5, 1)
    assert (spec["unlabeled"], spec["distractors"]) == (10, 5)


@pytest.mark.parametrize(
    ("flags", "texts"),
    [
        (["--distractors=156"], ["5 classes + 156", "test split has 160"]),
        (["--split=val", "--way=50"], ["50 classes + 50", "val split has 80"]),
        (["--unlabeled=19"], ["20 images", "needs 21"]),
        (["--distractors=0"], ["need distractors", "--distractors=0"]),
        (["--unlabeled=0"], ["need distractors", "--unlabeled=0"]),
        (["--episode=300"], ["--episode=300", "300 episodes", "--eval_episodes"]),
        (["--label=a", "--label=b"], ["2 labels and 1 workdirs"]),
    ],
)
def test_impossible_settings_exit_with_2(finished, data_dir, flags, texts):
    result = program.run(
        "distractors", f"--workdir={finished}", f"--data_dir={data_dir}", *flags
    )
    program.assert_one_line(result, 2, *texts)


def test_a_run_without_a_finished_model(finished, data_dir, tmp_path):
    workdir = tmp_path / "run"
    workdir.mkdir()
    shutil.copy(finished / "config.json", workdir)
    shutil.copytree(finished / "checkpoints", workdir / "checkpoints")
    result = program.run(
        "distractors", f"--workdir={workdir}", f"--data_dir={data_dir}"
    )
    program.assert_one_line(result, 2, str(workdir), "no finished model")


def test_a_run_whose_checkpoints_are_gone(finished, data_dir, tmp_path):
    workdir = shutil.copytree(finished, tmp_path / "run")
    shutil.rmtree(workdir / "checkpoints")
    result = program.run(
        "distractors", f"--workdir={workdir}", f"--data_dir={data_dir}"
    )
    program.assert_one_line(result, 2, "checkpoints", "can be read")


def test_runs_of_different_data_sets(finished, data_dir, tmp_path):
    workdir = shutil.copytree(finished, tmp_path / "run")
    config = json.loads((workdir / "config.json").read_text())
    (workdir / "config.json").write_text(json.dumps(config | {"dataset": "omniglot"}))
    result = program.run(
        "distractors",
        f"--workdir={finished}",
        f"--workdir={workdir}",
        f"--data_dir={data_dir}",
    )
    program.assert_one_line(result, 2, "glyphs, omniglot")


def test_a_folder_that_is_no_run(tmp_path, data_dir):
    result = program.run(
        "distractors", f"--workdir={tmp_path}", f"--data_dir={data_dir}"
    )
    program.assert_one_line(result, 2, "is not a run")
