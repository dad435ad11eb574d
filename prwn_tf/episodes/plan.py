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

CONCENTRATION = 2  # of the Dirichlet distribution: Veilleux et al., NeurIPS 2021


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


def plans(
    pools: Pools, spec: EpisodeSpec | BatchSpec, seed: int, episodes: int
) -> tf.data.Dataset:
    """Returns the plans of episodes 0..episodes-1 as a dataset."""
    numbers = tf.data.Dataset.range(episodes)
    planned = numbers.map(
        planner(pools, spec, seed), num_parallel_calls=tf.data.AUTOTUNE
    )
    return as_written(planned)


def as_written(dataset: tf.data.Dataset) -> tf.data.Dataset:
    """Returns a dataset that is neither rewritten nor tuned while it runs.

    Ours have nothing to fuse, and every look for it costs a tenth of a second. What
    tunes a dataset sleeps for up to a minute, in half of all cases does not hear that
    it is to end, and whoever ends a training would wait for it.
    """
    options = tf.data.Options()
    options.experimental_optimization.apply_default_optimizations = False
    options.autotune.enabled = False
    return dataset.with_options(options)


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
    equal = spec.balance == "equal"
    crowd = labeled if pools.shared else unlabeled
    largest = crowd.largest - (known if pools.shared else 0)
    most = spec.unlabeled if equal else largest  # unlabelled images of one class

    @tf.autograph.experimental.do_not_convert
    def plan(index: tf.Tensor) -> Plan:
        # Folding an int32 in gives another key than the same number as int64.
        index = tf.cast(index, tf.int64)
        key = tf.random.experimental.stateless_fold_in(split_key, index, alg="philox")
        keys = tf.random.split(key, 3, alg="philox")
        classes = _draw(tf.fill([1], len(pools.names)), spec.classes, keys[0])[0]
        if pools.shared:
            drawn = labeled.draw(classes, known + most, keys[1])
            points = drawn[:, known:]  # [N + distractors, most]
        else:
            drawn = labeled.draw(classes[: spec.way], known, keys[1])
            points = unlabeled.draw(classes, most, keys[2])
        if not equal:
            room = crowd.sizes(classes) - (known if pools.shared else 0)
            points = _unequal(points, room, spec, keys[2])
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


def _unequal(
    points: tf.Tensor, room: tf.Tensor, spec: EpisodeSpec, key: tf.Tensor
) -> tf.Tensor:
    """Returns rows of classes in unequal numbers, those of distractors last.

    Args:
        points: [N + distractors, most] rows of each class.
        room: [N + distractors] how many of these there are.
    """
    key = tf.random.experimental.stateless_fold_in(key, 2, alg="philox")
    # A gamma variable of a whole shape is a sum of exponential ones.
    uniform = tf.random.stateless_uniform(
        [points.shape[0], CONCENTRATION], key, alg="philox"
    )
    shares = 1e-6 - tf.reduce_sum(tf.math.log(1 - uniform), axis=1)  # [n]
    places = tf.range(points.shape[1])
    # Seats by shares after Sainte-Laguë, as long as a class has images.
    order = (tf.cast(places, tf.float32) + 0.5) / shares[:, None]  # [n, most]
    order = tf.where(places < room[:, None], order, order.dtype.max)
    chosen = [
        _first(points[group], order[group], spec.unlabeled)
        for group in (slice(spec.way), slice(spec.way, None))
    ]
    return tf.concat(chosen, axis=0)


def _first(points: tf.Tensor, order: tf.Tensor, mean: int) -> tf.Tensor:
    """Returns those points [n, m] that come first by order, n * mean of them."""
    number = points.shape[0] * mean
    first = tf.math.top_k(-tf.reshape(order, [-1]), number).indices
    return tf.gather(tf.reshape(points, [-1]), tf.sort(first))


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
        self.largest = int(counts.max())

    def sizes(self, classes: tf.Tensor) -> tf.Tensor:
        """Returns how many images classes have: [n] -> [n]."""
        return tf.gather(self._counts, classes)

    def draw(self, classes: tf.Tensor, number: int, key: tf.Tensor) -> tf.Tensor:
        """Returns rows of `number` different images of each class: [n, number].

        Where a class has fewer, its last row fills up.
        """
        counts = self.sizes(classes)
        places = _draw(counts, number, key, self.largest)  # [n, number]
        places = tf.minimum(places, counts[:, None] - 1)
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
