"""The generator: any size of image, a task and noise in, an image out."""

import numpy as np
import pytest
import tensorflow as tf

from prwn_tf.regularizers.generator import (
    Generator,
    convolve_enlarged,
    enlarged,
    map_sizes,
)
from tests import modes


def build(shape=(12, 8, 1), seed=0) -> Generator:
    generator = Generator(shape, noise=3, channels=4, seed=seed)
    generator.build()
    return generator


def images(seed=0, count=4, shape=(12, 8, 1)) -> np.ndarray:
    return np.random.default_rng(seed).random((count, *shape), np.float32)


def noise(seed=0, count=5) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(count, 3)).astype(np.float32)


def test_maps_are_halved_until_they_are_small():
    assert map_sizes(28, 28) == [(28, 28), (14, 14), (7, 7), (4, 4)]
    assert [size for size, _ in map_sizes(84, 84)] == [84, 42, 21, 11, 6, 3]
    assert map_sizes(5, 20) == [(5, 20), (3, 10), (2, 5), (1, 3)]


def test_enlarged_by_two_and_cut():
    maps = tf.reshape(tf.range(4.0), [1, 2, 2, 1])
    found = enlarged(maps, 4, 3)[0, :, :, 0]
    np.testing.assert_array_equal(found, [[0, 0, 1], [0, 0, 1], [2, 2, 3], [2, 2, 3]])


@pytest.mark.parametrize("mode", modes.MODES)
def test_an_enlarged_map_is_convolved_without_being_made(mode):
    rng = np.random.default_rng(0)
    maps, kernel = rng.normal(size=(2, 3, 4, 2)), rng.normal(size=(5, 5, 2, 3))

    def gradients(convolve):
        def both(maps, kernel):
            with tf.GradientTape() as tape:
                tape.watch([maps, kernel])
                drawn = convolve(maps, kernel)
                loss = tf.reduce_sum(tf.sin(drawn))
            return drawn, *tape.gradient(loss, [maps, kernel])

        return modes.run(mode, both, tf.constant(maps), tf.constant(kernel))

    expected = gradients(
        lambda maps, kernel: tf.nn.conv2d(enlarged(maps, 6, 8), kernel, 1, "SAME")
    )
    found = gradients(convolve_enlarged)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-12)


@pytest.mark.parametrize("shape", [(8, 8, 1), (9, 20, 3), (28, 28, 1), (33, 33, 2)])
def test_any_size(shape):
    drawn = build(shape)(images(shape=shape), noise())
    assert drawn.shape == (5, *shape)
    assert 0 <= np.min(drawn) < np.max(drawn) <= 1


def test_half_precision_rounds_and_nothing_else():
    rounded = Generator((28, 28, 1), channels=4, policy="mixed_bfloat16")
    rounded.build()
    exact = Generator((28, 28, 1), channels=4)
    exact.build()
    given = images(shape=(28, 28, 1)), tf.random.stateless_normal([5, 100], [0, 0])
    assert rounded(*given).dtype == tf.float32
    gap = np.abs(rounded(*given) - exact(*given))
    assert 0 < gap.max() < 0.1


def test_its_sizes_at_28_pixels_are_those_described():
    generator = Generator((28, 28, 1))
    generator.build()
    kernels = [v.shape for v in generator.trainable_variables if len(v.shape) == 4]
    encoded = [shape[-1] for shape in kernels if shape[0] == 3]
    drawn = [shape[-1] for shape in kernels if shape[0] == 5]
    assert (encoded, drawn) == ([64, 64, 128, 128, 256, 256], [128, 64, 1])
    assert generator.task_layer.units == 256
    assert generator.first_layer.units == 7 * 7 * 256
    assert generator.count_params() == 7_697_089
    large = Generator((84, 84, 3))
    large.build()
    assert large.count_params() < 7_697_089


@pytest.mark.parametrize("mode", modes.MODES)
def test_the_task_is_the_mean_over_the_support(mode):
    generator, support = build(), images()
    found = modes.run(mode, generator, support, noise())
    swapped = modes.run(mode, generator, support[::-1], noise())
    np.testing.assert_allclose(found, swapped, atol=1e-5)
    single = [generator.task(image[None]) for image in support]
    np.testing.assert_allclose(
        generator.task(support), np.mean(single, axis=0), atol=1e-5
    )


def test_task_noise_and_seed_all_count():
    drawn = [
        build(seed=seed)(images(task), noise(draws)).numpy()
        for seed, task, draws in [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)]
    ]
    for other in drawn[1:]:
        assert np.abs(other - drawn[0]).max() > 1e-3
    assert np.std(drawn[0], axis=0).max() > 1e-3  # five draws of noise


def test_no_two_layers_start_alike():
    """Of one seed, nor of two."""
    kernels = [
        tuple(np.ravel(v)[:3].tolist())
        for seed in (0, 1)
        for v in build(seed=seed).trainable_variables
        if len(v.shape) > 1
    ]
    assert len(set(kernels)) == len(kernels)
