"""Changed copies of training images, drawn anew for every episode.

Randomness is addressed by the episode's index, so a resumed run sees the same images.
"""

from collections.abc import Callable, Mapping, Sequence

import tensorflow as tf

CROP_SHARE = 10  # an image moves by at most a tenth of its side
JITTER = 0.4  # brightness, contrast and saturation change by at most this share


def augmented(
    images: tf.Tensor, names: Sequence[str], seed: int, index: tf.Tensor
) -> tf.Tensor:
    """Returns images [B, H, W, C], each with its own draw of every change, in order."""
    key = tf.random.experimental.stateless_fold_in(
        tf.constant([seed, 0], tf.int64), tf.cast(index, tf.int64), alg="philox"
    )
    for place, (name, change) in enumerate(CHANGES.items()):
        if name in names:
            own = tf.random.experimental.stateless_fold_in(key, place, alg="philox")
            images = change(images, own)
    return images


def crop(images: tf.Tensor, key: tf.Tensor) -> tf.Tensor:
    """Returns images moved by a few pixels; what comes in is their mirror image."""
    _, height, width, _ = images.shape
    # At least a pixel, and less than the image that is reflected.
    rows, columns = (
        min(side - 1, max(1, side // CROP_SHARE)) for side in (height, width)
    )
    padded = tf.pad(
        images, [[0, 0], [rows, rows], [columns, columns], [0, 0]], "REFLECT"
    )
    count = tf.shape(images)[0]
    keys = tf.random.split(key, 2, alg="philox")
    top = _integers(count, 2 * rows + 1, keys[0])[:, None] + tf.range(height)  # [B, H]
    left = _integers(count, 2 * columns + 1, keys[1])[:, None] + tf.range(width)
    moved = tf.gather(padded, top, axis=1, batch_dims=1)  # [B, H, width + ..., C]
    return tf.gather(moved, left, axis=2, batch_dims=1)  # [B, H, W, C]


def flip(images: tf.Tensor, key: tf.Tensor) -> tf.Tensor:
    """Returns images of which every second, by chance, is mirrored left to right."""
    mirrored = _integers(tf.shape(images)[0], 2, key) == 1
    return tf.where(mirrored[:, None, None, None], images[:, :, ::-1], images)


def color(images: tf.Tensor, key: tf.Tensor) -> tf.Tensor:
    """Returns images with other brightness, contrast and saturation."""
    values = tf.image.convert_image_dtype(images, tf.float32)
    keys = tf.random.split(key, 3, alg="philox")
    brightness, contrast, saturation = (
        tf.random.stateless_uniform(
            [tf.shape(images)[0], 1, 1, 1], each, 1 - JITTER, 1 + JITTER, alg="philox"
        )
        for each in tf.unstack(keys)
    )  # [B, 1, 1, 1]
    values = tf.clip_by_value(values * brightness, 0, 1)
    gray = tf.reduce_mean(values, axis=-1, keepdims=True)  # [B, H, W, 1]
    values = gray + saturation * (values - gray)
    mean = tf.reduce_mean(gray, axis=[1, 2], keepdims=True)  # [B, 1, 1, 1]
    values = tf.clip_by_value(mean + contrast * (values - mean), 0, 1)
    return tf.image.convert_image_dtype(values, images.dtype, saturate=True)


def _integers(count: tf.Tensor, stop: int, key: tf.Tensor) -> tf.Tensor:
    """Returns random whole numbers below `stop`: [count]."""
    return tf.random.stateless_uniform(
        [count], key, 0, stop, dtype=tf.int32, alg="philox"
    )


# In the order in which they are made.
CHANGES: Mapping[str, Callable[[tf.Tensor, tf.Tensor], tf.Tensor]] = {
    "crop": crop,
    "flip": flip,
    "color": color,
}
