"""The devices that share a step, an episode each, on one machine or on several.

Step k of R replicas takes episodes k * R to k * R + R - 1, wherever each of them lands.
"""

import contextlib
import dataclasses
import functools
import itertools
import signal
from collections.abc import Callable, Iterable, Iterator

import tensorflow as tf

from prwn_tf.config import TrainConfig
from prwn_tf.episodes.pipeline import Episode
from prwn_tf.errors import LostWorkerError, Stopped, UserError
from prwn_tf.logs import Logs
from prwn_tf.model import FewShotModel
from prwn_tf.training.cluster import Cluster

# What TensorFlow says where another process has gone.
LOST = (
    tf.errors.UnavailableError,
    tf.errors.AbortedError,
    tf.errors.CancelledError,
    tf.errors.DeadlineExceededError,
)


@dataclasses.dataclass(frozen=True)
class Replicas:
    """All devices of a run, and the part of them that this process has."""

    strategy: tf.distribute.Strategy = dataclasses.field(
        default_factory=tf.distribute.get_strategy
    )
    cluster: Cluster = dataclasses.field(default_factory=Cluster)

    @property
    def count(self) -> int:
        """How many episodes a step takes."""
        return self.strategy.num_replicas_in_sync

    @property
    def _here(self) -> int:
        return self.count // self.cluster.workers

    def scope(self) -> contextlib.AbstractContextManager:
        """Inside of it, models are made for all replicas."""
        return self.strategy.scope() if self.count > 1 else contextlib.nullcontext()

    def whole(self, start: int, stop: int) -> int:
        """Returns where the last step ends, if the first begins at `start`."""
        return stop + (start - stop) % self.count if stop > start else stop

    def steps(self, episodes: Iterable[Episode]) -> Iterator[Episode]:
        """Yields what the replicas of this process learn from, step by step."""
        if self.count == 1:
            yield from episodes
            return
        episodes = iter(episodes)
        while group := list(itertools.islice(episodes, self._here)):
            yield self.strategy.experimental_distribute_values_from_function(
                lambda context, group=group: group[
                    context.replica_id_in_sync_group % self._here
                ]
            )

    def from_chief(self, number: int = 0) -> int:
        """Returns the number that the chief gives, to all workers; awaits them all."""
        return self._sum(number if self.cluster.is_chief else 0)

    def any(self, flag: bool) -> bool:
        """Returns whether the flag of any worker is set; awaits them all."""
        return self._sum(int(flag)) > 0

    def _sum(self, number: int) -> int:
        if self.cluster.workers == 1:
            return number
        return int(self._summed(tf.constant(number, tf.int64)))

    @functools.cached_property
    def _summed(self) -> Callable[[tf.Tensor], tf.Tensor]:
        """A function that adds up a number of each worker."""

        def of_replica(number: tf.Tensor) -> tf.Tensor:
            context = tf.distribute.get_replica_context()
            first = context.replica_id_in_sync_group % self._here == 0
            mine = tf.where(first, number, tf.zeros_like(number))
            return context.all_reduce(tf.distribute.ReduceOp.SUM, mine)

        @tf.function(autograph=False)
        def summed(number: tf.Tensor) -> tf.Tensor:
            return of_first(self.strategy, self.strategy.run(of_replica, [number]))

        return summed

    @contextlib.contextmanager
    def together(self) -> Iterator[None]:
        """Ends the work inside of it at once for all workers, done or stopped.

        Raises:
            LostWorkerError: a worker is gone, in one line, wherever that is noticed.
        """
        try:
            try:
                yield
            except Stopped:
                self._part()
                raise
            self._part()
        except LOST as error:
            if self.cluster.workers == 1:
                raise
            reason = error.message.partition("aborted by: ")[2] or error.message
            raise LostWorkerError(
                f"worker {self.cluster.place} lost another one "
                f"({reason.splitlines()[0][:150]}); see what that one said, then start "
                "all workers again: the run continues from its last checkpoint"
            ) from error

    def _part(self) -> None:
        """Waits until nobody needs this worker any more.

        A worker that has a sum may still have to hand parts of it to others. So a
        second one follows, which only begins where the first has ended: who is left
        alone with that knows that all others are done.
        """
        self._sum(0)
        with contextlib.suppress(*LOST):
            self._sum(0)


def create(config: TrainConfig, cluster: Cluster) -> Replicas:
    """Returns the devices that a config asks for; awaits all workers of a cluster.

    TensorFlow must not have computed anything before.
    """
    if cluster.workers > 1:
        cluster.meet()
        try:
            replicas = Replicas(tf.distribute.MultiWorkerMirroredStrategy(), cluster)
        except RuntimeError as error:
            raise UserError(
                f"--strategy=multi_worker is not possible: {error}"
            ) from error
        # TensorFlow takes it for itself, and then nobody could end this process by it.
        signal.signal(signal.SIGTERM, signal.getsignal(signal.SIGTERM))
    else:
        devices = _devices(config.strategy)
        replicas = (
            Replicas(tf.distribute.MirroredStrategy(devices)) if devices else Replicas()
        )
    _check(config, replicas)
    return replicas


def _devices(strategy: str) -> list[str]:
    """Returns the devices of this machine that share a step; none for one alone."""
    several = len(tf.config.list_physical_devices("GPU")) > 1
    if strategy != "mirrored" and not (strategy == "auto" and several):
        return []
    devices = tf.config.list_logical_devices("GPU")
    devices = devices or tf.config.list_logical_devices("CPU")
    if len(devices) == 1:
        raise UserError(
            "--strategy=mirrored shares a step among the GPUs of this machine, and "
            f"found one device, {devices[0].name}; use --strategy=one"
        )
    return [device.name for device in devices]


def _check(config: TrainConfig, replicas: Replicas) -> None:
    """Raises if several replicas cannot do what a config asks for."""
    refused = {
        "--xla=step": config.xla == "step",
        "--precision=float16": config.precision == "float16",
    }
    for flag, asked in refused.items():
        if asked and replicas.count > 1:
            raise UserError(
                f"{flag} and {replicas.count} replicas (--strategy={config.strategy}) "
                f"exclude each other; leave out {flag}, or use --strategy=one"
            )


def of_first(strategy: tf.distribute.Strategy, values: tf.Tensor) -> tf.Tensor:
    """Returns what the first replica of this process answered."""
    return strategy.experimental_local_results(values)[0]


def shared_step(model: FewShotModel) -> Callable[[Episode], Logs]:
    """Returns the training step of one of several replicas.

    Gradients are averaged where they are applied. What else a step changes, averages of
    batch norm and running means of losses, is averaged here: so all replicas stay the
    same, and the first one is the model that is saved.
    """
    metrics = {metric.name: metric for metric in model.metrics}
    state = {
        id(variable): variable
        for variable in (
            *model.non_trainable_variables,
            *(each for metric in metrics.values() for each in metric.variables),
        )
        if tf.as_dtype(variable.dtype).is_floating
    }.values()

    def step(episode: Episode) -> Logs:
        names = model.train_step(episode).keys()
        values = [tf.convert_to_tensor(variable) for variable in state]
        flat = tf.concat([tf.reshape(value, [-1]) for value in values], axis=0)
        context = tf.distribute.get_replica_context()
        mean = context.all_reduce(tf.distribute.ReduceOp.MEAN, flat)
        sizes = [value.shape.num_elements() for value in values]
        for variable, part in zip(state, tf.split(mean, sizes), strict=True):
            variable.assign(tf.reshape(part, variable.shape))
        return {name: metrics[name].result() for name in names}

    return step
