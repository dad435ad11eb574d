"""Mini-batches: every pass over the labelled images in an order of its own."""

import numpy as np
import pytest
import tensorflow as tf

from prwn_tf.episodes import pipeline, pools
from prwn_tf.episodes import plan as plan_lib
from prwn_tf.episodes.pipeline import Episode
from prwn_tf.errors import UserError
from prwn_tf.spec import BatchSpec

COUNTS = [8, 12, 4, 16]  # half of them labelled: 20


@pytest.fixture
def store(make_store):
    return make_store(COUNTS)["train"]


@pytest.fixture
def pool(store):
    return pools.split_labels(store, "train", 0.5, seed=0)


def plans(pool, size, number, seed=0) -> plan_lib.Plan:
    """Mini-batches, one after the other: classes [E, B], queries [E, B, 1]."""
    dataset = tf.data.Dataset.range(number)
    dataset = dataset.map(plan_lib.planner(pool, BatchSpec(size), seed)).batch(number)
    return plan_lib.Plan(*(part.numpy() for part in dataset.get_single_element()))


def labelled(pool) -> list[int]:
    images = pool.labeled_images()
    return sorted(
        start + place
        for start, places in zip(pool.starts, images.values(), strict=True)
        for place in places
    )


def test_a_pass_has_every_labelled_image_once(store, pool):
    drawn = plans(pool, 5, 12)
    assert drawn.support.shape == (12, 5, 0)
    assert drawn.unlabeled.shape == (12, 0)
    passes = drawn.query.reshape(3, 20)  # four batches each
    for rows in passes:
        assert sorted(rows) == labelled(pool)
    assert len({tuple(rows) for rows in passes}) == 3
    np.testing.assert_array_equal(drawn.classes, store.labels()[drawn.query[..., 0]])


def test_what_fills_no_batch_is_left_out_of_a_pass(pool):
    drawn = plans(pool, 8, 40).query.reshape(20, 16)
    assert all(len(set(rows)) == 16 for rows in drawn)
    assert set(drawn.ravel()) == set(labelled(pool))  # but of each pass another


def test_a_batch_depends_on_seed_and_index_alone(pool):
    plan = plan_lib.planner(pool, BatchSpec(5), 0)
    many = plans(pool, 5, 12)
    np.testing.assert_array_equal(plan(tf.constant(7, tf.int64)).query, many.query[7])
    assert not np.array_equal(plans(pool, 5, 12, seed=1).query, many.query)


def test_a_known_batch_stays_as_it_is(pool):
    # Whoever changes this changes every run that is to be resumed.
    assert plans(pool, 5, 1).query.ravel().tolist() == [17, 15, 25, 37, 27]


def test_pixels_and_labels_are_those_of_the_plan(store, pool):
    dataset = pipeline.episodes(store, pool, BatchSpec(5), 0, 2, 6)
    assert dataset.element_spec.query.shape == (5, 1, 8, 8, 1)
    for episode in dataset:
        assert episode.support.shape == (5, 0, 8, 8, 1)
        # The first pixel is the class.
        np.testing.assert_array_equal(episode.query[:, 0, 0, 0, 0], episode.labels)
        np.testing.assert_array_equal(episode.labels, episode.classes)


def test_with_a_support_labels_are_places_in_the_episode():
    images = tf.zeros([2, 3, 4, 4, 1])
    episode = Episode(images, images, tf.zeros([0, 4, 4, 1]), tf.constant([7, 5]))
    assert episode.labels.numpy().tolist() == [0, 0, 0, 1, 1, 1]


def test_more_images_than_are_labelled(pool):
    pools.check(pool, BatchSpec(20))
    message = "needs 21 labelled images, but the train split has 20; lower batch_size"
    with pytest.raises(UserError, match=message):
        pools.check(pool, BatchSpec(21))
