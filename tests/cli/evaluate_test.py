import csv
import json

from tests.cli import program

ROLES = ("support", "query", "unlabeled", "distractor")


def test_gives_the_digits_of_the_run_twice(finished, data_dir):
    flags = [f"--workdir={finished}", f"--data_dir={data_dir}"]
    flags += ["--adapt=none", "--adapt=refine", "--adapt=filter,gate"]
    rows = []
    for _ in range(2):
        result = program.run("evaluate", *flags)
        assert result.returncode == 0, result.stderr
        lines = result.stdout.splitlines()
        assert "over 50 episodes" in lines[1]
        assert lines[2].startswith("5-way 1-shot, ")
        assert lines[3] == "chance 20.00; 160 classes of 3,200 images"
        kinds = [line.split(maxsplit=3)[3] for line in lines[4:8]]
        assert kinds[0] == "inductive"
        assert kinds[3] == "semi-supervised: gate"
        rows.append(json.loads((finished / "evaluation.json").read_text()))
    assert rows[0] == rows[1]
    about = {"split": "test", "step": 12, "eval_seed": 0}
    stored = json.loads((finished / "result.json").read_text())["test"]
    assert rows[0] == [row | about for row in stored]


def test_dumps_the_images_of_every_episode(finished, data_dir, tmp_path):
    flags = [f"--workdir={finished}", f"--data_dir={data_dir}", f"--output={tmp_path}"]
    flags += ["--distractors=0,2", "--unlabeled=3", "--eval_episodes=4"]
    result = program.run("evaluate", *flags, "--dump_episodes")
    assert result.returncode == 0, result.stderr
    with (tmp_path / "evaluation_images.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    for distractors in (0, 2):
        for episode in range(4):
            key = (str(distractors), str(episode))
            own = [row for row in rows if (row["distractors"], row["episode"]) == key]
            images = {role: set() for role in ROLES}
            for row in own:
                images[row["role"]].add((row["class"], row["image"]))
            query = int(own[0]["query"])
            counts = [len(images[role]) for role in ROLES]
            assert counts == [5, 5 * query, 5 * 3, distractors * 3]
            assert len(set().union(*images.values())) == len(own)  # no image twice
            classes = [{name for name, _ in images[role]} for role in ROLES]
            assert classes[0] == classes[1] == classes[2]
            assert len(classes[3]) == distractors
            assert not classes[0] & classes[3]


def test_nothing_of_earlier_episodes_stays(finished, data_dir, tmp_path):
    earlier = tmp_path / "evaluation_images.csv", tmp_path / "evaluation_strangers.json"
    for path in earlier:
        path.write_text("of other episodes")
    flags = [f"--workdir={finished}", f"--data_dir={data_dir}", f"--output={tmp_path}"]
    assert program.run("evaluate", *flags, "--eval_episodes=3").returncode == 0
    assert not [path.name for path in earlier if path.exists()]


def test_other_episodes_than_trained_for(finished, data_dir, tmp_path):
    result = program.run(
        "evaluate",
        f"--workdir={finished}",
        f"--data_dir={data_dir}",
        f"--output={tmp_path}",
        "--way=10",
        "--shot=3",
        "--query=4",
        "--unlabeled=2",
        "--distractors=5",
        "--eval_episodes=30",
        "--adapt=filter",
    )
    assert result.returncode == 0, result.stderr
    [row] = json.loads((tmp_path / "evaluation.json").read_text())
    assert (row["way"], row["shot"], row["distractors"]) == (10, 3, 5)
    assert "10-way 3-shot, " in result.stdout
    assert "5 distractors" in result.stdout
    assert len((tmp_path / "evaluation_episodes.csv").read_text().splitlines()) == 31


def test_more_ways_than_classes(finished, data_dir):
    result = program.run(
        "evaluate", f"--workdir={finished}", f"--data_dir={data_dir}", "--way=161"
    )
    program.assert_one_line(result, 2, "161 classes", "--way")


def test_a_folder_that_is_no_run(tmp_path, data_dir):
    result = program.run("evaluate", f"--workdir={tmp_path}", f"--data_dir={data_dir}")
    program.assert_one_line(result, 2, "is not a run", "no config.json")


def test_images_of_another_size_than_the_model_takes(finished, data_dir, tmp_path):
    copy = tmp_path / "run"
    copy.mkdir()
    config = json.loads((finished / "config.json").read_text())
    (copy / "config.json").write_text(json.dumps(config | {"image_shape": [32, 32, 1]}))
    result = program.run("evaluate", f"--workdir={copy}", f"--data_dir={data_dir}")
    program.assert_one_line(result, 2, "(32, 32, 1)", "(28, 28, 1)")


def test_a_damaged_config(tmp_path, data_dir):
    for text, complaint in (
        ("{", "not valid JSON"),
        ('{"speed": 1}', "unknown settings speed"),
        ('{"dataset": 1}', "config.json.dataset should be of type"),
        ("[]", "should hold settings"),
    ):
        (tmp_path / "config.json").write_text(text)
        result = program.run(
            "evaluate", f"--workdir={tmp_path}", f"--data_dir={data_dir}"
        )
        program.assert_one_line(result, 2, complaint)
