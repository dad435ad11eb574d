import numpy as np
import pytest

from prwn_tf.config import EpisodeSpec
from prwn_tf.episodes import pools
from prwn_tf.errors import UserError


def test_labelled_share_of_every_class(make_store):
    store = make_store([20, 7, 600])["train"]
    found = pools.split_labels(store, "train", 0.1, seed=0)
    np.testing.assert_array_equal(found.labeled, [2, 0, 60])
    np.testing.assert_array_equal(found.unlabeled, [18, 7, 540])
    assert sorted(found.rows) == list(range(627))
    assert not found.shared


def test_ratio_one_labels_everything(make_store):
    store = make_store([20, 7])["train"]
    found = pools.split_labels(store, "train", 1.0, seed=0)
    np.testing.assert_array_equal(found.labeled, store.counts)
    pools.check(found, EpisodeSpec(way=2, shot=5, query=2))
    pools.check(found, EpisodeSpec(way=2, shot=1, query=1, unlabeled=5))
    with pytest.raises(UserError, match=r"has 7 images but an episode needs 8 "):
        pools.check(found, EpisodeSpec(way=2, shot=1, query=1, unlabeled=6))


def test_the_draw_follows_the_seed_class_by_class(make_store):
    store = make_store([20, 20])["train"]
    first, again, other = (
        pools.split_labels(store, "train", 0.5, seed).labeled_images()
        for seed in (0, 0, 1)
    )
    assert first == again
    assert first != other
    assert first["class0"] != first["class1"]
    assert first["class0"] == sorted(set(first["class0"]))
    assert len(first["class0"]) == 10


@pytest.mark.parametrize(
    ("counts", "ratio", "spec", "message"),
    [
        (
            [9] * 4,
            1.0,
            {"way": 3, "distractors": 2},
            r"3 classes \+ 2 distractor classes, but the train split has 4; "
            r"lower train_way or train_distractors",
        ),
        (
            [9, 5, 9],
            1.0,
            {"query": 5},
            r"class 'class1' of the train split has 5 images but an episode "
            r"needs 6 \(shot 1 \+ query 5\)",
        ),
        (
            [10, 10],
            0.2,
            {"query": 2},
            r"has 2 labelled images but an episode needs 3 .*"
            r"lower train_shot or train_query, or raise label_ratio",
        ),
        (
            [10, 10],
            0.5,
            {"unlabeled": 6},
            r"has 5 unlabelled images but an episode needs 6 .*"
            r"lower train_unlabeled, or lower label_ratio",
        ),
    ],
)
def test_an_episode_that_cannot_be_drawn(make_store, counts, ratio, spec, message):
    store = make_store(counts)["train"]
    pool = pools.split_labels(store, "train", ratio, seed=0)
    spec = EpisodeSpec(**{"way": 2, "shot": 1, "query": 1} | spec)
    with pytest.raises(UserError, match=message):
        pools.check(pool, spec, flag_prefix="train_")


def test_unlabelled_images_of_a_shared_pool_are_further_labelled_ones(make_store):
    pool = pools.whole(make_store([4, 4])["test"], "test")
    pools.check(pool, EpisodeSpec(way=2, shot=1, query=1, unlabeled=2))
    with pytest.raises(UserError, match="4 images but an episode needs 5"):
        pools.check(pool, EpisodeSpec(way=2, shot=1, query=1, unlabeled=3))
