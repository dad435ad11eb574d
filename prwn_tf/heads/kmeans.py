"""Prototypes that move towards the unlabelled points, in training as at test.

Ren et al., "Meta-learning for semi-supervised few-shot classification", ICLR 2018, each
with one k-means step from the support's means p_c. A point h counts for class c by its
share z_c, and support points count one for their own class:

- soft k-means: z = softmax of −d²(h, p_c), held fixed for gradients;
- with a cluster: one more class at 0 with a learned radius takes distractors in;
- masked: z times a soft mask that a small network reads off the distances.
"""

import math

import keras
import tensorflow as tf

from prwn_tf.config import TrainConfig
from prwn_tf.head_parts import KMeansConfig
from prwn_tf.heads.base import Answer, EmbeddedEpisode
from prwn_tf.heads.prototypes import (
    NearestPrototype,
    mean_prototypes,
    moved_prototypes,
    shares,
)
from prwn_tf.walk import graph

FAR_RADIUS = 1e5  # of the distractors' cluster where no point is unlabelled
MASK_UNITS = 20  # of the network that makes the mask


class _KMeansHead(NearestPrototype):
    """What the three have in common: they are trained as they are used."""

    Config = KMeansConfig
    uses_unlabeled = True
    joint_batch = True


class SoftKMeans(_KMeansHead):
    """Each unlabelled point is shared out among the classes."""

    def prototypes(self, support: tf.Tensor, unlabeled: tf.Tensor) -> tf.Tensor:
        share = shares(mean_prototypes(support), unlabeled)  # [U, N]
        return moved_prototypes(support, unlabeled, tf.stop_gradient(share))


class ClusterKMeans(_KMeansHead):
    """One more cluster takes the distractors in, and queries that are like them.

    Scores have a last column for it: a query that it wins is rejected, [Q, N + 1].

    Args:
        radius: of that cluster before training; a class has radius 1.
    """

    def __init__(self, radius: float = 100.0, **options):
        super().__init__(**options)
        self.radius = radius

    @classmethod
    def from_config(cls, config: TrainConfig) -> "ClusterKMeans":
        return cls(config.kmeans.radius)

    def build(self, input_shape: tuple) -> None:
        self.log_radius = self.add_weight(
            shape=(),
            initializer=keras.initializers.Constant(math.log(self.radius)),
            name="log_radius",
        )

    def prototypes(self, support: tf.Tensor, unlabeled: tf.Tensor) -> tf.Tensor:
        return self._centers(support, unlabeled)[..., :-1, :]

    def answer(self, episode: EmbeddedEpisode, training: bool = False) -> Answer:
        support, queries, unlabeled = episode
        centers = self._centers(support, unlabeled)  # [N + 1, D]
        radii = self._log_radii(support, unlabeled)
        return Answer(cluster_logits(queries, centers, radii), centers[..., :-1, :])

    def _centers(self, support: tf.Tensor, unlabeled: tf.Tensor) -> tf.Tensor:
        """Returns the classes, then the distractors' cluster, all moved: [N + 1, D]."""
        means = mean_prototypes(support)
        origin = tf.zeros_like(means[..., :1, :])
        logits = cluster_logits(
            unlabeled,
            tf.concat([means, origin], axis=-2),
            self._log_radii(support, unlabeled),
        )
        share = tf.nn.softmax(logits)  # [U, N + 1]
        classes = moved_prototypes(support, unlabeled, share[..., :-1])
        theirs = share[..., -1:]  # [U, 1]
        distractors = tf.math.divide_no_nan(
            tf.reduce_sum(theirs * unlabeled, axis=-2, keepdims=True),
            tf.reduce_sum(theirs, axis=-2, keepdims=True),
        )  # [1, D]
        return tf.concat([classes, distractors], axis=-2)

    def _log_radii(self, support: tf.Tensor, unlabeled: tf.Tensor) -> tf.Tensor:
        """Returns the logarithms of the radii: [N + 1]."""
        nobody = tf.shape(unlabeled)[-2] == 0
        last = tf.where(
            nobody, math.log(FAR_RADIUS), tf.convert_to_tensor(self.log_radius)
        )
        return tf.concat([tf.zeros(tf.shape(support)[-3:-2]), last[None]], axis=0)


def cluster_logits(
    points: tf.Tensor, centers: tf.Tensor, log_radii: tf.Tensor
) -> tf.Tensor:
    """Returns the log of a normal density of one dimension at each distance.

    [P, D], [C, D], [C] -> [P, C]. The released code has the half in the exponent; the
    paper's formula does not.
    """
    distance = graph.squared_distance(points, centers)  # [P, C]
    return (
        -distance * tf.exp(-2 * log_radii) / 2 - math.log(2 * math.pi) / 2 - log_radii
    )


class MaskedKMeans(_KMeansHead):
    """Points far from a class, by its own measure, count little for it.

    Args:
        mask_power: a point counts mask ** power; see `KMeansConfig`.
    """

    def __init__(self, mask_power: int = 1, seed: int = 0, **options):
        super().__init__(**options)
        self.mask_power = mask_power
        self.hidden = _dense(MASK_UNITS, "tanh", 2 * seed, "hidden")
        # The published network has a third output, for a second k-means step.
        self.output_layer = _dense(2, None, 2 * seed + 1, "output")

    @classmethod
    def from_config(cls, config: TrainConfig) -> "MaskedKMeans":
        return cls(config.kmeans.mask_power, config.seed)

    def build(self, input_shape: tuple) -> None:
        self.hidden.build((None, 5))
        self.output_layer.build((None, MASK_UNITS))

    def prototypes(self, support: tf.Tensor, unlabeled: tf.Tensor) -> tf.Tensor:
        means = mean_prototypes(support)
        if unlabeled.shape[-2] == 0:
            return means  # the mask would be made from the statistics of nothing
        share = shares(means, unlabeled)  # [U, N]
        mask = self.mask(means, unlabeled) ** self.mask_power
        return moved_prototypes(support, unlabeled, share * mask)

    def mask(self, means: tf.Tensor, unlabeled: tf.Tensor) -> tf.Tensor:
        """Returns how far each point counts for each class, in (0, 1): [U, N]."""
        relative = relative_distances(means, unlabeled)  # [U, N]
        numbers = tf.stop_gradient(distance_statistics(relative))  # [N, 5]
        numbers = self.output_layer(self.hidden(numbers))  # [N, 2]
        threshold, slope = tf.unstack(tf.exp(numbers), axis=-1)  # [N]
        return tf.sigmoid(slope[..., None, :] * (threshold[..., None, :] - relative))


def relative_distances(means: tf.Tensor, unlabeled: tf.Tensor) -> tf.Tensor:
    """Returns squared distances over their class's mean: [N, D], [U, D] -> [U, N]."""
    distance = graph.squared_distance(unlabeled, means)
    return distance / _no_zero(tf.reduce_mean(distance, axis=-2, keepdims=True))


def distance_statistics(relative: tf.Tensor) -> tf.Tensor:
    """Returns least, greatest, variance, skewness, kurtosis - 3: [U, N] -> [N, 5]."""
    centered = relative - tf.reduce_mean(relative, axis=-2, keepdims=True)
    variance = tf.reduce_mean(centered**2, axis=-2)  # [N]
    deviation = tf.sqrt(_no_zero(variance))
    return tf.stack(
        [
            tf.reduce_min(relative, axis=-2),
            tf.reduce_max(relative, axis=-2),
            variance,
            tf.reduce_mean(centered**3, axis=-2) / deviation**3,
            tf.reduce_mean(centered**4, axis=-2) / deviation**4 - 3,
        ],
        axis=-1,
    )


def _no_zero(values: tf.Tensor) -> tf.Tensor:
    """Returns denominators: 1 in the place of exact zeros."""
    return tf.where(values == 0, tf.ones_like(values), values)


def _dense(
    units: int, activation: str | None, seed: int, name: str
) -> keras.layers.Dense:
    return keras.layers.Dense(
        units,
        activation=activation,
        kernel_initializer=keras.initializers.TruncatedNormal(stddev=0.01, seed=seed),
        name=name,
    )
