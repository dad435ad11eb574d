"""Episodes with their pixels as a tf.data pipeline of static shapes."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import tensorflow as tf

from prwn_tf.config import EpisodeSpec
from prwn_tf.data.store.reader import SortedClasses
from prwn_tf.episodes import augment as augment_lib
from prwn_tf.episodes import plan as plan_lib
from prwn_tf.episodes.pools import Pools
from prwn_tf.spec import BatchSpec

# Episodes read before they are asked for; left to itself, tf.data takes hundreds.
AHEAD = 4


class Episode(NamedTuple):
    """The images of an episode, and which it is; class n is place n on the first axis.

    `classes` are numbers of the split's classes, those of distractors last. `index`
    addresses all randomness, so that an episode is the same whenever it comes.

    A mini-batch is an episode without a support, of as many places as images. Its
    `classes` may be there more than once.
    """

    support: tf.Tensor  # [N, K, H, W, C]
    query: tf.Tensor  # [N, query, H, W, C]
    unlabeled: tf.Tensor  # [U, H, W, C]
    classes: tf.Tensor | tuple = ()  # [N + distractors]
    index: tf.Tensor | int = 0  # []

    @property
    def images(self) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        return self.support, self.query, self.unlabeled

    @property
    def labels(self) -> tf.Tensor:
        """The classes of the queries: [Q].

        They are places in the episode; without a support, numbers of the split's.
        """
        way, shot = self.support.shape[:2]
        query = self.query.shape[1]
        return query_labels(way, query) if shot else tf.repeat(self.classes, query)

    def with_images(self, change: Callable[[tf.Tensor], tf.Tensor]) -> "Episode":
        """Returns the episode with its images changed, group by group."""
        return Episode(*map(change, self.images), self.classes, self.index)


def query_labels(way: int, query: int) -> tf.Tensor:
    """Returns the places of an episode's queries, which come class by class: [Q]."""
    return tf.repeat(tf.range(way), query)


def episodes(
    store: SortedClasses,
    pools: Pools,
    spec: EpisodeSpec | BatchSpec,
    seed: int,
    start: int,
    stop: int,
    augment: Sequence[str] = (),
) -> tf.data.Dataset:
    """Returns episodes start..stop-1 of a split as a dataset of `Episode`.

    Args:
        augment: changes of the images, by their names in `augment.CHANGES`.
    """
    return dataset(reader(store, pools, spec, seed, augment), start, stop)


def dataset(
    read: Callable[[tf.Tensor], Episode], start: int, stop: int, every: int = 1
) -> tf.data.Dataset:
    """Returns episodes start..stop-1 as a dataset, read before they are asked for.

    Args:
        read: the function episode index -> Episode.
        every: to take every so many-th alone; the rest is for other machines.
    """
    indices = tf.data.Dataset.range(start, stop, every)
    read_ahead = indices.map(read, num_parallel_calls=tf.data.AUTOTUNE).prefetch(AHEAD)
    return plan_lib.as_written(read_ahead)


def reader(
    store: SortedClasses,
    pools: Pools,
    spec: EpisodeSpec | BatchSpec,
    seed: int,
    augment: Sequence[str] = (),
) -> Callable[[tf.Tensor], Episode]:
    """Returns the function episode index -> Episode, in TensorFlow operations.

    Args:
        augment: as in `episodes`.
    """
    plan = plan_lib.planner(pools, spec, seed)

    @tf.autograph.experimental.do_not_convert
    def episode(index: tf.Tensor) -> Episode:
        planned = plan(index)
        images = _pixels(store, planned)
        if augment:
            images = augment_lib.augmented(images, augment, seed, index)
        return _episode(images, planned, index)

    return episode


def _pixels(store: SortedClasses, plan: plan_lib.Plan) -> tf.Tensor:
    """Returns the images of an episode one after the other: [images, H, W, C]."""
    parts = (plan.support, plan.query, plan.unlabeled)
    rows = tf.concat([tf.reshape(part, [-1]) for part in parts], axis=0)
    # Stateless: a pure function of the rows, which tf.data may run in parallel.
    images = tf.numpy_function(
        store.read, [rows], tf.as_dtype(store.dtype), stateful=False
    )
    return tf.ensure_shape(images, [rows.shape[0], *store.image_shape])


def _episode(images: tf.Tensor, plan: plan_lib.Plan, index: tf.Tensor) -> Episode:
    """Returns an episode of images that come one after the other."""
    shapes = [part.shape for part in (plan.support, plan.query, plan.unlabeled)]
    parts = tf.split(images, [shape.num_elements() for shape in shapes])
    return Episode(
        *(
            tf.reshape(part, [*shape, *images.shape[1:]])
            for part, shape in zip(parts, shapes, strict=True)
        ),
        classes=plan.classes,
        index=index,
    )
