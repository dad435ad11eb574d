"""What the package says of itself is true, and its wheel needs no checkout."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import sysconfig
import venv

import pytest

import prwn_tf
from tests.cli import program

ROOT = pathlib.Path(__file__).parents[1]


def first(pattern: str, name: str) -> str:
    """Returns what a pattern finds first in a file of the project."""
    return re.search(pattern, (ROOT / name).read_text(), re.MULTILINE).group(1)


def test_the_version_is_one():
    version = prwn_tf.__version__
    assert first(r"^version: (.+)$", "CITATION.cff") == version
    assert first(r"^## (\S+),", "CHANGELOG.md") == version


def test_the_licence_is_one():
    assert first(r"^license: (.+)$", "CITATION.cff") == "Apache-2.0"
    assert first(r'license="(.+)"', "setup.py") == "Apache-2.0"
    assert "Apache License" in first(r"^\s+(.+)$", "LICENSE")


@pytest.fixture(scope="module")
def installed(tmp_path_factory) -> pathlib.Path:
    """The programs of a fresh environment with our wheel, far from the checkout.

    Packages of others are those of the running environment.
    """
    place = tmp_path_factory.mktemp("installed")
    source = place / "source"
    for name in ("prwn_tf", "flags", "results/omniglot/prwn", "results/own_photos"):
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / name, source / name, ignore=ignored)
    for name in ("setup.py", "pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    pip = [sys.executable, "-m", "pip", "-q"]
    alone = ["--no-deps", "--no-index"]
    built = ["wheel", "--no-build-isolation", *alone, "-w", place, source]
    subprocess.run([*pip, *built], check=True)
    venv.create(place / "venv")
    python = place / "venv/bin/python"
    [wheel] = place.glob("prwn_tf-*.whl")
    subprocess.run([*pip, "--python", python, "install", *alone, wheel], check=True)
    [packages] = (place / "venv/lib").glob("python*/site-packages")
    (packages / "others.pth").write_text(f"{sysconfig.get_path('purelib')}\n")
    shutil.rmtree(source)
    return place / "venv/bin"


@pytest.mark.slow
def test_a_wheel_works_without_the_checkout(installed, tmp_path, data_dir):
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}

    def run(*arguments: object) -> str:
        result = subprocess.run(
            [installed / "prwn", *map(str, arguments)],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
        )
        assert result.returncode == 0, result.stderr
        return result.stdout

    said = "from prwn_tf import expectation as e; print(e.__file__, e.lines(8, 20))"
    where = subprocess.run(
        [installed / "python", "-c", said],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert where.stdout.startswith(str(installed.parent))
    assert "8 classes of 20 images" in where.stdout  # the table came along
    assert "predict" in run()
    run("sketch", "--output=sketches")
    folders = [f"--{name}=sketches/{name}" for name in ("support", "query")]
    printed = run("predict", "--model=omniglot-prwn", *folders, "--output=labels")
    assert "72 images labelled" in printed
    assert (tmp_path / "labels/gallery.html").exists()
    asked = ["--flagfile=omniglot/prwn.flags", "--dataset=glyphs"]
    printed = run("train", *asked, *program.quick("run", data_dir, **program.SIMPLE))
    assert "12 episodes trained" in printed
    assert "6000,8000" in (tmp_path / "run/flags.txt").read_text()
