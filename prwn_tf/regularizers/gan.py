"""MetaGAN: a generator of images plays against the few-shot classifier.

Zhang et al., "MetaGAN: an adversarial approach to few-shot learning", NeurIPS 2018. The
classifier has one more class, fake, whose logit is 0. With the logits l_c of an image x

    p(c | x) = exp(l_c) / (1 + sum exp(l)),  r(x) = log sum exp(l),

r is the logit of being real. The classifier lowers, beside the head's loss on queries,

    mean softplus(-r(unlabelled)) + mean softplus(r(generated)),

and the generator either mean softplus(-r(generated)) ("realness"), or how far the mean
embeddings of unlabelled and generated images are apart, squared ("features").

The paper's is on MAML and on relation networks, and no code of its semi-supervised form
is public; on prototypes, and on any other head, it is ours. Scores of prototypes are
negative distances: taken as logits, every image would be fake at the start. Hence
l = scale * score + offset, both learned, from an offset at which half of the unlabelled
points of the first episode are real.
"""

from collections.abc import Mapping

import keras
import tensorflow as tf

from prwn_tf.config import TrainConfig
from prwn_tf.encoders.policy import policy_of
from prwn_tf.episodes.pipeline import Episode
from prwn_tf.parts import GanConfig
from prwn_tf.regularizers.base import Context, Regularizer, Terms
from prwn_tf.regularizers.generator import Generator
from prwn_tf.walk.statistics import median


def realness(
    scores: tf.Tensor, scale: tf.Tensor | float = 1.0, offset: tf.Tensor | float = 0.0
) -> tf.Tensor:
    """Returns the logits of being real, of scores of the classes: [P, N] -> [P]."""
    return tf.reduce_logsumexp(scale * scores + offset, axis=-1)


def taken_for_real(logits: tf.Tensor) -> tf.Tensor:
    """Returns the mean of -log p(real): [P] -> []."""
    return tf.reduce_mean(tf.nn.softplus(-logits))


def taken_for_fake(logits: tf.Tensor) -> tf.Tensor:
    """Returns the mean of -log p(fake): [P] -> []."""
    return tf.reduce_mean(tf.nn.softplus(logits))


def feature_distance(real: tf.Tensor, fake: tf.Tensor) -> tf.Tensor:
    """Returns the squared distance of two means: [U, D], [G, D] -> []."""
    gap = tf.reduce_mean(real, axis=0) - tf.reduce_mean(fake, axis=0)
    return tf.reduce_sum(tf.square(gap))


def share_of_real(logits: tf.Tensor) -> tf.Tensor:
    """Returns the share of points that are taken for real: [P] -> []."""
    return tf.reduce_mean(tf.cast(logits > 0, tf.float32))


def spread(images: tf.Tensor) -> tf.Tensor:
    """Returns how far images are from their mean, a pixel: [B, H, W, C] -> []."""
    return tf.sqrt(tf.reduce_mean(tf.math.reduce_variance(images, axis=0)))


class Gan(Regularizer):
    """Adds weight * (real + fake), and a generator with a loss of its own.

    It draws as many images as the episode has queries. Reported are the shares of
    unlabelled and of generated points that are taken for real, and the spread of
    generated images over that of unlabelled ones: 0 if all are the same.
    """

    Config = GanConfig
    names = (
        "gan_real",
        "gan_fake",
        "gan/unlabeled_for_real",
        "gan/generated_for_real",
        "gan/spread",
    )
    own_name = "gan_generator"

    def __init__(
        self,
        image_shape: tuple[int, int, int],
        config: GanConfig | None = None,
        seed: int = 0,
        policy: str = "float32",
        **options,
    ):
        super().__init__(config, **options)
        self._seed = seed
        self.generator = Generator(
            image_shape, self.config.noise, self.config.channels, seed, policy
        )
        self.optimizer = keras.optimizers.Adam(
            self.config.rate, beta_1=self.config.beta_1, beta_2=self.config.beta_2
        )

    @classmethod
    def from_config(cls, config: TrainConfig) -> "Gan":
        policy = policy_of(config.precision)
        return cls(config.image_shape, config.gan, config.seed, policy)

    @property
    def own_variables(self) -> list[keras.Variable]:
        """The generator's; scale and offset are the classifier's."""
        return self.generator.trainable_variables

    def build(self, input_shape: tuple) -> None:
        self.generator.build()
        self.log_scale = self.add_weight(shape=(), initializer="zeros", name="scale")
        self.offset = self.add_weight(shape=(), initializer="zeros", name="offset")
        measured = {"shape": (), "initializer": "zeros", "trainable": False}
        self.reference = self.add_weight(name="reference", **measured)
        self.is_measured = self.add_weight(name="is_measured", **measured)

    def draw(self, episode: Episode) -> tf.Tensor:
        """Returns generated images for an episode: [Q, H, W, C]."""
        way, query, *image = episode.query.shape
        noise = tf.random.stateless_normal(
            [way * query, self.config.noise],
            [self._seed, tf.cast(episode.index, tf.int32)],
            alg="philox",
        )
        return self.generator(tf.reshape(episode.support, [-1, *image]), noise)

    def terms(self, context: Context) -> Terms:
        config, embedded = self.config, context.embedded
        images = self.draw(context.episode)
        queries, points = self._embed(context, images)
        real, fake = self._realness(context, embedded.unlabeled, points)
        if config.loss == "features":
            own_loss = feature_distance(queries, points)
        else:
            own_loss = taken_for_real(fake)
        return Terms(
            losses={
                "gan_real": config.weight * taken_for_real(real),
                "gan_fake": config.weight * config.fake_weight * taken_for_fake(fake),
            },
            statistics={
                "gan/unlabeled_for_real": share_of_real(real),
                "gan/generated_for_real": share_of_real(fake),
                "gan/spread": tf.math.divide_no_nan(
                    spread(images), spread(context.episode.unlabeled)
                ),
            },
            own_loss=own_loss,
        )

    def _embed(
        self, context: Context, images: tf.Tensor
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """Returns embeddings of queries and generated images, from one batch: [Q, D].

        In a batch of their own, batch norm would hide what generated images have in
        common, as that all of them are black.
        """
        asked = tf.reshape(context.episode.query, images.shape)
        return tf.split(context.embed_images(tf.concat([asked, images], axis=0)), 2)

    def _realness(
        self, context: Context, unlabeled: tf.Tensor, generated: tf.Tensor
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """Returns the logits of being real: [U, D], [Q, D] -> [U], [Q]."""
        way = context.embedded.support.shape[0]
        # Further columns of a head reject: no class is there for a real image to have.
        real, fake = (
            context.classify(points)[:, :way] for points in (unlabeled, generated)
        )
        scale = tf.exp(self.log_scale)
        reference = self._measure(realness(real))
        # In units of what it begins at, so that it moves at the pace of the weights.
        offset = tf.maximum(1.0, tf.abs(reference)) * self.offset - scale * reference
        return realness(real, scale, offset), realness(fake, scale, offset)

    def _measure(self, logits: tf.Tensor) -> tf.Tensor:
        """Returns the median logit [] of the unlabelled points of the first episode."""
        reference = tf.where(
            tf.cast(self.is_measured, tf.bool),
            tf.convert_to_tensor(self.reference),
            tf.stop_gradient(median(logits)),
        )
        self.reference.assign(reference)
        self.is_measured.assign(1.0)
        return reference

    def pictures(self, episode: Episode) -> Mapping[str, tf.Tensor]:
        return {"generated": self.draw(episode)}
