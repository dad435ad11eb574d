"""Images of no class join the unlabelled points of training episodes."""

import dataclasses

import numpy as np
import pytest
import tensorflow as tf

from prwn_tf import protocols
from prwn_tf.config import EpisodeSpec
from prwn_tf.data.store import reader as store_lib
from prwn_tf.data.store import writer as writer_lib
from prwn_tf.episodes import pipeline, plan, pools
from prwn_tf.errors import UserError

SPEC = EpisodeSpec(way=3, shot=1, query=2, unlabeled=2, distractors=1, extra=5)


@pytest.fixture
def stores(tmp_path):
    """Four classes of twelve images, and seven images of no class, which are white."""
    with writer_lib.StoreWriter(
        tmp_path / "made", image_shape=(8, 8, 1), about={}
    ) as writer:
        for split in store_lib.SPLITS:
            for index in range(4):
                images = np.full((12, 8, 8, 1), index, np.uint8)
                writer.add(split, f"class{index}", images)
        writer.add("unlabeled", "unlabeled", np.full((7, 8, 8, 1), 255, np.uint8))
    return store_lib.open_dataset(tmp_path / "made")


def run_pools(stores, **changes):
    task = protocols.Task("folder", "prwn", way=3, shot=1, query=2, unlabeled=2)
    config = dataclasses.replace(
        protocols.protocol(task), image_shape=(8, 8, 1), train=SPEC, **changes
    )
    return pools.for_run(config, stores)["train"]


def plans(pool, spec, number):
    dataset = tf.data.Dataset.range(number).map(plan.planner(pool, spec, 0))
    found = dataset.batch(number).get_single_element()
    return plan.Plan(*(part.numpy() for part in found))


def test_extra_points_come_last_and_are_all_different(stores):
    pool = run_pools(stores, label_ratio=0.5)
    found = plans(pool, SPEC, 500)

    assert SPEC.unlabeled_points == 13
    assert found.unlabeled.shape == (500, 13)
    assert (found.unlabeled[:, :8] < 48).all()
    extra = found.unlabeled[:, 8:]
    assert (extra >= 48).all()
    assert (extra < 55).all()
    assert all(len(set(row)) == 5 for row in extra)
    drawn = np.bincount(extra.ravel() - 48, minlength=7) / 500
    np.testing.assert_allclose(drawn, 5 / 7, atol=0.1)


def test_where_all_is_labelled_the_points_are_further_images(stores):
    pool = run_pools(stores, label_ratio=1.0)
    found = plans(pool, SPEC, 200)
    known = SPEC.way * (SPEC.shot + SPEC.query)
    for support, query, points in zip(*found[1:], strict=True):
        rows = [*support.ravel(), *query.ravel(), *points]
        assert len(set(rows)) == known + SPEC.unlabeled_points
    of_class = found.unlabeled[:, : SPEC.class_points] // 12
    expected = np.repeat(found.classes, SPEC.unlabeled, axis=1)
    np.testing.assert_array_equal(of_class, expected)


def test_the_rest_of_an_episode_does_not_depend_on_them(stores):
    pool = run_pools(stores, label_ratio=0.5)
    with_extra = plans(pool, SPEC, 20)
    without = plans(pool, dataclasses.replace(SPEC, extra=0), 20)

    for ours, theirs in zip(with_extra[:3], without[:3], strict=True):
        np.testing.assert_array_equal(ours, theirs)
    np.testing.assert_array_equal(with_extra.unlabeled[:, :8], without.unlabeled)


def test_an_episode_is_a_function_of_its_index(stores):
    pool = run_pools(stores, label_ratio=0.5)
    planner = plan.planner(pool, SPEC, 0)
    many = plans(pool, SPEC, 20)
    np.testing.assert_array_equal(planner(tf.constant(13, tf.int64))[3], many[3][13])


def test_pixels_come_from_both_files(stores):
    pool = run_pools(stores, label_ratio=0.5)
    joined = store_lib.training_store(stores)
    [episode] = pipeline.episodes(joined, pool, SPEC, 0, 0, 1)

    assert episode.unlabeled.shape == (13, 8, 8, 1)
    assert (episode.unlabeled[:8] < 4).numpy().all()
    assert (episode.unlabeled[8:] == 255).numpy().all()


def test_more_than_there_are(stores):
    with pytest.raises(
        UserError, match=r"needs 8 images of no class, .* has 7; lower t"
    ):
        pools.check(
            run_pools(stores, label_ratio=0.5),
            dataclasses.replace(SPEC, extra=8),
            flag_prefix="train_",
        )


def test_none_in_validation_and_test(stores):
    with pytest.raises(UserError, match="the val split has 0"):
        pools.check(pools.whole(stores["val"], "val"), SPEC)
