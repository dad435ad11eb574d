"""Wrong flags and wrong data: one clear line, the promised exit code."""

import json
import os
import shutil
import signal
import subprocess
import sys

import pytest

from tests.cli import program

NO_POINTS = "--train_unlabeled and --train_extra are 0"
SERVED, RELEASED = "--model=omniglot-prwn", "--workdir=omniglot-prwn"


@pytest.mark.parametrize(
    ("flags", "texts"),
    [
        (["--shot=0"], ["shot"]),
        (["--way=1"], ["way"]),
        (["--unlabeled=-1"], ["unlabeled"]),
        (["--episodes=many"], ["episodes"]),
        (["--shots=5"], ["unknown flag --shots; did you mean --shot?"]),
        (["--dataset=imagenet"], ["dataset", "glyphs|omniglot"]),
        (["--showprefixforinf=1"], ["unknown flag --showprefixforinf; --help"]),
        (["--method=magic"], ["method", "pn|prwn"]),
        (["extra"], ["unexpected argument 'extra'"]),
        (["--flagfile=/nowhere/x.flags"], ["/nowhere/x.flags"]),
    ],
)
def test_usage_errors_exit_with_1(flags, texts):
    result = program.run("train", *flags)
    assert result.returncode == 1
    assert "Traceback" not in result.stderr
    for text in texts:
        assert text in result.stderr + result.stdout


@pytest.mark.parametrize(
    ("name", "flags", "code", "text"),
    [
        ("evaluate", [RELEASED], 2, "nothing is written; give an --output"),
        ("evaluate", ["--model=omniglot-prwn"], 2, "as --workdir=omniglot-prwn"),
        ("evaluate", ["--model=x", RELEASED], 1, "and --model=MODEL, not both"),
        (
            "predict",
            [SERVED, "--classes=c.npz", "--adapt=gate", "--query=q"],
            2,
            "--adapt=gate says what --unlabeled does, and --classes=c.npz was learned",
        ),
        ("predict", [SERVED, "--query", "a", "b"], 1, "unexpected argument 'b'"),
    ],
)
def test_what_names_a_model_is_one_line(name, flags, code, text):
    program.assert_one_line(program.run(name, *flags), code, text)


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("--shoot=5", "unknown flag --shoot; did you mean --shot?"),
        ("--shot 5", "'--shot 5' should be --shot=VALUE"),
        ("--shot=0", "--shot=0: 0 is not"),
        ("--way=many", "--way=many: invalid literal"),
        ("--dataset=imagenet", "--dataset=imagenet: value should be one of"),
        ("--compare=perhaps", "--compare=perhaps: "),
        ("way=5", "'way=5' is no flag; write --NAME=VALUE"),
        ("\ufeff--way=5", "begins with a byte order mark"),
        ("--flagfile=omniglot/pn.flags", "'--flagfile=omniglot/pn.flags' is found by"),
    ],
)
def test_a_mistake_in_a_flagfile_is_told_with_file_and_line(tmp_path, line, text):
    path = tmp_path / "mine.flags"
    path.write_text(f"# comment\n--shot=5\n{line}\n")
    result = program.run("train", f"--flagfile={path}")
    program.assert_one_line(result, 1, f"{path}:3: {text}")


def test_a_flagfile_that_is_no_text(tmp_path):
    path = tmp_path / "mine.flags"
    path.write_bytes(b"\xff\xfe--seed=3\n")
    result = program.run("train", f"--flagfile={path}")
    program.assert_one_line(result, 1, f"cannot read --flagfile={path}: ")


def test_flagfiles_that_include_others(tmp_path):
    """One that includes itself is read once."""
    base, mine = tmp_path / "base.flags", tmp_path / "mine.flags"
    base.write_text(f"--seed=7\n--flagfile={mine}\n")
    mine.write_text(f"--flagfile={base}\n--way=3\n")
    result = program.run("train", f"--flagfile={mine}", "--print_config")
    assert result.returncode == 0, result.stderr
    lines = [line.split() for line in result.stdout.splitlines()]
    assert any(line[:1] == ["--seed=7"] for line in lines)
    assert any(line[:1] == ["--way=3"] for line in lines)
    base.write_text("--shot=0\n")
    result = program.run("train", f"--flagfile={mine}")
    program.assert_one_line(result, 1, f"{base}:1: --shot=0: 0 is not")


@pytest.mark.parametrize(
    ("changes", "texts"),
    [
        ({"train_way": 500}, ["500 classes", "train split has 400", "--train_way"]),
        ({"way": 70, "distractors": 20}, ["70 classes + 20", "val split has 80"]),
        ({"train_query": 5}, ["labelled images", "train000", "--label_ratio"]),
        (
            {"label_ratio": 1.0, "train_unlabeled": 19},
            ["has 20 images but an episode needs 21", "--train_unlabeled"],
        ),
        ({"label_ratio": 0.0}, ["label_ratio must be in (0, 1], got 0"]),
        ({"label_ratio": 1.5}, ["label_ratio must be in (0, 1], got 1.5"]),
        ({"train_unlabeled": 19}, ["18 unlabelled images", "needs 19"]),
        ({"train_unlabeled": 0}, ["--walk_weight=1", NO_POINTS]),
        ({"walk_weight": -1}, ["walk_weight must be >= 0"]),
        ({"walk_decay": 0}, ["walk_decay must be in (0, 1]"]),
        ({"visit_weight": -1}, ["visit_weight must be >= 0"]),
        ({"vat_weight": -0.5}, ["vat_weight must be >= 0, got -0.5"]),
        ({"vat_epsilon": 0}, ["vat_epsilon must be positive"]),
        ({"vat_xi": 0}, ["vat_xi must be positive"]),
        ({"entropy_weight": -1}, ["entropy_weight must be >= 0"]),
        ({"association_weight": -1}, ["association_weight must be >= 0"]),
        ({"cluster_radius": 0}, ["cluster_radius must be positive"]),
        ({"mask_power": 3}, ["mask_power must be 1 or 2"]),
        (
            {"regularizers": "walk,vatt"},
            ["walk, vat, entropy, association, gan", "'vatt'"],
        ),
        (
            {"method": "pn_vat", "train_unlabeled": 0},
            ["--vat_weight=1", NO_POINTS],
        ),
        (
            {"method": "soft_kmeans", "train_unlabeled": 0},
            ["--method=soft_kmeans", NO_POINTS, "--method=pn"],
        ),
        ({"graph_smoothing": 1}, ["graph_smoothing must be in [0, 1)"]),
        ({"learning_rate": 0}, ["learning_rate must be positive"]),
        ({"halve_at": "5,x"}, ["--halve_at"]),
        ({"halve_at": "-5,5"}, ["halve_at must be increasing steps from 1"]),
        ({"beta_2": 1.5}, ["beta_2 must be in [0, 1), got 1.5"]),
        ({"weight_decay": -1}, ["weight_decay must be >= 0, got -1"]),
        ({"halve_at": "9,5"}, ["halve_at must be increasing"]),
        ({"deterministic": None, "xla": "step"}, ["--deterministic", "--xla=step"]),
        (
            {"precision": "float16", "conv_block": "fast"},
            ["--precision=float16", "--conv_block=fast", "--conv_block=auto"],
        ),
        ({"vat_epsilon": 3}, ["--vat_epsilon has no effect", "--vat_weight is 0"]),
        ({"method": "pn", "walk_steps": 7}, ["--walk_steps has no effect"]),
        ({"mask_power": 2}, ["--mask_power has no effect", "--method=masked_kmeans"]),
        ({"method": "pn", "compare": None}, ["--compare", "--method=pn has none"]),
        ({"dataset": "spiral", "encoder": "conv4"}, ["16 pixels", "--encoder=mlp"]),
        ({"dataset": "spiral", "gan_weight": 1}, ["8 pixels", "set --gan_weight=0"]),
        ({"dataset": "spiral", "augment": "color"}, ["--augment", "points of a plane"]),
        ({"method": "pn", "xla": "walk"}, ["--xla has no effect", "no walk"]),
        ({"encoder": "mlp", "conv_block": "fast"}, ["--conv_block has no effect"]),
        ({"encoder": "keras:VGG16", "channels": 7}, ["--channels has no effect"]),
        (
            {"method": "tpn", "tpn_scale": 0.4, "tpn_first_scale": 1},
            ["--tpn_first_scale has no effect", "--tpn_scale=0.4"],
        ),
        (
            {"method": "pn", "train_distractors": 3, "train_unlabeled": 0},
            ["--train_distractors has no effect", "--train_unlabeled is 0"],
        ),
        ({"gan_loss": "realness"}, ["--gan_loss has no effect", "--gan_weight is 0"]),
        ({"unlabeled": 19}, ["val split has 20 images", "needs 21"]),
        ({"batch_size": 8}, ["--batch_size has no effect", "--method=classifier"]),
        ({"momentum": 0.5}, ["--momentum has no effect", "--optimizer=sgd"]),
        ({"optimizer": "sgd", "beta_2": 0.9}, ["--beta_2 has no", "--optimizer=adam"]),
        (
            {"cosine_steps": 9, "halve_at": "5"},
            ["--halve_at has no effect", "--cosine_steps"],
        ),
        ({"method": "classifier"}, ["--train_way has no effect", "mini-batches"]),
        (
            {"method": "classifier", "walk_weight": 1},
            ["--walk_weight needs unlabelled points", "--method=classifier"],
        ),
    ],
)
def test_impossible_settings_exit_with_2(tmp_path, data_dir, changes, texts):
    result = program.run("train", *program.quick(tmp_path / "w", data_dir, **changes))
    program.assert_one_line(result, 2, *texts)


def test_unprepared_data_says_how_to_prepare_it(tmp_path):
    flags = ["--dataset=tiered", "--shot=5", f"--data_dir={tmp_path}"]
    result = program.run("train", *flags)
    program.assert_one_line(
        result,
        2,
        "tiered is not prepared",
        "prwn_tf.prepare --dataset=tiered --source=",
    )
    flags = ["--dataset=omniglot", f"--data_dir={tmp_path}"]
    result = program.run("train", *flags, f"--workdir={tmp_path / 'w'}")
    program.assert_one_line(result, 2, "--dataset=omniglot --data_dir=", "downloads")
    assert not (tmp_path / "w").exists()  # what is refused leaves nothing


@pytest.mark.parametrize(
    ("workdir", "text"),
    [
        ("runs/a[1]", "because of [ in its name"),
        ("gs://bucket/run", "gs://bucket/run is an address"),
    ],
)
def test_workdirs_that_cannot_be(data_dir, workdir, text):
    result = program.run("train", *program.quick(workdir, data_dir))
    program.assert_one_line(result, 2, text)


def test_workdir_that_cannot_be_written(tmp_path, data_dir):
    (tmp_path / "file").write_text("")
    result = program.run("train", *program.quick(tmp_path / "file" / "w", data_dir))
    program.assert_one_line(result, 2, "cannot write to workdir", "--workdir")


def test_workdir_with_foreign_files_is_left_alone(tmp_path, data_dir):
    (tmp_path / "thesis.tex").write_text("")
    (tmp_path / "checkpoints").mkdir()  # of something else
    for flags in ([], ["--restart"]):
        result = program.run("train", *program.quick(tmp_path, data_dir), *flags)
        program.assert_one_line(result, 2, "thesis.tex", "no run")
    assert {path.name for path in tmp_path.iterdir()} >= {"thesis.tex", "checkpoints"}


def test_workdir_of_another_config_names_the_fields(finished, tmp_path, data_dir):
    shutil.copytree(finished, tmp_path, dirs_exist_ok=True)
    changes = {"train_way": 4, "seed": 7, "episodes": 2} | program.SIMPLE
    other = program.quick(tmp_path, data_dir, **changes)
    result = program.run("train", *other)
    program.assert_one_line(
        result, 2, "train.way was 3, now 4", "seed was 0, now 7", "--restart"
    )
    (tmp_path / "notes.txt").write_text("mine")
    (tmp_path / "evaluation_images.csv").write_text("of the run")
    assert program.run("train", *other, "--restart").returncode == 0
    assert (tmp_path / "notes.txt").read_text() == "mine"
    assert not (tmp_path / "evaluation_images.csv").exists()
    assert json.loads((tmp_path / "config.json").read_text())["seed"] == 7

    impossible = program.run("train", *other, "--restart", "--way=500")
    program.assert_one_line(impossible, 2, "500 classes", "val split has 80")
    assert (tmp_path / "result.json").exists()  # nothing was deleted for it


def test_loss_that_explodes_exits_with_3(tmp_path, data_dir):
    flags = program.quick(tmp_path, data_dir, learning_rate=1e30, **program.PLAIN)
    result = program.run("train", *flags)
    program.assert_one_line(result, 3, "not finite at step", "nan_report.json")
    report = json.loads((tmp_path / "nan_report.json").read_text())
    assert report["episode"] == report["step"] - 1
    assert (tmp_path / "checkpoints" / "ckpt-0.index").exists()


def test_a_reader_that_leaves_is_no_error():
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "prwn_tf.train", "--helpshort"]
    found = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE)
    os.close(writer)
    assert found.returncode == 128 + signal.SIGPIPE
    assert found.stderr == b""


def test_without_standard_output(tmp_path):
    command = 'exec "$0" -m prwn_tf.prepare --dataset=spiral "--data_dir=$1" >&-'
    found = subprocess.run(
        ["sh", "-c", command, sys.executable, str(tmp_path)], stderr=subprocess.PIPE
    )
    assert (found.returncode, found.stderr) == (0, b"")
    assert (tmp_path / "spiral" / "manifest.json").exists()
