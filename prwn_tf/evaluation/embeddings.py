"""Every image of a split, embedded once.

At test time batch norm uses its moving averages, so an image's embedding does not
depend on the episode it is in.
"""

import numpy as np
import tensorflow as tf
import tqdm

from prwn_tf.data.store import ClassStore
from prwn_tf.model import FewShotModel

BATCH_PIXELS = 256 * 28 * 28  # small enough to stay in a CPU's cache


class Embedder:
    """Embeds whole splits with a model as it is at the time of the call."""

    def __init__(self, model: FewShotModel):
        self._encode = tf.function(
            lambda images: model(images, training=False),
            reduce_retracing=True,
            autograph=False,
        )

    def __call__(self, store: ClassStore) -> tf.Tensor:
        """Embeddings of all images of a split: [images, D], float32."""
        height, width, _ = store.image_shape
        batch = max(1, BATCH_PIXELS // (height * width))
        progress = tqdm.tqdm(
            range(0, len(store), batch),
            desc="embedding",
            unit=" batches",
            disable=None,
            leave=False,
        )
        rows = (np.arange(start, min(start + batch, len(store))) for start in progress)
        return tf.concat([self._encode(store.read(part)) for part in rows], axis=0)
