"""Paths that flags name: homes, forbidden folders, names that no disk takes."""

import pathlib
import shutil

import pytest

from prwn_tf import cli
from tests.cli import program
from tests.faults import harness

ROOT = pathlib.Path(__file__).parents[2]
MODEL = f"--model={ROOT / 'results' / 'omniglot' / 'prwn'}"


@pytest.mark.parametrize(
    ("name", "flags"),
    [
        ("train", ["--workdir=~/file/HERE"]),
        ("evaluate", ["--workdir=~/HERE"]),
        ("distractors", ["--workdir=~/HERE"]),
        ("analyze", ["--workdir=~/HERE"]),
        ("export", ["--workdir=~/HERE", "--output=out"]),
        ("predict", ["--model=~/HERE", "--support=s", "--query=q", "--output=o"]),
        ("predict", [MODEL, "--support=~/HERE", "--query=q", "--output=o"]),
    ],
)
def test_a_home_is_found(tmp_path, name, flags):
    (tmp_path / "file").write_text("")
    result = program.run(name, *flags, HOME=str(tmp_path))
    program.assert_one_line(result, 2, str(tmp_path), "HERE")


def test_results_go_home(finished, data_dir, tmp_path):
    flags = (f"--workdir={finished}", f"--data_dir={data_dir}", "--eval_episodes=5")
    result = program.run("evaluate", *flags, "--output=~/out", HOME=str(tmp_path))
    assert result.returncode == 0, result.stderr
    assert (tmp_path / "out" / "evaluation.json").exists()


@pytest.mark.parametrize("name", ["evaluate", "distractors", "analyze"])
def test_an_output_that_cannot_be_is_found_before_the_work(
    finished, data_dir, tmp_path, name
):
    output = tmp_path / "file" / "folder"
    output.parent.write_text("")
    # A run without weights, so that nothing can be computed.
    workdir = shutil.copytree(finished, tmp_path / "run")
    shutil.rmtree(workdir / "checkpoints")
    flags = (f"--workdir={workdir}", f"--data_dir={data_dir}", f"--output={output}")
    result = program.run(name, *flags, "--way=2")
    program.assert_one_line(result, 4, "cannot write", str(output))


def test_a_name_that_no_disk_takes(data_dir):
    name = "x" * 300
    result = program.run("evaluate", f"--workdir={name}", f"--data_dir={data_dir}")
    program.assert_one_line(result, 2, f"error: {name}")


def test_a_folder_that_may_not_be_read(tmp_path):
    secret = tmp_path / "secret"
    secret.mkdir(mode=0o000)
    sandbox = harness.Sandbox(tmp_path)
    result = sandbox.run(
        "evaluate", f"--workdir={secret}", before=harness.bound_by_permissions
    )
    program.assert_one_line(result, 2, str(secret))


def test_a_full_disk_that_nobody_foresaw(capsys):
    def main():
        with open("/dev/full", "w") as file:
            file.write("x")

    assert cli.exit_code(main) == 4
    assert "No space left on device" in capsys.readouterr().err


class ResourceExhaustedError(Exception):
    """Called as TensorFlow's is."""


@pytest.mark.parametrize("kind", [MemoryError, ResourceExhaustedError])
def test_too_little_memory(capsys, kind):
    def main():
        raise kind("OOM when allocating")

    assert cli.exit_code(main) == 2
    assert "not enough memory; lower --train_way" in capsys.readouterr().err


def test_what_nobody_foresaw_is_not_hidden():
    with pytest.raises(ZeroDivisionError):
        cli.exit_code(lambda: 1 / 0)
