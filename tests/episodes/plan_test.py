import dataclasses

import numpy as np
import pytest
import tensorflow as tf

from prwn_tf.config import EpisodeSpec
from prwn_tf.episodes import plan as plan_lib
from prwn_tf.episodes import pools
from prwn_tf.errors import UserError
from tests.children import child

SPEC = EpisodeSpec(way=5, shot=2, query=3, unlabeled=4, distractors=3)
COUNTS = [9, 30, 12, 20, 17, 9, 9, 25, 11, 10]


def plans(pool, spec, number, seed=0, start=0):
    dataset = tf.data.Dataset.range(start, start + number)
    dataset = dataset.map(plan_lib.planner(pool, spec, seed)).batch(number)
    return plan_lib.Plan(*(part.numpy() for part in dataset.get_single_element()))


@pytest.mark.parametrize("shared", [True, False])
def test_ten_thousand_plans_keep_all_promises(make_store, shared):
    store = make_store([2 * count for count in COUNTS])["train"]
    pool = pools.split_labels(store, "train", 0.5, seed=0)
    if shared:
        pool = pools.whole(store, "train")
    pools.check(pool, SPEC)
    found = plans(pool, SPEC, 10_000)
    labels = store.labels()

    images = np.concatenate(
        [part.reshape(10_000, -1) for part in found[1:]], axis=1
    )  # [E, images]
    assert all(len(set(row)) == len(row) for row in images), "an image appears twice"
    assert all(len(set(row)) == SPEC.classes for row in found.classes)
    own = found.classes[:, : SPEC.way, None]
    np.testing.assert_array_equal(labels[found.support], own.repeat(SPEC.shot, 2))
    np.testing.assert_array_equal(labels[found.query], own.repeat(SPEC.query, 2))
    np.testing.assert_array_equal(
        labels[found.unlabeled], found.classes.repeat(SPEC.unlabeled, axis=1)
    )
    if not shared:
        first = np.concatenate([np.arange(count) for count in store.counts])
        labelled = np.zeros(len(store), bool)
        labelled[pool.rows[first < pool.labeled[labels]]] = True
        assert labelled[found.support].all()
        assert labelled[found.query].all()
        assert not labelled[found.unlabeled].any()


def test_all_classes_and_images_are_drawn_alike(make_store):
    store = make_store(COUNTS)["train"]
    found = plans(pools.whole(store, "train"), SPEC, 10_000)
    share = np.bincount(found.classes[:, : SPEC.way].ravel(), minlength=10) / 10_000
    np.testing.assert_allclose(share, SPEC.way / 10, atol=0.03)
    support = np.bincount(found.support.ravel(), minlength=len(store))
    expected = 10_000 * SPEC.way / 10 * SPEC.shot / np.repeat(COUNTS, COUNTS)
    np.testing.assert_allclose(support / expected, 1, atol=0.25)


def test_a_plan_depends_on_its_index_alone(make_store):
    pool = pools.whole(make_store(COUNTS)["train"], "train")
    whole, part = plans(pool, SPEC, 20), plans(pool, SPEC, 5, start=10)
    for ours, theirs in zip(part, whole, strict=True):
        np.testing.assert_array_equal(ours, theirs[10:15])


def test_seed_and_split_change_the_plan(make_store):
    stores = make_store(COUNTS)
    train = plans(pools.whole(stores["train"], "train"), SPEC, 5)
    other = plans(pools.whole(stores["train"], "train"), SPEC, 5, seed=1)
    val = plans(pools.whole(stores["val"], "val"), SPEC, 5)
    assert not np.array_equal(train.support, other.support)
    assert not np.array_equal(train.support, val.support)


PROGRAM = """
import prwn_tf, pathlib, sys, hashlib
import tensorflow as tf
tf.config.threading.set_inter_op_parallelism_threads(int(sys.argv[2]))
from prwn_tf.data.store import reader
from prwn_tf.config import EpisodeSpec
from prwn_tf.episodes import pipeline, pools
part = reader.open_dataset(pathlib.Path(sys.argv[1]))["train"]
spec = EpisodeSpec(way=5, shot=2, query=3, unlabeled=4, distractors=3)
pool = pools.split_labels(part, "train", 0.5, seed=0)
digest = hashlib.sha256()
for episode in pipeline.episodes(part, pool, spec, 0, 0, 50):
    for images in episode:
        digest.update(images.numpy().tobytes())
print(digest.hexdigest())
"""


def test_other_processes_and_threads_make_the_same_episodes(make_store):
    folder = make_store([2 * count for count in COUNTS])["train"].path.parent
    digests = {
        child.run("-c", PROGRAM, folder, threads, check=True).stdout
        for threads in ("1", "4")
    }
    assert len(digests) == 1


def test_no_unlabelled_points(make_store):
    pool = pools.whole(make_store(COUNTS)["train"], "train")
    found = plans(pool, EpisodeSpec(way=3, shot=1, query=1), 4)
    assert found.unlabeled.shape == (4, 0)


def test_a_known_plan_stays_as_it_is(make_store):
    # Whoever changes this changes every published episode: raise the version then.
    pool = pools.whole(make_store(COUNTS)["train"], "train")
    found = plans(pool, EpisodeSpec(way=3, shot=1, query=1, unlabeled=1), 1)
    assert found.classes.tolist() == [[3, 9, 5]]
    assert found.support.ravel().tolist() == [51, 144, 93]


@pytest.mark.parametrize("shared", [True, False])
def test_classes_may_have_unequal_numbers_of_unlabelled_images(make_store, shared):
    store = make_store([2 * count for count in COUNTS])["train"]
    pool = pools.split_labels(store, "train", 0.5, seed=0)
    if shared:
        pool = pools.whole(store, "train")
    unequal = dataclasses.replace(SPEC, balance="dirichlet")
    found, equal = plans(pool, unequal, 1000), plans(pool, SPEC, 1000)
    np.testing.assert_array_equal(found.classes, equal.classes)
    images = np.concatenate([part.reshape(1000, -1) for part in found[1:]], axis=1)
    assert all(len(set(row)) == len(row) for row in images), "an image appears twice"
    labels = store.labels()[found.unlabeled]  # [E, U]
    # Own classes first, as many in all as if they were equal.
    own, others = np.split(labels, [SPEC.clean_points], axis=1)
    counts = (own[:, :, None] == found.classes[:, None, : SPEC.way]).sum(axis=1)
    assert (counts.sum(axis=1) == SPEC.clean_points).all()
    assert (np.diff(labels == labels[:, :1]).sum(axis=1) <= 1).all()  # class by class
    strangers = (others[:, :, None] == found.classes[:, None, SPEC.way :]).sum(axis=1)
    assert (strangers.sum(axis=1) == SPEC.unlabeled * SPEC.distractors).all()
    # A share of a Dirichlet(2) among five has a deviation of 0.4 / sqrt(11).
    assert 0.09 < np.std(counts / SPEC.clean_points) < 0.13
    assert counts.min() == 0


def test_no_class_gives_more_than_it_has(make_store):
    store = make_store([9] * 5)["train"]
    unequal = EpisodeSpec(5, 2, 3, unlabeled=4, balance="dirichlet")
    found = plans(pools.whole(store, "train"), unequal, 20)
    equal = plans(pools.whole(store, "train"), EpisodeSpec(5, 2, 3, unlabeled=4), 20)
    np.testing.assert_array_equal(found.unlabeled, equal.unlabeled)  # there is no room
    with pytest.raises(UserError, match="balance must be equal or dirichlet"):
        EpisodeSpec(5, 2, 3, balance="uneven")
