"""A run goes with its images, whatever is prepared in their place."""

import json
import pathlib
import shutil
import subprocess

import pytest

from tests.cli import program
from tests.data import made

NAMES = [f"class {letter}" for letter in "abcdefgh"]


def prepare(source: pathlib.Path, data_dir: pathlib.Path) -> None:
    flags = (f"--source={source}", f"--data_dir={data_dir}", "--image_size=16")
    result = program.run("prepare", "--dataset=folder", *flags)
    assert result.returncode == 0, result.stderr


def train(run: pathlib.Path, data_dir: pathlib.Path) -> subprocess.CompletedProcess:
    changes = {"dataset": "folder", "episodes": 2} | program.SIMPLE
    return program.run("train", *program.quick(run, data_dir, **changes))


@pytest.fixture(scope="module")
def sources(tmp_path_factory) -> dict[str, pathlib.Path]:
    """Two folders of as many classes and images, and one of them as an archive."""
    folder = tmp_path_factory.mktemp("sources")
    cats = made.class_folders(folder / "cats", NAMES, images=20)
    dogs = made.class_folders(folder / "dogs", NAMES[::-1], images=20)
    archive = shutil.make_archive(str(folder / "packed"), "zip", cats)
    return {"cats": cats, "dogs": dogs, "packed": pathlib.Path(archive)}


@pytest.fixture(scope="module")
def run(tmp_path_factory, sources) -> pathlib.Path:
    """The workdir of a finished run on cats."""
    path = tmp_path_factory.mktemp("run")
    prepare(sources["cats"], path / "data")
    result = train(path / "run", path / "data")
    assert result.returncode == 0, result.stderr
    return path / "run"


@pytest.fixture(scope="module")
def other(tmp_path_factory, sources) -> pathlib.Path:
    data_dir = tmp_path_factory.mktemp("other")
    prepare(sources["dogs"], data_dir)
    return data_dir


@pytest.mark.parametrize("name", ["train", "evaluate", "distractors", "analyze"])
def test_a_run_is_not_used_with_other_data(run, other, sources, name):
    if name == "train":
        result = train(run, other)
    else:
        result = program.run(name, f"--workdir={run}", f"--data_dir={other}", "--way=2")
    named = (
        f"of {sources['cats']} (160 images",
        f"holds {sources['dogs']} (160 images",
    )
    program.assert_one_line(result, 2, *named, str(run), "--data_dir")


def test_the_same_images_from_elsewhere_are_the_same(run, sources, tmp_path):
    prepare(sources["packed"], tmp_path)
    manifest = json.loads((tmp_path / "folder" / "manifest.json").read_text())
    assert manifest["source"] == str(sources["packed"])
    result = train(run, tmp_path)
    assert result.returncode == 0, result.stderr


def test_a_run_that_does_not_say_takes_any(run, other, tmp_path):
    copy = shutil.copytree(run, tmp_path / "run")
    (copy / "data.json").unlink()
    result = program.run("evaluate", f"--workdir={copy}", f"--data_dir={other}")
    assert result.returncode == 0, result.stderr
    assert train(copy, other).returncode == 0
    assert not (copy / "data.json").exists()


def test_a_damaged_record(run, other, tmp_path):
    copy = shutil.copytree(run, tmp_path / "run")
    for text, complaint in (("{", "not valid JSON"), ("{}", "data.json is incomplete")):
        (copy / "data.json").write_text(text)
        result = program.run("evaluate", f"--workdir={copy}", f"--data_dir={other}")
        program.assert_one_line(result, 2, complaint)
