"""Episode i -> which images: a pure function of (seed, split, i), without pixels.

A mini-batch is an episode without a support: its images are all queries.

Randomness is addressed, not consumed: any episode can be planned alone, in any order
and by any process, and comes out the same.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from prwn_tf.config import EpisodeSpec
from prwn_tf.data.store.reader import SPLITS
from prwn_tf.episodes.pools import Pools
from prwn_tf.spec import BatchSpec


class Plan(NamedTuple):
    """The rows of a store that make an episode.

    The unlabelled points of the episode's own classes come first, class by class,
    then those of the distractor classes, then those of no class, whose rows follow
    the last of the store.
    """

    classes: tf.Tensor  # [N + distractors]
    support: tf.Tensor  # [N, K]; of a mini-batch [N, 0]
    query: tf.Tensor  # [N, query]
    unlabeled: tf.Tensor  # [U]


def planner(
    pools: Pools, spec: EpisodeSpec | BatchSpec, seed: int
) -> Callable[[int], Plan]:
    """Returns the function episode index -> Plan, in TensorFlow operations."""
    if isinstance(spec, BatchSpec):
        return _batch_planner(pools, spec, seed)
    return _episode_planner(pools, spec, seed)


def _batch_planner(pools: Pools, spec: BatchSpec, seed: int) -> Callable[[int], Plan]:
    """Returns the function for mini-batches, which pass through the labelled images.

    Every pass has an order of its own. What its last images do not fill is left out.
    """
    first = zip(pools.starts, pools.labeled, strict=True)
    rows = np.concatenate([pools.rows[start : start + count] for start, count in first])
    rows = tf.constant(rows, tf.int64)  # [labelled images]
    classes = np.repeat(np.arange(len(pools.names)), pools.labeled)
    classes = tf.constant(classes, tf.int32)
    batches = len(classes) // spec.batch_size  # of a pass
    split_key = tf.constant([seed, SPLITS.index(pools.split)], tf.int64)

    @tf.autograph.experimental.do_not_convert
    def plan(index: tf.Tensor) -> Plan:
        passes, batch = tf.cast(index, tf.int64) // batches, index % batches
        key = tf.random.experimental.stateless_fold_in(split_key, passes, alg="philox")
        noise = tf.random.stateless_uniform([len(classes)], key, alg="philox")
        start = tf.cast(batch, tf.int32) * spec.batch_size
        places = tf.argsort(noise, stable=True)[start : start + spec.batch_size]
        places = tf.ensure_shape(places, [spec.batch_size])
        return Plan(
            classes=tf.gather(classes, places),
            support=tf.zeros([spec.batch_size, 0], tf.int64),
            query=tf.gather(rows, places)[:, None],
            unlabeled=tf.zeros([0], tf.int64),
        )

    return plan


def _episode_planner(
    pools: Pools, spec: EpisodeSpec, seed: int
) -> Callable[[int], Plan]:
    labeled = _Pool(pools.rows, pools.starts, pools.labeled)
    unlabeled = _Pool(pools.rows, pools.starts + pools.labeled, pools.unlabeled)
    split_key = tf.constant([seed, SPLITS.index(pools.split)], tf.int64)
    known = spec.shot + spec.query  # images of a class whose label is known

    @tf.autograph.experimental.do_not_convert
    def plan(index: tf.Tensor) -> Plan:
        # Folding an int32 in gives another key than the same number as int64.
        index = tf.cast(index, tf.int64)
        key = tf.random.experimental.stateless_fold_in(split_key, index, alg="philox")
        keys = tf.random.split(key, 3, alg="philox")
        classes = _draw(tf.fill([1], len(pools.names)), spec.classes, keys[0])[0]
        if pools.shared:
            drawn = labeled.draw(classes, known + spec.unlabeled, keys[1])
            points = drawn[:, known:]  # [N + distractors, unlabeled]
        else:
            drawn = labeled.draw(classes[: spec.way], known, keys[1])
            points = unlabeled.draw(classes, spec.unlabeled, keys[2])
        points = tf.reshape(points, [spec.class_points])
        if spec.extra:
            points = tf.concat([points, _extra(pools, spec, keys[2])], axis=0)
        return Plan(
            classes=classes,
            support=drawn[: spec.way, : spec.shot],
            query=drawn[: spec.way, spec.shot : known],
            unlabeled=points,
        )

    return plan


def _extra(pools: Pools, spec: EpisodeSpec, key: tf.Tensor) -> tf.Tensor:
    """Returns rows of images of no class: [extra]."""
    key = tf.random.experimental.stateless_fold_in(key, 1, alg="philox")
    places = _draw(tf.fill([1], pools.extra), spec.extra, key)[0]
    return len(pools.rows) + tf.cast(places, tf.int64)


class _Pool:
    """Images of each class to draw from without replacement."""

    def __init__(self, rows: np.ndarray, starts: np.ndarray, counts: np.ndarray):
        self._rows = tf.constant(rows, tf.int64)
        self._starts = tf.constant(starts, tf.int64)
        self._counts = tf.constant(counts, tf.int32)
        self._largest = int(counts.max())

    def draw(self, classes: tf.Tensor, number: int, key: tf.Tensor) -> tf.Tensor:
        """Returns rows of `number` different images of each class: [n, number]."""
        counts = tf.gather(self._counts, classes)
        places = _draw(counts, number, key, self._largest)  # [n, number]
        starts = tf.gather(self._starts, classes)[:, None]
        return tf.gather(self._rows, starts + tf.cast(places, tf.int64))


def _draw(
    counts: tf.Tensor, number: int, key: tf.Tensor, largest: int | None = None
) -> tf.Tensor:
    """Returns `number` different integers below each count: [n, number]."""
    largest = tf.reduce_max(counts) if largest is None else largest
    noise = tf.random.stateless_uniform(
        [tf.shape(counts)[0], largest], key, alg="philox"
    )
    outside = tf.range(largest)[None, :] >= counts[:, None]
    return tf.math.top_k(tf.where(outside, -1.0, noise), number).indices
