import numpy as np
import pytest
import tensorflow as tf

from prwn_tf import build, protocols
from prwn_tf.encoders.mlp import MLP


def test_two_hidden_layers_of_relu_and_a_linear_output():
    encoder = MLP(channels=8, size=3, seed=1)
    points = np.random.default_rng(0).normal(size=(6, 1, 1, 2)).astype(np.float32)
    encoder.build(points.shape)
    features = points.reshape(6, 2)
    for layer in encoder.dense_layers:
        layer.bias.assign(0.1 * np.arange(layer.units))
    found = encoder(points)
    for index, layer in enumerate(encoder.dense_layers):
        kernel, bias = (weight.numpy() for weight in (layer.kernel, layer.bias))
        features = features @ kernel + bias
        if index < 2:
            features = np.maximum(features, 0)
    np.testing.assert_allclose(found, features, rtol=1e-5, atol=1e-6)
    assert (found.numpy() < 0).any()  # the output is not cut off
    assert encoder.compute_output_shape((None, 1, 1, 2)) == (None, 3)


def test_sizes_of_the_paper():
    encoder = MLP()
    encoder.build((None, 1, 1, 2))
    assert [tuple(layer.kernel.shape) for layer in encoder.dense_layers] == [
        (2, 32),
        (32, 32),
        (32, 4),
    ]


def test_the_seed_decides_the_weights():
    def weights(seed):
        encoder = MLP(seed=seed)
        encoder.build((None, 1, 1, 2))
        return [layer.kernel.numpy() for layer in encoder.dense_layers]

    for one, same, other in zip(weights(1), weights(1), weights(2), strict=True):
        np.testing.assert_array_equal(one, same)
        assert np.abs(one - other).max() > 0


def test_weight_decay_is_half_the_squares_of_the_kernels():
    encoder = MLP(weight_decay=0.2)
    encoder(tf.zeros([1, 1, 1, 2]))
    squares = sum(np.sum(layer.kernel.numpy() ** 2) for layer in encoder.dense_layers)
    assert float(tf.add_n(encoder.losses)) == pytest.approx(0.1 * squares, rel=1e-5)


def test_images_of_any_size_are_flattened():
    assert MLP(size=7)(tf.zeros([2, 4, 3, 1])).shape == (2, 7)


@pytest.mark.parametrize("dataset", ["spiral", "gaussian_circles"])
def test_points_reach_it_unscaled(dataset):
    config = protocols.protocol(protocols.Task(dataset, "prwn"))
    model = build.build_model(config)
    points = np.random.default_rng(0).normal(size=(5, 1, 1, 2)).astype(np.float32)
    np.testing.assert_allclose(model(points), model.encoder(points))
