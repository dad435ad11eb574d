import numpy as np
import tensorflow as tf

from prwn_tf.config import EpisodeSpec
from prwn_tf.episodes import pipeline, plan, pools

SPEC = EpisodeSpec(way=3, shot=2, query=1, unlabeled=2, distractors=1)


def test_pixels_are_those_of_the_plan(make_store):
    store = make_store([9, 8, 9, 7])["train"]
    pool = pools.whole(store, "train")
    dataset = pipeline.episodes(store, pool, SPEC, seed=0, start=0, stop=20)
    assert dataset.element_spec.support.shape == (3, 2, 8, 8, 1)
    assert dataset.element_spec.query.shape == (3, 1, 8, 8, 1)
    assert dataset.element_spec.unlabeled.shape == (8, 8, 8, 1)
    found = list(dataset)
    assert len(found) == 20
    for episode in found:
        classes = episode.support[:, :, 0, 0, 0].numpy()  # the first pixel is the class
        assert (classes == classes[:, :1]).all()
        assert len(set(classes[:, 0])) == 3
        np.testing.assert_array_equal(episode.query[:, 0, 0, 0, 0], classes[:, 0])
        clean = episode.unlabeled[:6, 0, 0, 0].numpy().reshape(3, 2)
        np.testing.assert_array_equal(clean, classes)
        assert not set(episode.unlabeled[6:, 0, 0, 0].numpy()) & set(classes[:, 0])


def test_nothing_has_to_be_awaited_at_the_end(make_store):
    # What tunes a dataset can be asleep for a minute when a training is to end.
    store = make_store([9, 8, 9, 7])["train"]
    pool = pools.whole(store, "train")
    for dataset in (
        pipeline.episodes(store, pool, SPEC, seed=0, start=0, stop=20),
        plan.plans(pool, SPEC, seed=0, episodes=20).batch(5),
    ):
        assert dataset.options().autotune.enabled is False


def test_starts_anywhere(make_store):
    store = make_store([9, 8, 9, 7])["train"]
    pool = pools.whole(store, "train")
    whole = list(pipeline.episodes(store, pool, SPEC, 0, 0, 10))
    rest = list(pipeline.episodes(store, pool, SPEC, 0, 6, 10))
    for ours, theirs in zip(rest, whole[6:], strict=True):
        for part, same in zip(ours, theirs, strict=True):
            np.testing.assert_array_equal(part, same)


def test_one_is_read_alone_as_it_is_among_others(make_store):
    store = make_store([9, 8, 9, 7])["train"]
    pool = pools.whole(store, "train")
    *_, last = pipeline.episodes(store, pool, SPEC, 0, 0, 4)
    alone = pipeline.reader(store, pool, SPEC, 0)(tf.constant(3, tf.int64))
    for part, same in zip(alone, last, strict=True):
        np.testing.assert_array_equal(part, same)
