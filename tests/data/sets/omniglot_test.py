"""Omniglot as it is written: pixels, rotations, and those of the real archive."""

import numpy as np
import pytest

from prwn_tf.data.sets import omniglot
from prwn_tf.data.store import reader
from tests.data.sets.omniglot_made import build, draw, write_halves


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    """A folder of `images_background` and `images_evaluation`, not to be changed."""
    return write_halves(tmp_path_factory.mktemp("original"))


# --- Pixels


def test_cubic_weights_are_those_of_opencv():
    weights = 2048 * omniglot.cubic_weights(105, 28)

    # The first centre is 1.375 and the second 5.125; both have four neighbours.
    np.testing.assert_array_equal(weights[0, :5], [-225, 1535, 873, -135, 0])
    np.testing.assert_array_equal(weights[1, 3:9], [0, -147, 1981, 235, -21, 0])
    np.testing.assert_array_equal(weights[::-1, ::-1], weights)
    np.testing.assert_array_equal(weights.sum(axis=1), 2048)


def test_cubic_weights_repeat_the_border():
    # The first centre is -0.25: two of its neighbours, with -0.0352 and 0.2617, lie
    # outside and count for pixel 0.
    weights = omniglot.cubic_weights(2, 4)

    np.testing.assert_allclose(weights[0], [1.10546875, -0.10546875])


def test_shrink_equals_opencv():
    rows, columns = np.indices((105, 105))
    image = np.where((rows * rows + 3 * columns) % 11 < 4, 0, 255).astype(np.uint8)

    shrunk = omniglot.shrink(image)

    # From 255 - cv2.resize(image, (28, 28), interpolation=cv2.INTER_CUBIC), 5.0.0.
    # fmt: off
    expected = [
        0, 0, 0, 0, 0, 25, 7, 0, 93, 58, 12, 167, 132, 55, 233, 206, 120, 255, 253, 184,
        255, 247, 224, 255, 190, 219, 251, 108,
    ]
    # fmt: on
    np.testing.assert_array_equal(shrunk[13], expected)
    assert shrunk.sum() == 83711


def test_shrink_makes_ink_bright():
    blank = np.full((105, 105), 255, np.uint8)
    dot = blank.copy()
    dot[5, 5] = 0

    assert not omniglot.shrink(blank).any()
    assert (omniglot.shrink(0 * blank) == 255).all()
    assert omniglot.shrink(dot)[1, 1] == 239  # 255 * (1981 / 2048)^2
    assert np.count_nonzero(omniglot.shrink(dot)) == 1


# --- What is written


def test_classes_are_characters_in_four_rotations(original, tmp_path):
    stores = build(tmp_path / "out", original)

    assert {split: len(store.names) for split, store in stores.items()} == {
        "train": 8,
        "val": 4,
        "test": 4,
    }
    assert stores["test"].names == tuple(
        f"Gurmukhi/character42/rot{angle}" for angle in ("000", "090", "180", "270")
    )
    assert (stores["train"].counts == 20).all()
    reader.verify(tmp_path / "out")


def test_drawings_are_in_the_order_of_their_drawers(original, tmp_path):
    test = build(tmp_path / "out", original)["test"]

    expected = [
        omniglot.shrink(draw("Gurmukhi/character42", drawer)) for drawer in range(1, 21)
    ]
    np.testing.assert_array_equal(test.read(test.rows(0))[..., 0], expected)


def test_rotations_are_exact(original, tmp_path):
    test = build(tmp_path / "out", original)["test"]

    upright = test.read(test.rows(0))
    for turns in (1, 2, 3):
        np.testing.assert_array_equal(
            test.read(test.rows(turns)), np.rot90(upright, turns, axes=(1, 2))
        )


# --- The real archive


@pytest.fixture(scope="module")
def real(real_omniglot):
    return real_omniglot / "omniglot"


def test_real_bytes(real):
    """They are what the published numbers were measured on."""
    splits = reader.read_manifest(real)["splits"]
    assert {split: part["sha256"] for split, part in splits.items()} == {
        "train": "b9e11fa15380462a3120632ae65be46012a840757683343a717caa07535ba3d4",
        "val": "17dff3b39e76b85957bf1faa62ea722a3a075914cd42b75902ffe3cebc4fe613",
        "test": "aa90da5d57eec1ea63ddcee0c42d829c8d8c78bf9415217c90cb6106d9dd2a74",
    }


def test_real_counts(real):
    stores = reader.open_dataset(real)

    counts = {split: len(store.names) for split, store in stores.items()}
    assert counts == {"train": 4112, "val": 688, "test": 1692}
    assert all((store.counts == 20).all() for store in stores.values())


def test_real_manifest(real):
    reader.verify(real)

    source = reader.read_manifest(real)["source"]
    assert source[0]["file"] == "omniglot_png.tar.gz"
    assert source[0]["sha256"].startswith("754fd663")


def test_real_ink_is_bright_on_dark(real):
    for store in reader.open_dataset(real).values():
        images = np.asarray(store.images)

        assert images.shape[1:] == (28, 28, 1)
        assert 5 < images.mean() < 50
        assert np.median(images) == 0
        assert (images.max(axis=(1, 2, 3)) > 100).all()


def test_real_rotations_are_exact(real):
    for store in reader.open_dataset(real).values():
        # [characters, rotations, drawers, height, width]
        images = np.asarray(store.images).reshape(-1, 4, 20, 28, 28)
        for turns in (1, 2, 3):
            turned = np.rot90(images[:, 0], turns, axes=(2, 3))
            assert (images[:, turns] == turned).all()
