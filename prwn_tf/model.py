"""FewShotModel: an encoder, a head and regularizers, trained episode by episode."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import keras
import tensorflow as tf

from prwn_tf.encoders.policy import policy_scope
from prwn_tf.episodes import resplits
from prwn_tf.episodes.pipeline import Episode
from prwn_tf.errors import UserError
from prwn_tf.heads.base import EmbeddedEpisode, Head
from prwn_tf.logs import Logs, RunningMean, means, total
from prwn_tf.notebook import NotebookModel
from prwn_tf.regularizers.base import Context, Regularizer, Terms

T = TypeVar("T")


class OptimizerGroup(NamedTuple):
    """An optimizer and the variables that it alone moves, by its name in a run."""

    name: str
    optimizer: keras.optimizers.Optimizer
    variables: list[keras.Variable]


@keras.saving.register_keras_serializable("prwn_tf")
class FewShotModel(NotebookModel):
    """Learns an embedding in which a head can classify from a few examples.

    Args:
        resplits: tasks that each training episode is split into; their losses are
            averaged. The first is the episode as it comes.
        seed: draws the others.

    Attributes:
        head_optimizer: moves the head's variables, if the common one does not.
        image_shape: height, width and channels; known once it is built.

    Example:
        model = FewShotModel(Conv4(), PrototypeHead(), [Walk(WalkConfig())])
        model.build((None, 28, 28, 1))
        model.compile(optimizer=keras.optimizers.Adam(1e-3))
        model.fit(episodes, shuffle=False)  # a tf.data pipeline of Episode
    """

    def __init__(
        self,
        encoder: keras.Model,
        head: Head,
        regularizers: Sequence[Regularizer] = (),
        resplits: int = 1,
        seed: int = 0,
    ):
        super().__init__()
        self.encoder = encoder
        self.head = head
        self.regularizers = tuple(regularizers)
        self.resplits = resplits
        self.seed = seed
        self.head_optimizer = None
        names = ["loss", "accuracy", *head.names, "weight_decay"]
        names += [name for term in self.regularizers for name in term.names]
        names += [player.own_name for player in self.players]
        if repeated := sorted({name for name in names if names.count(name) > 1}):
            raise UserError(
                f"two parts of the model report {', '.join(repeated)}; give each "
                "regularizer `names` and an `own_name` of its own"
            )
        # Keras shows its own, never updated "loss" unless a metric has that name.
        self._means = {name: RunningMean(name=name) for name in names}

    @property
    def metrics(self) -> list[keras.Metric]:
        return list(self._means.values())

    @property
    def players(self) -> list[Regularizer]:
        """The regularizers that have an optimizer of their own."""
        return [term for term in self.regularizers if term.optimizer is not None]

    @property
    def objectives(self) -> list[str]:
        """What is minimised, by its name in reports: the common loss, the players'."""
        return ["loss", *(player.own_name for player in self.players)]

    @property
    def optimizer_groups(self) -> list[OptimizerGroup]:
        """Who moves what: the common optimizer, the head's own if any, the players'."""
        groups = [
            OptimizerGroup(f"player_{place}", player.optimizer, player.own_variables)
            for place, player in enumerate(self.players)
        ]
        if self.head_optimizer is not None:
            theirs = self.head.trainable_variables
            groups.insert(
                0, OptimizerGroup("head_optimizer", self.head_optimizer, theirs)
            )
        taken = {id(variable) for group in groups for variable in group.variables}
        rest = [v for v in self.trainable_variables if id(v) not in taken]
        return [OptimizerGroup("optimizer", self.optimizer, rest), *groups]

    def build(self, input_shape: tuple) -> None:
        self.image_shape = tuple(input_shape[1:])
        with policy_scope(self.encoder.dtype_policy):
            self.encoder.build(input_shape)
        shape = self.encoder.compute_output_shape(input_shape)
        self.head.feature_shape = getattr(
            self.encoder, "feature_shape", (1, 1, shape[-1])
        )
        for part in (self.head, *self.regularizers):
            part.build(shape)

    def build_optimizers(self) -> None:
        """Makes the variables of all optimizers, which a checkpoint holds."""
        for group in self.optimizer_groups:
            group.optimizer.build(group.variables)

    def call(self, images: tf.Tensor, training: bool = False) -> tf.Tensor:
        """Returns embeddings of bytes, or floats in [0, 1]: [B, H, W, C] -> [B, D]."""
        embeddings = self.encoder(to_float(images), training=training)
        # Half precision is too coarse for squared distances of several hundred.
        return tf.cast(embeddings, tf.float32)

    def train_step(self, episode: Episode) -> Logs:
        """Takes one step of every optimizer on one episode."""
        groups = self.optimizer_groups
        with tf.GradientTape(persistent=len(groups) > 1) as tape:
            contexts = self._contexts(episode, training=True)
            losses, statistics, own_losses = self._terms(contexts)
            loss = total(list(losses.values()))
            common = [loss] * (len(groups) - len(own_losses))
            objectives = [
                self._shared(group.optimizer, objective)
                for group, objective in zip(
                    groups, [*common, *own_losses.values()], strict=True
                )
            ]
        for group, objective in zip(groups, objectives, strict=True):
            gradients = tape.gradient(objective, group.variables)
            group.optimizer.apply(gradients, group.variables)
        return self._report({"loss": loss, **losses, **statistics, **own_losses})

    def _shared(
        self, optimizer: keras.optimizers.Optimizer, loss: tf.Tensor
    ) -> tf.Tensor:
        """Returns a loss as its optimizer wants it.

        A strategy sums the gradients of its replicas; this makes it their mean.
        """
        replicas = tf.distribute.get_strategy().num_replicas_in_sync
        return optimizer.scale_loss(loss / replicas)

    def test_step(self, episode: Episode) -> Logs:
        """Returns the same terms, with the encoder as it is at test time."""
        losses, statistics, _ = self._terms(self._contexts(episode, training=False))
        loss = total(list(losses.values()))
        return self._report({"loss": loss, **losses, **statistics})

    def pictures(self, episode: Episode) -> dict[str, tf.Tensor]:
        """Returns what the regularizers draw of an episode, by name: [n, H, W, C]."""
        episode, drawn = episode.with_images(to_float), {}
        for regularizer in self.regularizers:
            drawn |= regularizer.pictures(episode)
        return drawn

    def _terms(self, contexts: Sequence[Context]) -> tuple[Logs, Logs, Logs]:
        """Returns terms of the common loss, statistics beside them, players' losses."""
        each = [self._task_terms(context) for context in contexts]
        losses, statistics, own_losses = (
            means(logs) for logs in zip(*each, strict=True)
        )
        for player in self.players:
            name = player.own_name
            own_losses[name] = total([own_losses[name], *player.losses])
        parts = [self.encoder, self.head]
        parts += [term for term in self.regularizers if term.optimizer is None]
        decay = [loss for part in parts for loss in part.losses]
        losses["weight_decay"] = total(decay or [tf.constant(0.0)])
        return losses, statistics, own_losses

    def _task_terms(self, context: Context) -> tuple[Logs, Logs, Logs]:
        """Returns what one task adds to all that `_terms` returns."""
        labels = context.episode.labels
        losses = dict(self.head.loss(context.embedded, context.answer, labels))
        statistics = {"accuracy": accuracy(context.answer.scores, labels)}
        own_losses = {}
        for regularizer in self.regularizers:
            terms = regularizer.terms(context)
            losses.update(terms.losses)
            statistics.update(terms.statistics)
            if regularizer.optimizer is not None:
                own_losses[regularizer.own_name] = _own_loss(regularizer, terms)
        return losses, statistics, own_losses

    def _contexts(self, episode: Episode, training: bool) -> list[Context]:
        """Embeds an episode once, for one task, or in training for several."""
        episode = episode.with_images(to_float)
        embedded = self._embed(episode, training)
        contexts = [self._context(episode, embedded, training)]
        if not training or self.resplits == 1:
            return contexts
        way, shot = episode.support.shape[:2]
        query = episode.query.shape[1]
        queries = tf.reshape(embedded.queries, [way, query, -1])
        for order in resplits.orders(
            self.resplits - 1, way, shot + query, self.seed, episode.index
        ):
            images = resplits.resplit(episode.support, episode.query, order)
            support, asked = resplits.resplit(embedded.support, queries, order)
            asked = tf.reshape(asked, embedded.queries.shape)
            contexts.append(
                self._context(
                    episode._replace(support=images[0], query=images[1]),
                    embedded._replace(support=support, queries=asked),
                    training,
                )
            )
        return contexts

    def _context(
        self, episode: Episode, embedded: EmbeddedEpisode, training: bool
    ) -> Context:
        return Context(
            episode=episode,
            embedded=embedded,
            answer=self.head.answer(embedded, training),
            embed=lambda altered: self._aside(self._embed, altered, training),
            embed_images=lambda images: self._aside(self, images, training),
            classify=lambda points: self.head.classify(embedded, points, training),
            step=tf.cast(episode.index, tf.int32),
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

    def _aside(self, embed: Callable[..., T], images: Any, training: bool) -> T:
        """Embeds something and leaves the encoder's averages as they were before.

        Put back afterwards, because this holds for layers of any kind: Keras' batch
        norm has no way to use batch statistics without recording them.
        """
        averages = self.encoder.non_trainable_variables
        before = [tf.identity(average) for average in averages]
        embedded = embed(images, training=training)
        for average, value in zip(averages, before, strict=True):
            average.assign(value)
        return embedded

    def _report(self, values: Mapping[str, tf.Tensor]) -> Logs:
        for name, value in values.items():
            self._means[name].update_state(value)
        return {name: self._means[name].result() for name in values}


def _own_loss(player: Regularizer, terms: Terms) -> tf.Tensor:
    """Returns what a player minimises in one task."""
    if terms.own_loss is None:
        raise TypeError(f"{type(player).__name__} has an optimizer and no own_loss")
    return terms.own_loss


def to_float(images: tf.Tensor) -> tf.Tensor:
    """Returns bytes as numbers in [0, 1]; floats as they are."""
    return tf.image.convert_image_dtype(images, tf.float32)


def accuracy(scores: tf.Tensor, labels: tf.Tensor) -> tf.Tensor:
    """Returns the share of queries whose best score is their class: [Q, N], [Q]."""
    best = tf.argmax(scores, axis=-1, output_type=labels.dtype)
    return tf.reduce_mean(tf.cast(best == labels, tf.float32), axis=-1)
