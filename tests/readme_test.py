"""What README and docs show is so: their Python runs, their commands are there."""

import json
import os
import pathlib
import re
import shlex
import subprocess
import sys

import pytest
import tensorflow as tf

from prwn_tf.serving import export
from tests.children import child
from tests.cli import program
from tests.serving import made

ROOT = pathlib.Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def blocks(page: str, language: str) -> list[str]:
    """Returns the fenced blocks of a page in a language, in order."""
    text = (ROOT / page).read_text(encoding="utf-8")
    return re.findall(rf"```{language}\n(.*?)```", text, re.S)


def run(folder: pathlib.Path, code: str) -> str:
    """What a fresh process prints, which must not warn that it was imported late."""
    environment = dict(os.environ) | {"PYTHONPATH": str(ROOT)}
    environment.pop("TF_CPU_ALLOCATOR_USE_BFC", None)
    result = subprocess.run(
        [sys.executable, "-c", code],
        cwd=folder,
        capture_output=True,
        text=True,
        env=environment,
    )
    assert result.returncode == 0, result.stderr
    assert "import prwn_tf first" not in result.stderr
    return result.stdout


@pytest.fixture(scope="module")
def folder(tmp_path_factory, data_dir) -> pathlib.Path:
    """Where a reader is: sketches, a run and its export, images in folders, glyphs."""
    place = tmp_path_factory.mktemp("reader")
    made.write_run(place / "runs/mine", calibrated=True)
    export.export(place / "runs/mine", place / "exported/mine")
    for name, some in {"examples": slice(2), "more": slice(2, 8), "new": [9]}.items():
        for label in range(2):
            (place / name / f"{label}").mkdir(parents=True)
            for index, image in enumerate(made.drawings(label)[some]):
                content = tf.io.encode_jpeg(image, quality=98).numpy()
                (place / name / f"{label}" / f"{index}.jpg").write_bytes(content)
    program.run("sketch", f"--output={place / 'sketches'}")
    (place / "data").symlink_to(data_dir)
    return place


def test_the_python_of_the_readme(folder):
    code = "".join(blocks("README.md", "python"))
    answer = code.index("classifier.predict(")
    code = f"{code[:answer]}print({code[answer:].replace('  # array', ')  # array', 1)}"
    assert run(folder, code) == "['fish']\n"
    assert (folder / "things.npz").exists()


@pytest.mark.slow  # as that of the README, for longer
def test_the_python_page(folder):
    for block in blocks("docs/python.md", "python"):  # each can stand alone
        assert "import keras" not in block.partition("prwn_tf")[0]
    code = "".join(blocks("docs/python.md", "python"))
    assert "stop=900" in code
    code = code.replace("stop=900", "stop=3") + "print(classifier)\n"
    *_, progress, last = run(folder, code).replace("\b", "").splitlines()
    assert "3/3" in progress
    assert last.endswith("of 2 classes: first, second")


def test_the_saved_model(folder):
    [code] = blocks("docs/own_images.md", "python")
    *lines, last = code.splitlines()
    printed = run(folder, "\n".join([*lines, f"print({last})"]))
    assert re.findall(r"\[(\d) (\d)\]", printed) == [("0", "1")]


def test_a_part_of_ones_own(tmp_path, data_dir):
    [code] = blocks("docs/research.md", "python")
    (tmp_path / "my_parts.py").write_text(code)
    [command] = [c for c in commands("docs/research.md") if "my_parts:" in c]
    flags = program.quick(tmp_path / "run", data_dir, episodes=2, **program.SIMPLE)
    result = child.run("-m", "prwn_tf", *shlex.split(command)[1:], *flags, cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    losses = json.loads((tmp_path / "run" / "result.json").read_text())["losses"]
    assert {"walker", "size"} <= losses.keys()


def commands(page: str) -> list[str]:
    """Returns the commands of a page, each in one line."""
    lines = "".join(blocks(page, "bash")).replace("\\\n", " ").splitlines()
    return [part.strip() for line in lines for part in line.split("&&")]


PARSE = """
import importlib, sys
from absl import flags
name, *arguments = sys.argv[1:]
sys.argv[1:] = arguments
importlib.import_module(f"prwn_tf.{name}")
flags.FLAGS([name, *arguments])
"""


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_are_there_and_take_their_flags(page, tmp_path):
    for command in commands(str(page.relative_to(ROOT))):
        first, *rest = shlex.split(command)
        if first == "python" and rest[0].endswith(".py"):
            assert (ROOT / rest[0]).is_file()
        if rest[:1] == ["-m"] and rest[1].startswith("prwn_tf."):
            first, rest = "prwn", [rest[1].removeprefix("prwn_tf."), *rest[2:]]
        if first != "prwn" or any("my_parts" in each for each in rest):
            continue
        rest = [each for each in rest if not each.startswith("--flagfile")]
        result = child.run("-c", PARSE, *rest, cwd=tmp_path)
        assert result.returncode == 0, f"{command}: {result.stderr}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    prose = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.S)
    for link in re.findall(r"\]\(([^)#]+)", prose):
        if "://" not in link:
            assert (page.parent / link).exists(), link
