"""TensorBoard's projector page: images at their embeddings."""

import logging
import pathlib
from collections.abc import Iterable, Sequence

import numpy as np
import tensorflow as tf
from google.protobuf import text_format
from tensorboard.plugins import projector

from prwn_tf import files
from prwn_tf.data.store.reader import ClassStore
from prwn_tf.errors import StorageError
from prwn_tf.images import decoding

MAX_PIXELS = 84  # pixels of an image on the page, at most
ENOUGH = 20  # images of a class, so that its place is seen
NAME = "validation classes"


def chosen(store: ClassStore, most: int) -> np.ndarray:
    """Returns the rows of some classes, as many as leave enough images of each: [n]."""
    count = min(len(store.names), max(1, most // ENOUGH))
    labels = np.linspace(0, len(store.names), count, endpoint=False).astype(int)
    each = max(1, most // count)
    return np.concatenate([np.array(store.rows(label)[:each]) for label in labels])


def write(
    directory: pathlib.Path,
    vectors: np.ndarray,
    labels: Sequence[str],
    images: np.ndarray,
) -> None:
    """Writes images [n, H, W, C] with labels [n] at their embeddings [n, D]."""
    try:
        _write(directory, vectors, labels, images)
    except StorageError as error:
        logging.warning("nothing is written to %s: %s", directory, error)


def _write(
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
        tensor_name=NAME,
        tensor_path="projector/vectors.tsv",
        metadata_path="projector/labels.tsv",
    )
    embedding.sprite.image_path = "projector/images.png"
    embedding.sprite.single_image_dim.extend(small.shape[2:0:-1])
    text = text_format.MessageToString(config)
    files.write_text(directory / "projector_config.pbtxt", text)


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
