"""EGNN's own encoder: sizes, and what it leaves out in training."""

import numpy as np
import pytest
import tensorflow as tf

from prwn_tf.encoders.egnn_conv import EgnnConv
from prwn_tf.parts import EgnnConvConfig


def images(number, size, channels=3) -> np.ndarray:
    generator = np.random.default_rng(0)
    return generator.random((number, size, size, channels)).astype(np.float32)


@pytest.mark.parametrize("size", [20, 28, 84])
def test_size_of_embeddings(size):
    encoder = EgnnConv()
    assert encoder(tf.zeros([2, size, size, 3])).shape == (2, 128)
    assert encoder.compute_output_shape((None, size, size, 3)) == (None, 128)
    assert encoder.feature_shape == (1, 1, 128)


def test_parameters_by_hand():
    encoder = EgnnConv()
    encoder.build((None, 84, 84, 3))
    count = sum(int(np.prod(v.shape)) for v in encoder.trainable_variables)
    kernels = 9 * (3 * 64 + 64 * 96 + 96 * 128 + 128 * 256)
    norms = 2 * (64 + 96 + 128 + 256) + 2 * 128
    dense = 5 * 5 * 256 * 128 + 128  # 84 -> 42 -> 20 -> 10 -> 5
    assert count == kernels + norms + dense


def test_smallest_image():
    assert EgnnConvConfig.smallest_image == 20
    encoder = EgnnConv(channels=4)
    encoder.build((None, 19, 19, 1))
    assert encoder.dense.kernel.shape[0] == 0


def test_channels_are_left_out_in_training_alone():
    encoder = EgnnConv(channels=4)
    batch = images(3, 20)
    first, second = (encoder(batch, training=True) for _ in range(2))
    assert not np.allclose(first, second)
    np.testing.assert_array_equal(encoder(batch), encoder(batch))
    kept = EgnnConv(channels=4, config=EgnnConvConfig(dropout=0.0, last_dropout=0.0))
    first, second = (kept(batch, training=True) for _ in range(2))
    np.testing.assert_allclose(first, second, rtol=1e-5, atol=1e-5)


def test_blocks_leave_out_channels_of_their_own():
    encoder = EgnnConv(config=EgnnConvConfig(dropout=0.5, last_dropout=0.5))
    ones = tf.ones([64, 1, 1, 64])
    kept = [
        encoder.dropout_3(ones, training=True) > 0,
        encoder.dropout_4(ones, training=True) > 0,
    ]
    agree = np.mean(kept[0].numpy() == kept[1].numpy())
    assert abs(agree - 0.5) < 0.05


def test_embeddings_are_normalised_in_training():
    embeddings = EgnnConv(channels=4)(images(8, 28), training=True).numpy()
    np.testing.assert_allclose(embeddings.mean(axis=0), 0, atol=1e-5)
    np.testing.assert_allclose(embeddings.std(axis=0), 1, atol=0.1)


def test_seed_and_weight_decay():
    first, second, other = (
        EgnnConv(channels=4, seed=seed, weight_decay=0.01) for seed in (0, 0, 1)
    )
    for encoder in (first, second, other):
        encoder.build((None, 20, 20, 1))
    kernel = first.convolution_1.kernel.numpy()
    np.testing.assert_array_equal(kernel, second.convolution_1.kernel.numpy())
    assert not np.array_equal(kernel, other.convolution_1.kernel.numpy())
    kernels = [v for v in first.trainable_variables if v.path.endswith("kernel")]
    expected = 0.005 * sum(np.sum(np.square(each.numpy())) for each in kernels)
    assert len(kernels) == 5
    np.testing.assert_allclose(sum(first.losses), expected, rtol=1e-5)
