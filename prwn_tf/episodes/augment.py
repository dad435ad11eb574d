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
    count, sides = tf.shape(images)[0], images.shape[1:3]
    keys = tf.unstack(tf.random.split(key, 2, alg="philox"))
    rows, columns = (
        _moved(side, count, own) for side, own in zip(sides, keys, strict=True)
    )
    return _rearranged(images, rows, columns)


def flip(images: tf.Tensor, key: tf.Tensor) -> tf.Tensor:
    """Returns images of which every second, by chance, is mirrored left to right."""
    count, (height, width) = tf.shape(images)[0], images.shape[1:3]
    mirrored = _integers(count, 2, key)[:, None] == 1
    columns = tf.range(width)[None, :]
    columns = tf.where(mirrored, width - 1 - columns, columns)  # [B, W]
    rows = tf.tile(tf.range(height)[None, :], [count, 1])
    return _rearranged(images, rows, columns)


def _moved(side: int, count: tf.Tensor, key: tf.Tensor) -> tf.Tensor:
    """Returns which pixels of a side are seen once it is moved: [count, side]."""
    # At least a pixel, and less than the image that is reflected.
    border = min(side - 1, max(1, side // CROP_SHARE))
    start = _integers(count, 2 * border + 1, key) - border
    places = tf.abs(start[:, None] + tf.range(side))
    return tf.minimum(places, 2 * (side - 1) - places)


def _rearranged(images: tf.Tensor, rows: tf.Tensor, columns: tf.Tensor) -> tf.Tensor:
    """Returns images made of their pixels at rows [B, H] and columns [B, W].

    Whole pixels are gathered, which takes a sixth of the time of padding and slicing.
    """
    _, height, width, channels = images.shape
    first = tf.range(tf.shape(images)[0])[:, None, None] * height
    places = (first + rows[:, :, None]) * width + columns[:, None, :]  # [B, H, W]
    return tf.gather(tf.reshape(images, [-1, channels]), places)


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
