"""FewShotModel: an encoder, a head and regularizers, trained episode by episode."""

from collections.abc import Sequence

import keras
import tensorflow as tf

from prwn_tf.episodes.pipeline import Episode
from prwn_tf.heads.base import Head
from prwn_tf.regularizers.base import Context, EmbeddedEpisode, Regularizer

Logs = dict[str, tf.Tensor]


class FewShotModel(keras.Model):
    """Learns an embedding in which a head can classify from a few examples.

    Example:
        model = FewShotModel(Conv4(), PrototypeHead(), [Walk(WalkConfig())])
        model.build((None, 28, 28, 1))
        model.compile(optimizer=keras.optimizers.Adam(1e-3))
        model.fit(episodes, shuffle=False)  # a tf.data pipeline of Episode
    """

    def __init__(
        self, encoder: keras.Model, head: Head, regularizers: Sequence[Regularizer] = ()
    ):
        super().__init__()
        self.encoder = encoder
        self.head = head
        self.regularizers = tuple(regularizers)
        names = ["loss", "accuracy", "classification", "weight_decay"]
        names += [name for term in self.regularizers for name in term.names]
        # Keras shows its own, never updated "loss" unless a metric has that name.
        self._means = {name: keras.metrics.Mean(name=name) for name in names}

    @property
    def metrics(self) -> list[keras.Metric]:
        return list(self._means.values())

    def build(self, input_shape: tuple) -> None:
        self.encoder.build(input_shape)
        self.head.build(self.encoder.compute_output_shape(input_shape))

    def call(self, images: tf.Tensor, training: bool = False) -> tf.Tensor:
        """Images, uint8 or float in [0, 1] -> embeddings: [B, H, W, C] -> [B, D]."""
        embeddings = self.encoder(to_float(images), training=training)
        # Half precision is too coarse for squared distances of several hundred.
        return tf.cast(embeddings, tf.float32)

    def train_step(self, episode: Episode) -> Logs:
        """One step of the optimizer on one episode."""
        with tf.GradientTape() as tape:
            losses, statistics = self._terms(episode, training=True)
            total = tf.add_n(list(losses.values()))
            # A strategy sums the gradients of its replicas; this makes it their mean.
            replicas = tf.distribute.get_strategy().num_replicas_in_sync
            objective = self.optimizer.scale_loss(total / replicas)
        variables = self.trainable_variables
        self.optimizer.apply(tape.gradient(objective, variables), variables)
        return self._report({"loss": total, **losses, **statistics})

    def test_step(self, episode: Episode) -> Logs:
        """The same terms without learning, with the encoder as it is at test time."""
        losses, statistics = self._terms(episode, training=False)
        total = tf.add_n(list(losses.values()))
        return self._report({"loss": total, **losses, **statistics})

    def _terms(self, episode: Episode, training: bool) -> tuple[Logs, Logs]:
        context = self._context(episode, training)
        scores = self.head.scores(
            context.support, context.queries, context.unlabeled, training
        )  # [Q, N]
        labels = query_labels(*episode.query.shape[:2])
        losses = {
            "classification": tf.reduce_mean(
                tf.nn.sparse_softmax_cross_entropy_with_logits(labels, scores)
            ),
            "weight_decay": tf.add_n(self.encoder.losses or [tf.constant(0.0)]),
        }
        statistics = {"accuracy": accuracy(scores, labels)}
        for regularizer in self.regularizers:
            terms = regularizer(context)
            losses.update(terms.losses)
            statistics.update(terms.statistics)
        return losses, statistics

    def _context(self, episode: Episode, training: bool) -> Context:
        episode = Episode(*(to_float(images) for images in episode))
        embeddings = self._embed(episode, training)
        prototypes = self.head.prototypes(embeddings.support, embeddings.unlabeled)
        return Context(
            episode=episode,
            **embeddings._asdict(),
            prototypes=prototypes,
            embed=lambda altered: self._embed_aside(altered, training),
            step=tf.cast(self.optimizer.iterations, tf.int32),
        )

    def _embed(self, episode: Episode, training: bool) -> EmbeddedEpisode:
        """Embeds an episode in one batch or in two, as its head wants it."""
        way, shot, *image = episode.support.shape
        query, points = episode.query.shape[1], episode.unlabeled.shape[0]
        labeled = tf.concat([episode.support, episode.query], axis=1)
        labeled = tf.reshape(labeled, [-1, *image])  # [N * (K + q), H, W, C]
        unlabeled = episode.unlabeled
        if self.head.joint_batch:
            images = tf.concat([labeled, unlabeled], axis=0)
            parts = [way * (shot + query), points]
            labeled, unlabeled = tf.split(self(images, training=training), parts)
        else:
            labeled = self(labeled, training=training)
            unlabeled = (
                self(unlabeled, training=training)
                if points != 0
                else tf.zeros([0, labeled.shape[-1]])
            )
        size = labeled.shape[-1]
        labeled = tf.reshape(labeled, [way, shot + query, size])
        support, queries = tf.split(labeled, [shot, query], axis=1)
        return EmbeddedEpisode(
            support, tf.reshape(queries, [way * query, size]), unlabeled
        )

    def _embed_aside(self, episode: Episode, training: bool) -> EmbeddedEpisode:
        """`_embed` with the encoder's averages as they were before.

        Put back afterwards, because this holds for layers of any kind: Keras' batch
        norm has no way to use batch statistics without recording them.
        """
        averages = self.encoder.non_trainable_variables
        before = [tf.identity(average) for average in averages]
        embeddings = self._embed(episode, training)
        for average, value in zip(averages, before, strict=True):
            average.assign(value)
        return embeddings

    def _report(self, values: Logs) -> Logs:
        for name, value in values.items():
            self._means[name].update_state(value)
        return {name: self._means[name].result() for name in values}


def to_float(images: tf.Tensor) -> tf.Tensor:
    """Bytes as numbers in [0, 1]; floats as they are."""
    return tf.image.convert_image_dtype(images, tf.float32)


def query_labels(way: int, query: int) -> tf.Tensor:
    """The classes of an episode's queries, which come class by class: [Q]."""
    return tf.repeat(tf.range(way), query)


def accuracy(scores: tf.Tensor, labels: tf.Tensor) -> tf.Tensor:
    """Share of queries whose best score is their own class: [Q, N], [Q] -> []."""
    best = tf.argmax(scores, axis=-1, output_type=labels.dtype)
    return tf.reduce_mean(tf.cast(best == labels, tf.float32), axis=-1)
