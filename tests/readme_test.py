"""The Python of the README runs as it stands there, and its numbers are in files."""

import json
import os
import pathlib
import re
import subprocess
import sys

import numpy as np
import pytest
import tensorflow as tf

from prwn_tf.serving import export
from tests.children import child
from tests.cli import program
from tests.serving import made

ROOT = pathlib.Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tools"))

from paper_tables import mini, omniglot  # noqa: E402

README = ROOT / "README.md"
SNIPPETS = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.S)


def run(folder, code):
    """What a fresh process prints, which must not warn that it was imported late."""
    environment = dict(os.environ)
    environment.pop("TF_CPU_ALLOCATOR_USE_BFC", None)
    found = subprocess.run(
        [sys.executable, "-c", code],
        cwd=folder,
        capture_output=True,
        text=True,
        env=environment,
    )
    assert found.returncode == 0, found.stderr
    assert "import prwn_tf first" not in found.stderr
    return found.stdout


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A run and its export, two examples of two classes, and images without labels."""
    tmp_path = tmp_path_factory.mktemp("folder")
    made.write_run(tmp_path / "runs/mine")
    export.export(tmp_path / "runs/mine", tmp_path / "exported/mine")
    for name, some in {"examples": slice(2), "more": slice(2, 8), "new": [9]}.items():
        (tmp_path / name).mkdir()
        for label in range(2):
            for index, image in enumerate(made.drawings(label)[some]):
                content = tf.io.encode_jpeg(image, quality=98).numpy()
                (tmp_path / name / f"{label}-{index}.jpg").write_bytes(content)
    return tmp_path


def test_the_saved_model(folder):
    [code] = [each for each in SNIPPETS if "saved_model.load" in each]
    *lines, last = code.splitlines()
    code = "\n".join(["labels = [0, 0, 1, 1]", *lines, f"print({last})"])
    assert re.findall(r"\[(\d) (\d)\]", run(folder, code)) == [("0", "1")]


def test_the_classifier(folder):
    [code] = [each for each in SNIPPETS if "from_workdir" in each]
    images = {
        name: sorted(map(str, (folder / name).iterdir())) for name in ("more", "new")
    }
    code = code.replace(
        '["a.png", "b.png"]', '["examples/0-0.jpg", "examples/1-0.jpg"]'
    )
    code = f"more, images = {images['more']}, {images['new']}\n{code}"
    printed = run(folder, f"{code}\nprint(*classifier.predict(images))")
    assert len(printed.split()) == 2
    assert set(printed.split()) <= {"cat", "dog"}
    assert np.load(folder / "animals.npz")


USED = """
images = store.read([0, 1_000])
print(classifier.fit(images, [0, 1]).predict(images[[0, 1, 0]]))
"""


def test_the_notebook(tmp_path, data_dir):
    [code] = [each for each in SNIPPETS if "model.fit(" in each]
    (tmp_path / "data").symlink_to(data_dir)
    assert "stop=900" in code
    code = code.replace("stop=900", "stop=3") + USED
    printed = run(tmp_path, code)
    assert printed.splitlines()[-1] == "[0 1 0]"
    assert "loss" in printed
    assert "3/3" in printed


def test_a_part_of_ones_own(tmp_path, data_dir):
    [code] = [each for each in SNIPPETS if "(Regularizer)" in each]
    (tmp_path / "my_parts.py").write_text(code)
    [command] = re.findall(r"^    python (.*my_parts:.*)$", README.read_text(), re.M)
    flags = program.quick(tmp_path / "run", data_dir, episodes=2)
    result = child.run(*command.split(), *flags, cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    losses = json.loads((tmp_path / "run" / "result.json").read_text())["losses"]
    assert {"walker", "size"} <= losses.keys()


# Prose with numbers in it; other pages of results are made from files, and tested so.
WRITTEN = {
    README: README.parent,
    **{
        ROOT / "tools/paper_tables" / f"{name}_notes.md": ROOT / place
        for name, place in {"omniglot": "results", "mini": "results/mini"}.items()
    },
}
MADE = ("README.md", "toy/toy.md", "toy/tuning.md", "mini/README.md")  # in results/
# Their numbers are settings; and times, for which a benchmark wants an idle machine.
NOT_MEASURED = ("Differences from the paper", "Speed", "Parts of your own")
PUBLISHED = {
    f"{number:.2f}"
    for tables in (omniglot.TABLES, mini.TABLES)
    for cell in tables.cells
    for numbers in cell.paper.values()
    for number in numbers
}
HELD = (".json", ".csv", ".md")
DECIMAL = re.compile(r"(?<![\w.])\d+\.\d+(?![\w.]*\d|e-)")


def sections(text):
    """Yields the title and text of each part, without code but with what it prints."""
    for part in re.split(r"^#+ ", text, flags=re.MULTILINE):
        title, _, body = part.partition("\n")
        body = re.sub(r"```.*?```", "", body, flags=re.DOTALL)
        body = re.sub(r"`[^`]*`|(Python|TensorFlow|PyTorch) [\d.]+", "", body)
        yield title, body


def held(path):
    """Returns the numbers that a file holds, or all files of a folder, as texts."""
    if path.is_dir():
        return " ".join(held(each) for each in path.glob("*.*"))
    return path.read_text(encoding="utf-8") if path.suffix in HELD else ""


def is_held(number, text):
    """Returns whether a number stands in a text, or one that is rounded to it."""
    digits = len(number.partition(".")[2])
    shown, margin = float(number), 0.5 * 10.0**-digits + 1e-9
    for found in re.findall(r"-?\d+(?:\.\d+)?(?:e-?\d+)?", text):
        value = abs(float(found))
        if min(abs(value - shown), abs(100 * value - shown)) <= margin:
            return True
    return False


def links(path, text):
    """Returns the files and folders that a text of a page links to."""
    names = re.findall(r"\]\(([^)#:]+)\)", text)
    return [(WRITTEN[path] / name).resolve() for name in names]


@pytest.mark.parametrize("path", WRITTEN, ids=lambda path: path.name)
def test_every_number_is_in_a_file_that_its_section_links_to(path):
    lost = []
    for title, body in sections(path.read_text(encoding="utf-8")):
        known = " ".join(held(link) for link in links(path, body) if link.exists())
        prose = re.sub(r"\]\([^)]*\)", "]", body)
        if title not in NOT_MEASURED:
            lost += [
                (title, number)
                for number in DECIMAL.findall(prose)
                if number not in PUBLISHED and not is_held(number, known)
            ]
    assert not lost


def test_links_of_the_prose_lead_somewhere():
    for path in WRITTEN:
        for _, body in sections(path.read_text(encoding="utf-8")):
            for link in links(path, body):
                assert link.exists(), link


def test_a_number_of_nowhere_is_noticed():
    text = '{"accuracy": 0.98339, "paper": 98.28}'
    assert is_held("98.34", text)
    assert is_held("98.28", text)
    assert is_held("0.983", text)
    assert not is_held("98.35", text)


def test_other_pages_of_results_are_made_from_files():
    pages = (ROOT / "results").rglob("*.md")
    assert {page.relative_to(ROOT / "results").as_posix() for page in pages} <= {*MADE}
