import numpy as np
import pytest
import tensorflow as tf

from prwn_tf.encoders.conv4 import Conv4
from tests.oracle import encoder as oracle


def images(number, size, channels, seed=0):
    generator = np.random.default_rng(seed)
    return generator.random((number, size, size, channels)).astype(np.float32)


def weights(encoder):
    blocks = encoder.blocks
    return {
        "kernels": [block.convolution.kernel.numpy() for block in blocks],
        "scales": [block.norm.gamma.numpy() for block in blocks],
        "offsets": [block.norm.beta.numpy() for block in blocks],
    }


def moving(encoder):
    return {
        "means": [block.norm.moving_mean.numpy() for block in encoder.blocks],
        "variances": [block.norm.moving_variance.numpy() for block in encoder.blocks],
    }


@pytest.mark.parametrize(("size", "length"), [(28, 64), (84, 1600)])
def test_size_of_embeddings(size, length):
    encoder = Conv4()
    assert encoder(tf.zeros([2, size, size, 3])).shape == (2, length)
    assert encoder.compute_output_shape((None, size, size, 3)) == (None, length)


@pytest.mark.parametrize("fast", [False, True])
@pytest.mark.parametrize("training", [False, True])
def test_matches_oracle(fast, training):
    encoder = Conv4(channels=6, fast=fast)
    batch = images(5, 28, 1)
    encoder(batch, training=True)  # moves the averages away from 0 and 1
    statistics = {} if training else moving(encoder)
    expected = oracle.conv4_forward(batch, **weights(encoder), **statistics)
    found = encoder(batch, training=training)
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("fast", [False, True])
def test_the_maxima_of_its_last_map_in_its_place(fast):
    encoder = Conv4(channels=6, fast=fast, pool="max")
    batch = images(3, 52, 1)
    expected = oracle.conv4_forward(batch, **weights_of_untrained(encoder, batch))
    expected = expected.reshape(3, 3 * 3, 6).max(1)
    np.testing.assert_allclose(
        encoder(batch, training=True), expected, rtol=1e-3, atol=1e-4
    )
    assert encoder.compute_output_shape((None, 52, 52, 1)) == (None, 6)
    assert encoder.feature_shape == (1, 1, 6)


def weights_of_untrained(encoder, batch):
    encoder.build((None, *batch.shape[1:]))
    return weights(encoder)


@pytest.mark.parametrize(
    ("scale", "temperature", "factor"),
    [(0.25, 0.0, 0.25), (1.0, 25.0, 1.0), (0.0, 0.04, 1.0), (0.0, 25.0, 0.2)],
)
@pytest.mark.parametrize("pool", ["none", "max"])
def test_a_trained_encoder_is_multiplied_by_the_scale(scale, temperature, factor, pool):
    encoder, batch = Conv4(8, scale=scale, pool=pool), images(3, 28, 1)
    encoder.build((None, 28, 28, 1))
    encoder.block_4.norm.beta.assign(np.linspace(-1, 1, 8))  # as training leaves it
    before = encoder(batch)
    encoder.adopt(temperature)
    np.testing.assert_allclose(encoder(batch), factor * before, rtol=1e-6)


def test_moving_averages_keep_nine_tenths():
    encoder = Conv4(channels=4)
    batch = images(5, 28, 1)
    encoder(batch, training=True)
    first = encoder.blocks[0]
    features = oracle.convolve(batch, first.convolution.kernel.numpy())
    mean, variance = oracle.batch_statistics(features)
    np.testing.assert_allclose(first.norm.moving_mean, 0.1 * mean, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(
        first.norm.moving_variance, 0.9 + 0.1 * variance, rtol=1e-4
    )


def test_weight_decay_is_half_the_squared_kernels():
    encoder = Conv4(channels=4, weight_decay=0.01)
    encoder.build((None, 28, 28, 1))
    kernels = weights(encoder)["kernels"]
    expected = 0.005 * sum(np.sum(np.square(kernel)) for kernel in kernels)
    np.testing.assert_allclose(sum(encoder.losses), expected, rtol=1e-6)


def test_blocks_start_from_different_kernels_drawn_by_the_seed():
    first, second, other = Conv4(seed=0), Conv4(seed=0), Conv4(seed=1)
    for encoder in (first, second, other):
        encoder.build((None, 28, 28, 1))
    kernels = weights(first)["kernels"]
    assert not np.array_equal(kernels[1], kernels[2])
    np.testing.assert_array_equal(kernels[1], weights(second)["kernels"][1])
    assert not np.array_equal(kernels[1], weights(other)["kernels"][1])
    assert np.std(kernels[1]) == pytest.approx(0.0088, rel=0.02)  # cut off at 2 sigma


def test_no_layer_holds_random_state():
    encoder = Conv4()
    encoder.build((None, 28, 28, 1))
    assert not [v.path for v in encoder.variables if "seed" in v.path]
