"""Episodes with their pixels as a tf.data pipeline of static shapes."""

from typing import NamedTuple

import numpy as np
import tensorflow as tf

from prwn_tf.config import EpisodeSpec
from prwn_tf.data.store.reader import ClassStore
from prwn_tf.episodes import plan as plan_lib
from prwn_tf.episodes.pools import Pools

# Episodes read before they are asked for; left to itself, tf.data takes hundreds.
AHEAD = 4


class Episode(NamedTuple):
    """The images of an episode; class n is place n on the first axis."""

    support: tf.Tensor  # [N, K, H, W, C]
    query: tf.Tensor  # [N, query, H, W, C]
    unlabeled: tf.Tensor  # [U, H, W, C]


def episodes(
    store: ClassStore,
    pools: Pools,
    spec: EpisodeSpec,
    seed: int,
    start: int,
    stop: int,
) -> tf.data.Dataset:
    """Episodes start..stop-1 of a split as a dataset of `Episode`."""
    plan = plan_lib.planner(pools, spec, seed)

    @tf.autograph.experimental.do_not_convert
    def episode(index: tf.Tensor) -> Episode:
        return _with_pixels(store, plan(index), spec)

    dataset = tf.data.Dataset.range(start, stop)
    dataset = dataset.map(episode, num_parallel_calls=tf.data.AUTOTUNE)
    return dataset.prefetch(AHEAD)


def _with_pixels(store: ClassStore, plan: plan_lib.Plan, spec: EpisodeSpec) -> Episode:
    shapes = Episode(
        support=(spec.way, spec.shot),
        query=(spec.way, spec.query),
        unlabeled=(spec.unlabeled_points,),
    )
    sizes = [int(np.prod(shape)) for shape in shapes]
    rows = tf.concat(
        [tf.reshape(part, [-1]) for part in (plan.support, plan.query, plan.unlabeled)],
        axis=0,
    )
    # Stateless: a pure function of the rows, which tf.data may run in parallel.
    images = tf.numpy_function(
        store.read, [rows], tf.as_dtype(store.dtype), stateful=False
    )
    parts = tf.split(tf.ensure_shape(images, [sum(sizes), *store.image_shape]), sizes)
    return Episode(
        *(
            tf.reshape(part, [*shape, *store.image_shape])
            for part, shape in zip(parts, shapes, strict=True)
        )
    )
