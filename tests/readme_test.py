"""The Python of the README runs as it stands there."""

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

README = pathlib.Path(__file__).parents[1] / "README.md"
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
