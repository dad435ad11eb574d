"""Pixels of any kind become what a model was trained on."""

import dataclasses
import hashlib
import json

import numpy as np
import pytest
import tensorflow as tf

from prwn_tf.serving import manifest
from prwn_tf.serving.preprocess import Preprocess
from tests.data import made as made_files
from tests.serving import made

DRAWINGS = Preprocess(size=28, channels=1, canvas=28)
OMNIGLOT = Preprocess(size=28, channels=1, canvas=105)
COLOR = Preprocess(size=28, channels=3, canvas=28)
CROPPED, PADDED = (dataclasses.replace(COLOR, fit=fit) for fit in ("crop", "pad"))
KINDS = [DRAWINGS, OMNIGLOT, COLOR, CROPPED, PADDED]


def prepared(kind, images):
    """As inside an export, where no size is known before."""
    spec = tf.TensorSpec([None, None, None, None], tf.uint8)
    return tf.function(kind, input_signature=[spec])(images).numpy()


@pytest.mark.parametrize("kind", [DRAWINGS, OMNIGLOT])
def test_training_images_stay_as_they_are(kind):
    images = made.drawings(0)
    np.testing.assert_array_equal(prepared(kind, images), images)
    colors = np.repeat(images, 3, axis=-1)
    np.testing.assert_array_equal(prepared(kind, colors), images)
    np.testing.assert_array_equal(prepared(kind, 255 - colors), images)


def test_colours_stay_as_they_are():
    images = np.random.default_rng(0).integers(0, 256, (3, 28, 28, 3), np.uint8)
    np.testing.assert_array_equal(prepared(COLOR, images), images)
    np.testing.assert_array_equal(prepared(COLOR, 255 - images), 255 - images)


def test_gray_by_hand():
    # Dark, so that it is not turned around: 0.299 * 100 + 0.587 * 50 + 0.114 * 200.
    pixel = np.full((1, 28, 28, 3), (100, 50, 200), np.uint8)
    assert (prepared(DRAWINGS, pixel) == 82).all()
    gray = np.full((1, 28, 28, 1), 82, np.uint8)
    assert (prepared(DRAWINGS, gray) == 82).all()
    assert (prepared(COLOR, gray) == 82).all()
    assert prepared(COLOR, gray).shape == (1, 28, 28, 3)


def test_each_image_is_turned_around_by_itself():
    image = made.drawings(0)[:1]
    both = np.concatenate([image, 255 - image])
    np.testing.assert_array_equal(prepared(DRAWINGS, both), np.repeat(image, 2, axis=0))


def test_alpha_lies_over_white_paper():
    ink = made.drawings(0)[:1]
    drawn = np.concatenate([np.zeros((1, 28, 28, 3), np.uint8), ink], axis=-1)
    np.testing.assert_array_equal(prepared(DRAWINGS, drawn), ink)
    np.testing.assert_array_equal(prepared(COLOR, drawn), np.zeros((1, 28, 28, 3)))


def test_drawings_of_omniglot_are_sampled_without_smoothing():
    # A white column where every fourth pixel is sampled, and between two others.
    stripes = np.zeros((1, 105, 105, 1), np.uint8)
    stripes[:, :, 1::15] = 255
    centers = (np.arange(28) + 0.5) * 3.75 - 0.5
    left = np.floor(centers).astype(int)
    row = stripes[0, 0, :, 0].astype(float)
    expected = row[left] * (left + 1 - centers) + row[left + 1] * (centers - left)

    actual = prepared(OMNIGLOT, stripes)[0, 10, :, 0]
    np.testing.assert_allclose(actual, expected, atol=1)
    smooth = prepared(DRAWINGS, stripes)[0, 10, :, 0]
    assert np.abs(smooth - expected).max() > 50


def test_larger_drawings_are_smoothed_to_the_same_canvas():
    small = np.zeros((1, 105, 105, 1), np.uint8)
    small[:, 30:60, 20:80] = 200
    large = small.repeat(8, axis=1).repeat(8, axis=2)
    actual = prepared(OMNIGLOT, large).astype(int)
    assert np.abs(actual - prepared(OMNIGLOT, small)).mean() < 2


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", [(1, 1, 1), (1, 1, 4), (3, 500, 3), (28, 27, 1)])
def test_any_size_and_number(kind, shape):
    for number in (0, 1, 3):
        actual = prepared(kind, np.full((number, *shape), 40, np.uint8))
        assert actual.shape == (number, 28, 28, kind.channels)
        if shape[-1] != 4 and kind != PADDED:
            assert (actual == 40).all()


def test_a_setting_that_came_later_leaves_older_fingerprints():
    before = json.dumps({"canvas": 28, "channels": 3, "size": 28}).encode()
    assert manifest.fingerprint(COLOR, []) == hashlib.sha256(before).hexdigest()
    others = [manifest.fingerprint(kind, []) for kind in (COLOR, CROPPED, PADDED)]
    assert len(set(others)) == 3


def test_other_channels_are_refused():
    with pytest.raises(tf.errors.InvalidArgumentError, match="1, 3 or 4 channels"):
        prepared(COLOR, np.zeros((1, 28, 28, 2), np.uint8))


@pytest.mark.parametrize("kind", KINDS)
def test_files_and_pixels_are_prepared_alike(kind):
    random = np.random.default_rng(0)
    shapes = [(28, 28, 3), (105, 105, 1), (40, 90, 3), (300, 200, 4), (1, 1, 3)]
    images = [random.integers(0, 256, shape, np.uint8) for shape in shapes]
    contents = [made.png(image) for image in images]
    in_graph = tf.function(kind.decode)(tf.constant(contents)).numpy()
    decoded, problems = kind.decoder()(contents)
    assert not problems
    np.testing.assert_array_equal(prepared(kind, decoded), in_graph)
    for image, actual in zip(images, in_graph, strict=True):
        if kind.background is not None or image.shape[-1] != 4:
            [expected] = prepared(kind, image[None])
            np.testing.assert_allclose(actual.astype(int), expected, atol=1)


@pytest.mark.parametrize("kind", KINDS)
def test_photographs_are_turned_and_shrunk_alike(kind):
    random = np.random.default_rng(0)
    coarse = random.uniform(0, 110, (2, 5, 4, 3))
    large = tf.saturate_cast(tf.image.resize(coarse, [900, 700], "bicubic"), tf.uint8)
    contents = [tf.io.encode_jpeg(image, quality=98).numpy() for image in large]
    contents[1] = made_files.turned(contents[1], 6)
    in_graph = tf.function(kind.decode)(tf.constant(contents)).numpy()
    decoded, problems = kind.decoder()(contents)
    assert not problems
    np.testing.assert_array_equal(prepared(kind, decoded), in_graph)

    upright = prepared(kind, np.rot90(large[1], -1)[None])
    actual = in_graph[1].astype(int)
    assert np.abs(actual - upright[0]).mean() < 2
    assert np.abs(actual - upright[0, ::-1, ::-1]).mean() > 5
