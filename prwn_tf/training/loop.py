"""The training loop: an episode for each replica, one step, one counter.

The step counts episodes, whatever the optimizer counts. Episode i is a pure function of
the seed, so a run that was killed continues to the same weights.
"""

import itertools
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import tensorflow as tf
import tqdm

from prwn_tf import build, files
from prwn_tf.config import TrainConfig
from prwn_tf.episodes.pipeline import Episode
from prwn_tf.errors import NonFiniteLossError, Stopped, UserError, first_line
from prwn_tf.logs import Logs
from prwn_tf.model import FewShotModel
from prwn_tf.training.checkpoints import Checkpoints
from prwn_tf.training.monitor import Monitor
from prwn_tf.training.replicas import Replicas, of_first, shared_step
from prwn_tf.training.signals import StopRequest, graceful_stop
from prwn_tf.training.workdir import Workdir


def train(
    model: FewShotModel,
    episodes_from: Callable[[int], tf.data.Dataset],
    config: TrainConfig,
    workdir: Workdir,
    checkpoints: Checkpoints,
    monitor: Monitor,
    validate: Callable[[int], None],
    start: int,
    replicas: Replicas | None = None,
) -> None:
    """Trains from step `start`, the one of the model's weights, to `config.episodes`.

    Args:
        episodes_from: the training episodes of this process from an index on.
        replicas: the devices that share a step; one by default.

    Raises:
        Stopped: after a signal that asks for it, with a checkpoint of the last step.
        NonFiniteLossError: before anything of that step is saved.
    """
    replicas = replicas or Replicas()
    # Running means of what is minimised, and seconds of training, since a report.
    losses, spent = [], 0.0
    with graceful_stop() as stop, _progress(start, config.episodes) as progress:
        clock = time.monotonic()
        for step, logs in _steps(model, episodes_from, config, replicas, start):
            losses.append([logs[name] for name in model.objectives])
            progress.update(replicas.count)
            last, stopping = step == config.episodes, replicas.any(stop.requested)
            due = _due(config, step, replicas.count, stopping)
            if not any(due):
                continue
            _check_finite(losses, model, step, replicas.count, workdir)
            spent += (elapsed := time.monotonic() - clock)
            checkpoints.seconds.assign_add(elapsed)
            if due.report:
                speed = replicas.count * len(losses) / spent
                _report(model, monitor, progress, step, logs, speed)
                losses, spent = [], 0.0
            if due.validation:
                validate(step)
            if last:
                files.write_json(workdir.losses, {k: float(v) for k, v in logs.items()})
            if due.checkpoint:
                checkpoints.save(step)
            if stopping or (last and replicas.any(stop.requested)):
                raise _stopped(stop, step, workdir)
            clock = time.monotonic()


def _report(
    model: FewShotModel,
    monitor: Monitor,
    progress: tqdm.tqdm,
    step: int,
    logs: Logs,
    speed: float,
) -> None:
    """Shows the means since the last report, and begins new ones."""
    monitor.training(step, logs, model.optimizer.learning_rate, speed)
    progress.set_postfix_str(_postfix(logs), refresh=False)
    model.reset_metrics()


def follow(
    model: FewShotModel,
    episodes_from: Callable[[int], tf.data.Dataset],
    config: TrainConfig,
    start: int,
    replicas: Replicas,
) -> None:
    """Takes this process' part of all steps of a run, whose chief does all the rest."""
    with graceful_stop() as stop:
        for step, _ in _steps(model, episodes_from, config, replicas, start):
            stopping = replicas.any(stop.requested)
            if _due(config, step, replicas.count, stopping).report:
                model.reset_metrics()
            last = step == config.episodes
            if stopping or (last and replicas.any(stop.requested)):
                number = stop.signal_number or signal.SIGTERM
                raise Stopped(number, f"stopped with the other workers at step {step}")


def _steps(
    model: FewShotModel,
    episodes_from: Callable[[int], tf.data.Dataset],
    config: TrainConfig,
    replicas: Replicas,
    start: int,
) -> Iterator[tuple[int, Logs]]:
    """Takes all steps of a run: yields how many episodes were seen, and the reports."""
    with replicas.scope():
        train_step = compiled_step(model, config)
    seen = build.count_episodes(model, config)
    seen.assign(start)
    steps = itertools.count(start + replicas.count, replicas.count)
    for step, episodes in zip(
        steps, replicas.steps(episodes_from(start)), strict=False
    ):
        logs = train_step(episodes)
        seen.assign(step)
        yield step, logs


class _Due(NamedTuple):
    """What is to be done after a step."""

    report: bool
    validation: bool
    checkpoint: bool


def _due(config: TrainConfig, step: int, taken: int, stopping: bool) -> _Due:
    """Returns what is due at a step, or became due among the episodes that it took."""
    last = step == config.episodes
    return _Due(
        report=step % config.report_every < taken or last,
        validation=step % config.validate_every < taken or last,
        checkpoint=step % config.checkpoint_every < taken or last or stopping,
    )


def _stopped(stop: StopRequest, step: int, workdir: Workdir) -> Stopped:
    # Without a signal of its own, that of another worker.
    number = stop.signal_number or signal.SIGTERM
    name = signal.Signals(number).name
    return Stopped(
        number,
        f"stopped by {name} at step {step} with a checkpoint; {workdir.continuation} "
        "continues from it",
    )


def compiled_step(model: FewShotModel, config: TrainConfig) -> Callable:
    """Returns the training step as one graph, on all devices of the strategy.

    With --xla=step it is one compiled program for each kind of episode.
    """
    strategy = tf.distribute.get_strategy()
    several = strategy.num_replicas_in_sync > 1
    of_replica = shared_step(model) if several else model.train_step
    compiled = config.xla == "step"

    # AutoGraph, which nothing here needs, leaves temporary files when it is killed.
    @tf.function(jit_compile=compiled, autograph=False)
    def train_step(episode):
        logs = strategy.run(of_replica, args=(episode,))
        return {name: of_first(strategy, value) for name, value in logs.items()}

    return _or_say_why(train_step) if compiled else train_step


def _or_say_why(train_step: Callable) -> Callable:
    """Returns a compiled step that says in one line what XLA cannot compile of it."""

    def step(episode: Episode) -> Logs:
        try:
            return train_step(episode)
        except (tf.errors.InvalidArgumentError, tf.errors.UnimplementedError) as error:
            reason = first_line(error)
            raise UserError(
                f"--xla=step cannot compile this model: {reason}; use --xla=walk or "
                "--xla=off"
            ) from error

    return step


def _progress(start: int, stop: int) -> tqdm.tqdm:
    return tqdm.tqdm(
        initial=start, total=stop, desc="training", unit="ep", disable=None
    )


def _postfix(logs: dict[str, tf.Tensor]) -> str:
    return f"loss {float(logs['loss']):.2f}, accuracy {float(logs['accuracy']):.2f}"


def _check_finite(
    losses: Sequence[Sequence[tf.Tensor]],
    model: FewShotModel,
    step: int,
    taken: int,
    workdir: Workdir,
) -> None:
    """Raises at the first loss, or after the first step, that is not finite.

    The losses, common and of players, are running means, so all that follow a bad one
    are bad as well. They are looked at in groups because each look waits for the
    device. A finite loss may have infinite gradients, and then the weights are what
    must not be saved.
    """
    bad = ~np.isfinite([[float(each) for each in every] for every in losses])  # [S, O]
    finite_weights = all(np.isfinite(each).all() for each in model.get_weights())
    if not bad.any() and finite_weights:
        return
    what, first = "weights are", step
    if bad.any():
        place = int(np.argmax(bad.any(axis=1)))
        name = model.objectives[int(np.argmax(bad[place]))]
        what = "loss is" if name == "loss" else f"loss {name} is"
        first = step - taken * (len(losses) - 1 - place)
    report = workdir.path / "nan_report.json"
    episode = first - taken
    files.write_json(report, {"step": first, "episode": episode})
    others = f" to {first - 1}" if taken > 1 else ""
    raise NonFiniteLossError(
        f"the {what} not finite at step {first} (training episode {episode}{others}); "
        f"the checkpoint before it is intact, {report} says where; lower "
        "--learning_rate"
    )
