"""A residual block's fused passes are the plain ones, to the last digits of float64."""

import numpy as np
import pytest
import tensorflow as tf

from prwn_tf.encoders import fast_norm
from prwn_tf.encoders.policy import policy_scope
from prwn_tf.encoders.resnet12 import ResNet12

EPSILON = 1e-5
SLOPES = (0.125, 1.0)  # of few bits, since TensorFlow keeps it in single precision


def numbers(*shape, seed=0) -> tf.Tensor:
    drawn = np.random.default_rng(seed).normal(size=shape)
    return tf.constant(drawn, tf.float64)


def norm_inputs(height, width, channels=6) -> tuple:
    features = 0.3 * numbers(4, height, width, channels) + 2.0
    return features, numbers(channels, seed=1), numbers(channels, seed=2)


def fast_norm_by(slope):
    pilot = tf.fill([6], tf.constant(1.5, tf.float64))
    return lambda *inputs: fast_norm.normalize(*inputs, pilot, EPSILON, slope)[0]


def plain_norm_by(slope):
    return lambda *inputs: fast_norm.plain_norm(*inputs, EPSILON, slope)


def first_gradients(function, inputs) -> list:
    """The output, and the gradients of a combination of it in which all differ."""
    with tf.GradientTape() as tape:
        tape.watch(inputs)
        output = function(*inputs)
        total = tf.reduce_sum(numbers(*output.shape, seed=3) * output)
    return [output, *tape.gradient(total, inputs)]


def penalty_gradients(function, inputs) -> list:
    """The gradients of how steep the output is, as a gradient penalty has it."""
    with tf.GradientTape() as outer:
        outer.watch(inputs)
        with tf.GradientTape() as inner:
            inner.watch(inputs)
            total = tf.reduce_sum(function(*inputs) ** 3)
        slopes = inner.gradient(total, inputs)
        penalty = tf.add_n([tf.reduce_sum(slope**2) for slope in slopes])
    return outer.gradient(penalty, inputs)


def assert_same(fast, plain, inputs, of) -> None:
    expected = of(plain, inputs)
    for ours, theirs in zip(of(fast, inputs), expected, strict=True):
        largest = float(np.max(np.abs(theirs)))
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-9 * largest)


@pytest.mark.parametrize("of", [first_gradients, penalty_gradients])
@pytest.mark.parametrize("slope", SLOPES)
@pytest.mark.parametrize(("height", "width"), [(5, 4), (1, 3)])
def test_norm_and_relu(height, width, slope, of):
    inputs = norm_inputs(height, width)
    assert_same(fast_norm_by(slope), plain_norm_by(slope), inputs, of)


@pytest.mark.parametrize("of", [first_gradients, penalty_gradients])
@pytest.mark.parametrize(("height", "width"), [(6, 4), (5, 7), (2, 2)])
def test_sum_relu_and_pool(height, width, of):
    inputs = numbers(3, height, width, 5, seed=1), numbers(3, height, width, 5, seed=2)
    fast, plain = (
        lambda main, shortcut, join=join: join(main, shortcut, 0.125)
        for join in (fast_norm.join, fast_norm.plain_join)
    )
    assert_same(fast, plain, inputs, of)


def test_statistics_keep_the_digits_of_a_small_variance():
    features = np.random.default_rng(0).normal(1000.0, 0.01, size=(4, 8, 8, 1))
    parts = (features, np.ones(1), np.zeros(1), np.full(1, 1000.0))
    inputs = (tf.constant(part, tf.float32) for part in parts)
    output = fast_norm.normalize(*inputs, EPSILON)
    expected = np.var(features.astype(np.float32))
    assert float(output.variance[0]) == pytest.approx(expected, rel=0.01)
    assert float(output.mean[0]) == pytest.approx(1000.0, rel=1e-5)


def trained(images, fast: bool, policy: str = "float32") -> list:
    """All that a step and a test of ResNet-12 leave, its gradients and averages too."""
    with policy_scope(policy):
        encoder = ResNet12(4, dropout=0.0, fast=fast)
        encoder.build(images.shape)
    with tf.GradientTape() as tape:
        output = encoder(images, training=True)
        total = tf.reduce_sum(tf.cast(output, tf.float32) ** 2)
    weights = [variable.value for variable in encoder.trainable_variables]
    left = [output, *tape.gradient(total, weights), encoder(images)]
    return [*left, *(v.value for v in encoder.non_trainable_variables if v.shape)]


def test_resnet_learns_and_answers_the_same():
    images = np.random.default_rng(0).random((6, 22, 18, 3)).astype(np.float32)
    for ours, theirs in zip(trained(images, True), trained(images, False), strict=True):
        largest = float(np.max(np.abs(theirs)))
        np.testing.assert_allclose(ours, theirs, rtol=1e-3, atol=1e-3 * largest)


def test_half_precision_rounds_and_nothing_else():
    # Of the size above, for which the exact one is compiled already.
    images = np.random.default_rng(0).random((6, 22, 18, 3)).astype(np.float32)
    output, *_ = trained(images, True, "mixed_bfloat16")
    assert output.dtype == tf.bfloat16
    expected, *_ = trained(images, True)
    gap = np.linalg.norm(tf.cast(output, tf.float32) - expected)
    assert gap <= 0.05 * np.linalg.norm(expected)


def test_answers_need_no_compiler_nor_known_sizes():
    encoder = ResNet12(2, fast=True)
    encoder.build((None, 16, 16, 3))
    shape = tf.TensorSpec([None, None, None, 3])
    traced = tf.function(encoder, autograph=False).get_concrete_function(shape)
    kinds = {operation.type for operation in traced.graph.get_operations()}
    assert not {kind for kind in kinds if "PartitionedCall" in kind}
    assert traced(tf.zeros([2, 20, 18, 3])).shape == (2, 20)


def test_a_frozen_norm_keeps_its_averages():
    encoder = ResNet12(2, dropout=0.0, fast=True)
    encoder.build((None, 16, 16, 3))
    encoder.trainable = False
    images = np.random.default_rng(0).random((3, 16, 16, 3)).astype(np.float32)
    np.testing.assert_allclose(encoder(images, training=True), encoder(images))
