"""The fast and the thin block are the plain one, to the last digits of float64."""

import numpy as np
import pytest
import tensorflow as tf

from prwn_tf.data.formats import archives
from prwn_tf.data.sets import omniglot
from prwn_tf.encoders.conv_block import ConvBlock
from prwn_tf.encoders.fast_block import fast_block
from prwn_tf.encoders.policy import policy_scope
from prwn_tf.encoders.thin_block import thin_block

EPSILON = 1e-5


def plain_block(images, kernel, scale, offset):
    features = tf.nn.conv2d(images, kernel, 1, "SAME")
    mean, variance = tf.nn.moments(features, [0, 1, 2])
    features = tf.nn.batch_normalization(
        features, mean, variance, offset, scale, EPSILON
    )
    activations = tf.nn.max_pool2d(tf.nn.relu(features), 2, 2, "VALID")
    return activations, mean, variance


def arguments(images, channels=8, seed=0):
    generator = np.random.default_rng(seed)
    scale = generator.normal(size=channels)
    assert (scale < 0).any()
    assert (scale > 0).any()
    return tuple(
        tf.constant(part, tf.float64)
        for part in (
            images,
            generator.normal(size=(3, 3, images.shape[-1], channels)),
            scale,
            generator.normal(size=channels),
        )
    )


def with_gradients(function, inputs):
    """The outputs, and the gradients of a random combination of the activations."""

    @tf.function(autograph=False)
    def run(*inputs):
        with tf.GradientTape() as tape:
            tape.watch(inputs)
            outputs = function(*inputs)
            weights = tf.random.stateless_normal(
                tf.shape(outputs[0]), [0, 1], dtype=tf.float64
            )
            total = tf.reduce_sum(weights * outputs[0])
        return *outputs, *tape.gradient(total, inputs)

    return run(*inputs)


def fast_block_from(pilot):
    """The fast block with a guess of the mean."""
    guess = tf.fill([8], tf.constant(pilot, tf.float64))
    return lambda *args: fast_block(*args, guess, EPSILON)


def assert_same(images, pilots=(0.0,)):
    inputs = arguments(images)
    plain = with_gradients(plain_block, inputs)
    blocks = {f"fast from {pilot}": fast_block_from(pilot) for pilot in pilots}
    blocks["thin"] = lambda *args: thin_block(*args, EPSILON)
    names = ("activations", "mean", "variance", "images", "kernel", "scale", "offset")
    for kind, block in blocks.items():
        found = with_gradients(block, inputs)
        for name, ours, theirs in zip(names, found, plain, strict=True):
            difference = np.max(np.abs(ours - theirs)) / np.max(np.abs(theirs))
            assert difference < 1e-9, f"{kind}: {name} differs by {difference:.1e}"


@pytest.mark.parametrize(
    ("height", "width"),
    [
        pytest.param(28, 28, marks=pytest.mark.slow),
        (7, 7),
        (3, 3),
        (21, 10),
        (2, 2),
    ],
)
def test_same_as_plain(height, width):
    images = np.random.default_rng(1).normal(size=(6, height, width, 3))
    assert_same(images, pilots=(0.0, 3.0))


def test_same_on_images_with_large_blank_parts():
    images = np.random.default_rng(1).random((6, 28, 28, 1))
    images[:, 5:] = 0
    assert_same(images)


def test_same_on_real_drawings(omniglot_archive):
    drawings = []
    for name, content in archives.members(omniglot_archive):
        if name.endswith(".png"):
            image = tf.io.decode_png(content, channels=1).numpy()[..., 0]
            drawings.append(omniglot.shrink(image) / 255)
        if len(drawings) == 20:
            break
    assert_same(np.stack(drawings)[..., None])


@pytest.mark.parametrize("kind", ["fast", "thin"])
def test_keeps_the_digits_of_a_small_variance(kind):
    images = np.random.default_rng(0).normal(1000.0, 0.01, size=(4, 8, 8, 1))
    kernel = np.zeros((3, 3, 1, 1))
    kernel[1, 1] = 1  # the convolution is the image itself
    *inputs, pilot = (
        tf.constant(part, tf.float32)
        for part in (images, kernel, np.ones(1), np.zeros(1), np.full(1, 1000.0))
    )
    if kind == "fast":
        output = fast_block(*inputs, pilot, EPSILON)
    else:
        output = thin_block(*inputs, EPSILON)
    expected = np.var(images.astype(np.float32))
    assert float(output.variance[0]) == pytest.approx(expected, rel=0.01)


@pytest.mark.parametrize("channels", [3, 4])
def test_half_precision_rounds_and_nothing_else(channels):
    images = np.random.default_rng(0).random((9, 14, 14, channels)).astype(np.float32)
    outputs = {}
    for policy in ("float32", "mixed_bfloat16"):
        block = ConvBlock(16, weight_decay=0.0, seed=3, fast=True, dtype=policy)
        with policy_scope(policy):
            block.build(images.shape)
        with tf.GradientTape() as tape:
            output = block(images, training=True)
            total = tf.reduce_sum(tf.cast(output, tf.float32) ** 3)
        gradients = tape.gradient(total, [v.value for v in block.trainable_variables])
        at_test = block(images, training=False)
        assert output.dtype == at_test.dtype == block.compute_dtype
        outputs[policy] = [output, *gradients, *block.variables, at_test]
    for half, whole in zip(*reversed(outputs.values()), strict=True):
        half, whole = tf.cast(half, tf.float32), tf.cast(whole, tf.float32)
        # Eight bits, and now and then another winner of a window.
        assert np.linalg.norm(half - whole) <= 0.03 * np.linalg.norm(whole)


@pytest.mark.parametrize("channels", [3, 4])
def test_block_updates_the_same_averages_and_gradients(channels):
    images = np.random.default_rng(0).random((5, 14, 14, channels)).astype(np.float32)
    found = {}
    for fast in (False, True):
        block = ConvBlock(4, weight_decay=0.0, seed=3, fast=fast)
        block.build(images.shape)
        with tf.GradientTape() as tape:
            output = block(images, training=True)
            total = tf.reduce_sum(output * output)
        gradients = tape.gradient(total, [v.value for v in block.trainable_variables])
        found[fast] = [output, *gradients, *block.variables]
    for ours, theirs in zip(found[True], found[False], strict=True):
        largest = float(np.max(np.abs(theirs)))
        np.testing.assert_allclose(ours, theirs, rtol=1e-3, atol=1e-4 * largest)


def test_block_of_constant_images_is_finite():
    block = ConvBlock(4, weight_decay=0.0, seed=0, fast=True)
    found = block(tf.ones([3, 8, 8, 1]), training=True)
    assert np.all(np.isfinite(found))


def penalty_gradients(function, inputs):
    """The gradients of how steep the activations are, as a gradient penalty has it."""
    with tf.GradientTape() as outer:
        outer.watch(inputs)
        with tf.GradientTape() as inner:
            inner.watch(inputs)
            total = tf.reduce_sum(function(*inputs)[0] ** 3)
        slopes = inner.gradient(total, inputs)
        penalty = tf.add_n([tf.reduce_sum(slope**2) for slope in slopes])
    return outer.gradient(penalty, inputs)


@pytest.mark.parametrize("graph", [False, True])
@pytest.mark.parametrize("kind", ["fast", "thin"])
def test_gradients_of_gradients(kind, graph):
    inputs = arguments(np.random.default_rng(0).normal(size=(3, 6, 6, 2)))
    block = {
        "fast": fast_block_from(0.3),
        "thin": lambda *args: thin_block(*args, EPSILON),
    }[kind]
    run = (
        tf.function(penalty_gradients, autograph=False) if graph else penalty_gradients
    )
    expected = penalty_gradients(plain_block, inputs)
    for ours, theirs in zip(run(block, inputs), expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-8, atol=1e-8)
