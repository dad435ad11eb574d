"""Every image of a split, embedded once.

At test time batch norm uses its moving averages, so an image's embedding does not
depend on the episode it is in.
"""

import os
import pathlib
import tempfile

import numpy as np
import tensorflow as tf
import tqdm

from prwn_tf import files
from prwn_tf.data.store.reader import ClassStore
from prwn_tf.encoders.batches import images_at_once
from prwn_tf.errors import StorageError
from prwn_tf.model import FewShotModel

MAX_IN_MEMORY = 2**27  # bytes; tiered-ImageNet's test split takes ten times as much


class Embeddings:
    """The vectors of the images of a split, in memory, or if they are many in a file.

    The file has no name, so it is gone with the process. It is read by offset: pages
    of a map would count as memory.
    """

    def __init__(self, count: int, size: int):
        self.shape = (count, size)
        self._row = size * np.dtype(np.float32).itemsize  # bytes
        small = count * self._row <= MAX_IN_MEMORY
        self._array = np.empty(self.shape, np.float32) if small else None
        self._file = None if small else tempfile.TemporaryFile()  # noqa: SIM115

    @classmethod
    def of(cls, vectors: np.ndarray) -> "Embeddings":
        """Returns embeddings that are known already: [images, D]."""
        embeddings = cls(*vectors.shape)
        embeddings.put(0, vectors)
        return embeddings

    def put(self, start: int, part: np.ndarray) -> None:
        """Sets the vectors from place `start` on: [n, D]."""
        part = np.asarray(part, np.float32)
        if self._file is None:
            self._array[start : start + len(part)] = part
            return
        content, place = memoryview(part.tobytes()), start * self._row
        with files.storage_errors(pathlib.Path(tempfile.gettempdir())):
            while content:  # a full disk takes what fits, and refuses the rest
                written = os.pwrite(self._file.fileno(), content, place)
                content, place = content[written:], place + written

    def gather(self, rows: np.ndarray | tf.Tensor) -> tf.Tensor:
        """Returns the vectors at some places: [...] -> [..., D]."""
        rows = np.asarray(rows)
        if self._file is None:
            return tf.convert_to_tensor(self._array[rows])
        vectors = np.empty((rows.size, self.shape[1]), np.float32)
        for vector, row in zip(vectors, rows.flat, strict=True):
            read = os.preadv(self._file.fileno(), [vector], int(row) * self._row)
            if read != self._row:
                raise StorageError(
                    f"a file of embeddings in {tempfile.gettempdir()} ends before row "
                    f"{row}; set TMPDIR to a folder on another disk"
                )
        return tf.convert_to_tensor(vectors.reshape(*rows.shape, self.shape[1]))


class Embedder:
    """Embeds whole splits with a model as it is at the time of the call."""

    def __init__(self, model: FewShotModel):
        self._encode = tf.function(
            lambda images: model(images, training=False),
            reduce_retracing=True,
            autograph=False,  # it leaves temporary files when it is killed
        )

    def __call__(self, store: ClassStore) -> Embeddings:
        """Embeds all images of a split."""
        height, width, _ = store.image_shape
        batch = images_at_once(height, width)
        progress = tqdm.tqdm(
            range(0, len(store), batch),
            desc="embedding",
            unit=" batches",
            disable=None,
            leave=False,
        )
        embeddings = None
        for start in progress:
            rows = np.arange(start, min(start + batch, len(store)))
            part = self._encode(store.read(rows)).numpy()
            if embeddings is None:
                embeddings = Embeddings(len(store), part.shape[1])
            embeddings.put(start, part)
        return embeddings
