"""Images as bytes of a file, and as the decoder should make them."""

import tensorflow as tf


def small(image):
    """What the decoder should make of it: [20, 20, 3]."""
    return tf.image.resize(image, [20, 20], antialias=True).numpy()


def jpeg(image, **options):
    return tf.io.encode_jpeg(
        image, quality=98, chroma_downsampling=False, **options
    ).numpy()


def png(image):
    return tf.io.encode_png(image).numpy()
