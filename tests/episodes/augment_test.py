"""Changed images: what a change keeps, and that its draw follows the episode alone."""

import numpy as np
import pytest
import tensorflow as tf

from prwn_tf.config import EpisodeSpec, TrainConfig
from prwn_tf.episodes import augment, pipeline, pools

NAMES = tuple(augment.CHANGES)


def images(count=6, size=20, channels=3) -> np.ndarray:
    shape = (count, size, size, channels)
    return np.random.default_rng(0).integers(0, 256, shape).astype(np.uint8)


def changed(name: str, pixels: np.ndarray, seed=0, index=0) -> np.ndarray:
    return augment.augmented(tf.constant(pixels), [name], seed, index).numpy()


def test_the_setting_knows_every_change():
    assert TrainConfig.flags()["augment"].metadata["within"] == NAMES


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("channels", [1, 3])
def test_shape_and_type_stay(name, channels):
    pixels = images(channels=channels)
    result = changed(name, pixels)
    assert (result.shape, result.dtype) == (pixels.shape, np.uint8)


@pytest.mark.parametrize("name", NAMES)
def test_the_draw_follows_seed_and_index(name):
    pixels = images(count=40)
    first = changed(name, pixels, seed=1, index=5)
    np.testing.assert_array_equal(first, changed(name, pixels, seed=1, index=5))
    assert not np.array_equal(first, changed(name, pixels, seed=1, index=6))
    assert not np.array_equal(first, changed(name, pixels, seed=2, index=5))


def test_a_crop_is_a_part_of_the_image_and_its_mirror():
    pixels = images(count=30, size=20)
    padded = np.pad(pixels, [(0, 0), (2, 2), (2, 2), (0, 0)], mode="reflect")
    places = set()
    for image, around in zip(changed("crop", pixels), padded, strict=True):
        matches = [
            (row, column)
            for row in range(5)
            for column in range(5)
            if np.array_equal(image, around[row : row + 20, column : column + 20])
        ]
        assert len(matches) == 1
        places.add(matches[0])
    assert len(places) > 8  # of 25


def test_about_half_of_the_images_are_mirrored():
    pixels = images(count=200, size=4)
    result = changed("flip", pixels)
    mirrored = [
        np.array_equal(after, before[:, ::-1])
        for after, before in zip(result, pixels, strict=True)
    ]
    same = [np.array_equal(a, b) for a, b in zip(result, pixels, strict=True)]
    assert sum(mirrored) + sum(same) == 200
    assert 70 < sum(mirrored) < 130


def test_colors_of_a_gray_image_stay_gray_and_white_is_never_exceeded():
    gray = np.repeat(images(channels=1), 3, axis=-1)
    result = changed("color", gray).astype(int)
    assert np.ptp(result, axis=-1).max() <= 1
    means = result.mean(axis=(1, 2, 3)) / gray.mean(axis=(1, 2, 3))
    assert means.std() > 0.05
    assert 0.5 < means.min() < means.max() < 1.5


def test_smallest_images():
    assert changed("crop", images(size=2)).shape == (6, 2, 2, 3)


def test_a_pipeline_with_changes_is_the_same_from_any_start(make_store):
    store = make_store([9] * 6, shape=(8, 8, 3))["train"]
    pool = pools.split_labels(store, "train", ratio=0.5, seed=0)
    spec = EpisodeSpec(way=2, shot=1, query=2, unlabeled=2)

    def episodes(start, names=NAMES):
        return list(pipeline.episodes(store, pool, spec, 0, start, 5, names))

    whole, rest, plain = episodes(0), episodes(3), episodes(0, ())
    for before, after in zip(whole[3:], rest, strict=True):
        assert int(before.index) == int(after.index)
        for one, other in zip(before.images, after.images, strict=True):
            np.testing.assert_array_equal(one, other)
    assert [int(each.index) for each in whole] == [0, 1, 2, 3, 4]
    assert not np.array_equal(whole[0].query, plain[0].query)
    np.testing.assert_array_equal(whole[0].classes, plain[0].classes)


def test_classes_are_those_of_the_images(make_store):
    store = make_store([9] * 6)["train"]  # every image tells its class
    pool = pools.split_labels(store, "train", ratio=0.5, seed=0)
    spec = EpisodeSpec(way=3, shot=2, query=1, unlabeled=1, distractors=2)
    for episode in pipeline.episodes(store, pool, spec, 0, 0, 4):
        labels = episode.support.numpy()[:, :, 0, 0, 0]  # [N, K]
        np.testing.assert_array_equal(
            labels, np.repeat(episode.classes[:3, None], 2, 1)
        )
        points = episode.unlabeled.numpy()[:, 0, 0, 0]  # [U]
        np.testing.assert_array_equal(points, episode.classes)
