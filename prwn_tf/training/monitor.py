"""TensorBoard: curves, settings, a picture of an episode, a map of embeddings."""

import contextlib
import logging
import pathlib
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
import tensorflow as tf
from google.protobuf import text_format
from tensorboard.compat.proto import event_pb2
from tensorboard.plugins import projector
from tensorboard.plugins.hparams import api as hparams

from prwn_tf import files
from prwn_tf.config import EpisodeSpec
from prwn_tf.episodes import picture
from prwn_tf.episodes.pipeline import Episode
from prwn_tf.errors import StorageError
from prwn_tf.images import decoding
from prwn_tf.spec import BatchSpec

MAX_PIXELS = 84  # pixels of an image on the projector page, at most


class Monitor:
    """Writes what happens in a run to its TensorBoard folder, for as long as it can.

    Curves are not worth a run: where they cannot be written, they end with a warning.
    """

    def __init__(self, directory: pathlib.Path, start: int):
        """Continues after step `start`, dropping what a killed run wrote beyond it.

        At 0 that is everything: settings and picture are of step 0, too.
        """
        self._directory = directory
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

    def training(
        self, step: int, logs: Mapping[str, tf.Tensor], rate: float, speed: float
    ) -> None:
        """Writes the means of losses and statistics since the last report."""
        values = {**logs, "learning_rate": rate, "episodes_per_second": speed}
        self._scalars("train", step, values)

    def validation(self, step: int, values: Mapping[str, float]) -> None:
        """Writes the accuracy on the validation episodes."""
        self._scalars("validation", step, values)

    def _scalars(self, group: str, step: int, values: Mapping[str, float]) -> None:
        with self._tolerant(), self._writer.as_default(step=step):
            for name, value in values.items():
                tf.summary.scalar(f"{group}/{name}", value)
            self._writer.flush()

    def settings(self, values: Mapping[str, str | int | float | bool]) -> None:
        """Writes the run's settings for the HParams page."""
        with self._tolerant(), self._writer.as_default(step=0):
            hparams.hparams(dict(values))

    def episode(self, episode: Episode, spec: EpisodeSpec | BatchSpec) -> None:
        """Writes a picture of an episode."""
        with self._tolerant(), self._writer.as_default(step=0):
            tf.summary.image("episode", picture.picture(episode, spec)[None])


def write_projector(
    directory: pathlib.Path,
    vectors: np.ndarray,
    labels: Sequence[str],
    images: np.ndarray,
) -> None:
    """Writes images [n, H, W, C] at their embeddings [n, D], for the projector page."""
    try:
        _write_projector(directory, vectors, labels, images)
    except StorageError as error:
        _warn(directory, error)


def _write_projector(
    directory: pathlib.Path,
    vectors: np.ndarray,
    labels: Sequence[str],
    images: np.ndarray,
) -> None:
    rows = ("\t".join(f"{value:.6g}" for value in vector) for vector in vectors)
    files.write_text(directory / "projector" / "vectors.tsv", _lines(rows))
    files.write_text(directory / "projector" / "labels.tsv", _lines(labels))
    small = _small(images)
    files.write_bytes(directory / "projector" / "images.png", _sprite(small))
    config = projector.ProjectorConfig()
    embedding = config.embeddings.add(
        tensor_name="test embeddings",
        tensor_path="projector/vectors.tsv",
        metadata_path="projector/labels.tsv",
    )
    embedding.sprite.image_path = "projector/images.png"
    embedding.sprite.single_image_dim.extend(small.shape[2:0:-1])
    text = text_format.MessageToString(config)
    files.write_text(directory / "projector_config.pbtxt", text)


def _warn(directory: pathlib.Path, error: Exception) -> None:
    reason = str(error).splitlines()[0]
    logging.warning("nothing more is written to %s: %s", directory, reason)


def _grid(images: np.ndarray) -> np.ndarray:
    """Returns one image: [rows, columns, H, W, C] -> [rows * H, columns * W, C]."""
    rows, columns, height, width, channels = images.shape
    turned = images.transpose([0, 2, 1, 3, 4])
    return turned.reshape([rows * height, columns * width, channels])


def _small(images: np.ndarray) -> np.ndarray:
    """Returns images [n, H, W, C] of uint8, no larger than the page shows them."""
    height, width = (min(side, MAX_PIXELS) for side in images.shape[1:3])
    if (height, width) == images.shape[1:3]:
        return images
    return decoding.shrink(images, height, width).numpy()


def _sprite(images: np.ndarray) -> bytes:
    side = int(np.ceil(np.sqrt(len(images))))
    padding = [(0, side * side - len(images))] + [(0, 0)] * 3
    square = np.pad(images, padding).reshape([side, side, *images.shape[1:]])
    return tf.io.encode_png(_grid(square)).numpy()


def _lines(texts: Iterable[str]) -> str:
    return "".join(f"{text}\n" for text in texts)


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
