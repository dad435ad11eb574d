"""A decoder and an image for all tests of images."""

import numpy as np
import pytest
import tensorflow as tf

from prwn_tf.images import decoder as decoder_lib


@pytest.fixture(scope="session")
def decoder():
    return decoder_lib.Decoder(20)


@pytest.fixture(scope="session")
def scene():
    """A smooth image: [30, 40, 3]."""
    random = np.random.default_rng(0)
    coarse = random.uniform(40, 215, (4, 5, 3))
    smooth = tf.image.resize(coarse, [30, 40], "bicubic")
    return tf.saturate_cast(smooth, tf.uint8).numpy()
