"""Glyphs: the same drawings everywhere, whole, distinct, and hard for plain pixels."""

import hashlib
import subprocess
import sys

import numpy as np
import pytest

from prwn_tf.data.sets import glyphs
from prwn_tf.data.store import reader

# If this changes on purpose, raise glyphs.VERSION with it.
GOLDEN = "c65ba915519e522a9095d342db7d3701e7c57d480d72d6517b957718ac3a01d2"


def digest(seed: int, split: str, index: int) -> str:
    return hashlib.sha256(glyphs.draw_class(seed, split, index).tobytes()).hexdigest()


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    directory = tmp_path_factory.mktemp("data") / "glyphs"
    glyphs.build(directory)
    return directory


@pytest.fixture(scope="module")
def stores(directory):
    return reader.open_dataset(directory)


def test_a_class_is_twenty_small_gray_images():
    images = glyphs.draw_class(0, "val", 3)
    assert images.shape == (20, 28, 28, 1)
    assert images.dtype == np.uint8


def test_the_drawings_of_this_version_do_not_change():
    assert glyphs.VERSION == 1
    assert digest(0, "train", 0) == GOLDEN


def test_a_fresh_process_draws_the_same_bytes():
    code = (
        "import hashlib; from prwn_tf.data.sets import glyphs;"
        "images = glyphs.draw_class(3, 'test', 7);"
        "print(hashlib.sha256(images.tobytes()).hexdigest())"
    )
    assert output_of(code) == digest(3, "test", 7)


def test_drawing_needs_no_tensorflow():
    code = "import sys, prwn_tf.data.sets.glyphs; print('tensorflow' in sys.modules)"
    assert output_of(code) == "False"


def output_of(code: str) -> str:
    """What a fresh Python prints when it runs `code`."""
    command = [sys.executable, "-c", code]
    return subprocess.run(
        command, capture_output=True, text=True, check=True
    ).stdout.strip()


def test_a_class_does_not_depend_on_those_drawn_before_it():
    alone = digest(0, "train", 5)
    for index in range(5):
        glyphs.draw_class(0, "train", index)
    assert digest(0, "train", 5) == alone


@pytest.mark.parametrize(
    "other", [(1, "train", 0), (0, "val", 0), (0, "test", 0), (0, "train", 1)]
)
def test_seed_split_and_index_each_matter(other):
    assert digest(*other) != digest(0, "train", 0)


def test_an_unknown_split_is_refused():
    with pytest.raises(ValueError, match="not in tuple"):
        glyphs.draw_class(0, "training", 0)


def test_a_data_set_has_all_classes(stores, directory):
    assert {split: len(part.names) for split, part in stores.items()} == glyphs.CLASSES
    for part in stores.values():
        assert set(part.counts) == {glyphs.DRAWINGS}
        assert part.image_shape == (glyphs.SIZE, glyphs.SIZE, 1)
    manifest = reader.read_manifest(directory)
    assert manifest["dataset"] == "glyphs"
    assert manifest["version"] == glyphs.VERSION
    assert manifest["seed"] == 0
    reader.verify(directory)


@pytest.mark.parametrize("split", reader.SPLITS)
def test_a_data_set_holds_what_draw_class_draws(stores, split):
    part = stores[split]
    last = len(part.names) - 1
    np.testing.assert_array_equal(
        part.read(part.rows(last)), glyphs.draw_class(0, split, last)
    )


def test_no_image_is_drawn_twice_in_any_split(stores):
    images = [image.tobytes() for part in stores.values() for image in part.images]
    assert len(set(images)) == len(images)


@pytest.mark.parametrize("split", reader.SPLITS)
def test_every_image_has_a_character_in_it(stores, split):
    inked = stores[split].images[..., 0] > 127  # [images, SIZE, SIZE]
    share = inked.mean(axis=(1, 2))
    assert share.min() > 0.02
    assert share.max() < 0.4
    longer = np.maximum(extent(inked.any(axis=1)), extent(inked.any(axis=2)))
    assert longer.min() >= glyphs.LENGTH[0]
    assert longer.max() < glyphs.SIZE


@pytest.mark.parametrize("split", reader.SPLITS)
def test_no_character_is_cut_off(stores, split):
    images = stores[split].images[..., 0]
    border = np.concatenate(
        [images[:, 0], images[:, -1], images[:, :, 0], images[:, :, -1]], axis=1
    )
    # A stroke that runs out of the image or along its edge inks the border in full.
    assert border.max() < 0.75 * 255
    assert (border > 0).mean() < 0.05


def test_pixels_alone_tell_classes_apart_poorly(stores):
    accuracy = nearest_neighbour_accuracy(stores["test"], episodes=300)
    assert 0.35 < accuracy < 0.65


def extent(inked: np.ndarray) -> np.ndarray:
    """From the first to the last inked place, gaps included: [n, SIZE] -> [n]."""
    return inked.shape[1] - inked.argmax(axis=1) - inked[:, ::-1].argmax(axis=1)


def nearest_neighbour_accuracy(part: reader.ClassStore, episodes: int) -> float:
    """5-way 1-shot accuracy of the nearest support image, 5 queries of each class."""
    random = np.random.default_rng(0)
    images = part.images.reshape(len(part.names), glyphs.DRAWINGS, -1) / 255
    truth = np.repeat(np.arange(5), 5)
    hits = []
    for _ in range(episodes):
        classes = random.choice(len(images), 5, replace=False)
        drawings = random.permutation(glyphs.DRAWINGS)[:6]
        chosen = images[np.ix_(classes, drawings)]  # [5, 6, pixels]
        queries = chosen[:, 1:].reshape(25, 1, -1)
        distances = np.square(queries - chosen[:, 0]).sum(axis=-1)  # [25, 5]
        hits.append(distances.argmin(axis=1) == truth)
    return float(np.mean(hits))
