"""The sketches that the README begins with: drawn by a program, labelled by a model."""

import numpy as np
import pytest

from prwn_tf import sketch
from tests.cli import program


@pytest.fixture(scope="module")
def drawn():
    return sketch.drawings(seed=0, examples=2)


def test_folders_for_predict(drawn):
    names = list(drawn)
    things, others = len(sketch.THINGS), len(sketch.DISTRACTORS)
    counts = {
        folder: sum(name.startswith(f"{folder}/") for name in names)
        for folder in ("support", "query", "unlabeled")
    }
    assert counts == {
        "support": 2 * things,
        "query": 12 * things + 3 * others,
        "unlabeled": 8 * (things + others),
    }
    assert "support/house/1.png" in names
    assert "unlabeled/arrow_08.png" in names


def test_drawings_are_ink_on_paper_and_all_different(drawn):
    images = np.stack(list(drawn.values()))
    assert images.shape[1:] == (105, 105)
    assert images.dtype == np.uint8
    ink = (images < 128).mean(axis=(1, 2))
    assert ink.min() > 0.01
    assert ink.max() < 0.25
    edge = np.concatenate([images[:, [0, -1]], images[:, :, [0, -1]].swapaxes(1, 2)])
    assert (edge == 255).all()  # nothing is cut off
    assert len({image.tobytes() for image in images}) == len(images)


def test_a_seed_is_a_set_of_hands(drawn):
    again = sketch.drawings(seed=0, examples=2)
    other = sketch.drawings(seed=1, examples=2)
    for name, image in drawn.items():
        np.testing.assert_array_equal(again[name], image)
    assert (other["support/fish/0.png"] != drawn["support/fish/0.png"]).any()


def test_as_a_program(tmp_path):
    result = program.run("sketch", f"--output={tmp_path / 'new'}")
    assert "drew 149 images" in result.stdout
    assert len(list((tmp_path / "new").rglob("*.png"))) == 149
