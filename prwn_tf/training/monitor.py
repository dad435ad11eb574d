"""TensorBoard: curves, settings, tests, pictures of an episode and of the walk."""

import contextlib
import json
import logging
import pathlib
from collections.abc import Iterator, Mapping

import tensorflow as tf
from tensorboard.compat.proto import event_pb2
from tensorboard.plugins.hparams import api as hparams

from prwn_tf import config_json
from prwn_tf.config import ADAPTATIONS, EpisodeSpec, TrainConfig
from prwn_tf.episodes import picture
from prwn_tf.episodes.pipeline import Episode
from prwn_tf.errors import first_line
from prwn_tf.images import chart
from prwn_tf.spec import BatchSpec

TESTS = ".test.v2"  # how the file of the tests ends
LANDING = "landing/"  # statistics of the walk: coming home after so many inner steps


class Monitor:
    """Writes what happens in a run to its TensorBoard folder, for as long as it can.

    Curves are not worth a run: where they cannot be written, they end with a warning.
    """

    def __init__(self, directory: pathlib.Path, start: int):
        """Continues after step `start`, dropping what a killed run wrote beyond it.

        At 0 that is everything: settings and picture are of step 0, too.
        """
        self._directory = directory
        self._landing: dict[str, float] = {}
        self._writer = tf.summary.create_noop_writer()
        with self._tolerant():
            for path in sorted(directory.glob("events.out.tfevents.*")):
                if start == 0:
                    path.unlink()
                else:
                    _drop_after(path, start)
            self._writer = tf.summary.create_file_writer(str(directory))

    def __enter__(self) -> "Monitor":
        return self

    def __exit__(self, *unused) -> None:
        with self._tolerant():
            self._writer.close()

    @contextlib.contextmanager
    def _tolerant(self) -> Iterator[None]:
        try:
            yield
        except (tf.errors.OpError, OSError) as error:
            _warn(self._directory, error)
            self._writer = tf.summary.create_noop_writer()

    @contextlib.contextmanager
    def _writing(self, step: int) -> Iterator[None]:
        """Puts on disk what is written, before the checkpoint of that step is there.

        A run that is killed goes on after that checkpoint, and writes nothing again.
        """
        with self._tolerant(), self._writer.as_default(step=step):
            yield
            self._writer.flush()  # the one of `as_default` hides a full disk

    def training(
        self, step: int, logs: Mapping[str, tf.Tensor], rate: float, speed: float
    ) -> None:
        """Writes the means of losses and statistics since the last report."""
        values = {**logs, "learning_rate": rate, "episodes_per_second": speed}
        self._scalars("train", step, values)
        landing = {k: float(v) for k, v in logs.items() if k.startswith(LANDING)}
        self._landing = {k.removeprefix(LANDING): v for k, v in landing.items()}

    def validation(self, step: int, values: Mapping[str, float]) -> None:
        """Writes the accuracy on the validation episodes, and how the walk lands."""
        self._scalars("validation", step, values)
        if self._landing:
            drawn = chart.bars(
                list(self._landing.values()),
                [name.removesuffix("_steps") for name in self._landing],
                "how often the walker comes home",
                "after so many steps from point to point",
            )
            with self._writing(step):
                tf.summary.image("landing", drawn[None])

    def _scalars(self, group: str, step: int, values: Mapping[str, float]) -> None:
        with self._writing(step):
            for name, value in values.items():
                tf.summary.scalar(f"{group}/{name}", value)

    def settings(self, config: TrainConfig) -> None:
        """Writes the run's settings: all as text, some for the HParams page."""
        text = json.dumps(config_json.to_dict(config), indent=2)
        # The page sorts settings by name, so each name begins with its place.
        names = {k: f"{n:02} {k}" for n, k in enumerate(of_interest(config))}
        metrics = {f"test/{each}": f"test accuracy, {each}" for each in ADAPTATIONS}
        metrics["validation/accuracy"] = "validation accuracy"
        with self._writing(step=0):
            tf.summary.text("config", f"```json\n{text}\n```")
            hparams.hparams_config(
                hparams=[hparams.HParam(v, display_name=k) for k, v in names.items()],
                metrics=[hparams.Metric(k, display_name=v) for k, v in metrics.items()],
            )
            hparams.hparams({names[k]: v for k, v in of_interest(config).items()})

    def episode(self, episode: Episode, spec: EpisodeSpec | BatchSpec) -> None:
        """Writes a picture of an episode."""
        with self._writing(step=0):
            tf.summary.image("episode", picture.picture(episode, spec)[None])

    def drawn(
        self, step: int, episode: Episode, drawn: Mapping[str, tf.Tensor]
    ) -> None:
        """Writes what a model draws of an episode, by name, beside its own images."""
        with self._writing(step):
            for name, images in drawn.items():
                tf.summary.image(name, picture.beside_drawn(episode, images)[None])


def of_interest(config: TrainConfig) -> dict[str, str | int | float]:
    """Returns the settings in which runs differ most, the first first."""
    return {
        "method": config.method,
        "dataset": config.dataset,
        "shot": config.test.shot,
        "walk_weight": config.walk.weight,
        "walk_steps": config.walk.steps,
        "walk_decay": config.walk.decay,
        "learning_rate": config.optimizer.learning_rate,
        "encoder": config.encoder,
        "label_ratio": config.label_ratio,
        "distractors": config.test.distractors,
        "train_way": config.train.way,
        "train_unlabeled": config.train.unlabeled,
        "episodes": config.episodes,
        "seed": config.seed,
    }


def write_tests(
    directory: pathlib.Path, step: int, accuracies: Mapping[str, float]
) -> None:
    """Writes the accuracy on test episodes, in the place of an earlier one's."""
    try:
        for path in directory.glob(f"events.*{TESTS}"):
            path.unlink()
        writer = tf.summary.create_file_writer(str(directory), filename_suffix=TESTS)
        with contextlib.closing(writer), writer.as_default(step=step):
            for name, accuracy in accuracies.items():
                tf.summary.scalar(f"test/{name}", accuracy)
    except (tf.errors.OpError, OSError) as error:
        _warn(directory, error)


def _warn(directory: pathlib.Path, error: Exception) -> None:
    logging.warning("nothing more is written to %s: %s", directory, first_line(error))


def _drop_after(path: pathlib.Path, step: int) -> None:
    """Rewrites an event file without the events after `step`.

    A run that was killed between two checkpoints repeats the steps between them;
    without this TensorBoard would show them twice.
    """
    kept = []
    try:
        for record in tf.data.TFRecordDataset(str(path)).as_numpy_iterator():
            if event_pb2.Event.FromString(record).step <= step:
                kept.append(record)
    except tf.errors.DataLossError:
        logging.info("%s ends in the middle of an event, which is dropped", path)
    beside = path.with_name(f".{path.name}.tmp")
    with tf.io.TFRecordWriter(str(beside)) as writer:
        for record in kept:
            writer.write(record)
    beside.replace(path)
