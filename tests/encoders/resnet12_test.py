"""ResNet-12 and DropBlock against their oracles, counted, measured and resumed."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from prwn_tf import build
from prwn_tf.config import EpisodeSpec, TrainConfig
from prwn_tf.encoders.drop_block import DropBlock
from prwn_tf.encoders.resnet12 import ResNet12
from prwn_tf.episodes.pipeline import Episode
from prwn_tf.parts import ResNet12Config
from prwn_tf.training.checkpoints import Checkpoints
from tests import modes
from tests.oracle import resnet as oracle


def images(number, size, channels=1, seed=0) -> np.ndarray:
    generator = np.random.default_rng(seed)
    return generator.random((number, size, size, channels)).astype(np.float32)


@pytest.mark.parametrize(
    ("widest", "widths", "count"),
    [
        (640, (64, 160, 320, 640), 12_424_320),
        (512, (64, 128, 256, 512), 7_996_800),
    ],
)
def test_parameters_are_as_many_as_published(widest, widths, count):
    encoder = ResNet12(widest=widest)
    encoder.build((None, 84, 84, 3))
    shapes = [tuple(variable.shape) for variable in encoder.trainable_variables]
    assert sum(map(np.prod, shapes)) == oracle.parameter_count(widths) == count
    assert sorted(shapes) == sorted(shape for _, shape in oracle.layer_list(widths))
    assert encoder.compute_output_shape((None, 84, 84, 3)) == (None, widest)
    assert encoder.feature_shape == (1, 1, widest)


@pytest.mark.parametrize(("channels", "length"), [(4, 40), (2, 20)])
def test_size_of_embeddings(channels, length):
    encoder = ResNet12(channels)
    for size in (16, 28):
        assert encoder(tf.zeros([2, size, size, 1])).shape == (2, length)


def norm_weights(norm: keras.layers.BatchNormalization, training: bool) -> list:
    learned = [norm.gamma, norm.beta]
    moving = [] if training else [norm.moving_mean, norm.moving_variance]
    return [variable.numpy() for variable in (*learned, *moving)]


def block_weights(block, training: bool) -> tuple:
    """The weights of a block as the oracle takes them."""
    return (
        [convolution.kernel.numpy() for convolution, _ in block.main_path],
        [norm_weights(norm, training) for _, norm in block.main_path],
        block.shortcut.kernel.numpy()[0, 0],
        norm_weights(block.shortcut_norm, training),
    )


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("mode", modes.MODES)
def test_matches_oracle(mode, training):
    encoder, batch = ResNet12(channels=2, dropout=0.0), images(3, 18)
    encoder(batch, training=True)  # moves the averages away from 0 and 1
    weights = [block_weights(block, training) for block in encoder.blocks]
    expected = oracle.resnet12_forward(batch, weights)
    embeddings = modes.run(mode, lambda x: encoder(x, training=training), batch)
    np.testing.assert_allclose(embeddings, expected, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize(
    ("scale", "temperature", "factor"), [(0.25, 0.0, 0.25), (0.0, 25.0, 0.2)]
)
def test_a_trained_encoder_is_multiplied_by_the_scale(scale, temperature, factor):
    encoder, batch = ResNet12(2, scale=scale), images(3, 18)
    encoder.build((None, 18, 18, 1))
    last = encoder.blocks[-1]
    for norm in (last.norm_3, last.shortcut_norm):  # as training leaves them
        norm.beta.assign(np.linspace(-1, 1, 20))
    before = encoder(batch)
    encoder.adopt(temperature)
    np.testing.assert_allclose(encoder(batch), factor * before, rtol=1e-5)


def test_embeddings_start_as_near_as_those_of_64_numbers():
    published, even = ResNet12(16), ResNet12(16, scale=0)  # D = 160
    batch = images(3, 18)
    np.testing.assert_allclose(even(batch), 0.4**0.5 * published(batch), rtol=1e-5)


def test_moving_averages_keep_nine_tenths():
    encoder, batch = ResNet12(channels=2), images(3, 16)
    encoder(batch, training=True)
    first = encoder.blocks[0]
    features = oracle.pointwise(batch, first.shortcut.kernel.numpy()[0, 0])
    mean = features.mean((0, 1, 2))
    np.testing.assert_allclose(first.shortcut_norm.moving_mean, 0.1 * mean, rtol=1e-3)


def test_first_weights():
    encoders = [ResNet12(channels=16, seed=seed) for seed in (0, 0, 1)]
    for encoder in encoders:
        encoder.build((None, 16, 16, 3))
    first, same, other = (
        [v.numpy() for v in encoder.trainable_variables if len(v.shape) == 4]
        for encoder in encoders
    )
    assert len({kernel.tobytes() for kernel in (*first, *other)}) == 32
    for kernel, again in zip(first, same, strict=True):
        np.testing.assert_array_equal(kernel, again)
    for kernel in first[-4:]:
        fan_out = kernel.shape[0] * kernel.shape[1] * kernel.shape[3]
        assert np.std(kernel) == pytest.approx(np.sqrt(2 / fan_out), rel=0.03)


def test_weight_decay_is_half_the_squared_kernels():
    encoder = ResNet12(channels=2, weight_decay=0.01)
    encoder.build((None, 16, 16, 1))
    kernels = [v for v in encoder.trainable_variables if len(v.shape) == 4]
    expected = 0.005 * sum(np.sum(np.square(kernel)) for kernel in kernels)
    assert float(sum(encoder.losses)) == pytest.approx(expected, rel=1e-5)


def test_nothing_is_dropped_at_test_time_nor_by_a_rate_of_zero():
    batch = images(2, 16)
    encoder = ResNet12(channels=2)
    np.testing.assert_array_equal(encoder(batch), encoder(batch))
    drops = [block.drop for block in encoder.blocks[2:]]
    assert [int(drop.batches) for drop in drops] == [0, 0]
    encoder(batch, training=True)
    assert [int(drop.batches) for drop in drops] == [1, 1]
    calm = ResNet12(channels=2, dropout=0.0)
    both = [calm(batch, training=True).numpy() for _ in range(2)]
    np.testing.assert_array_equal(*both)


def dropping(batches: int, **options) -> DropBlock:
    """A layer that has seen some batches, with what it is called for to come."""
    layer = DropBlock(**options)
    layer.build((None, 8, 8, 1))
    layer.batches.assign(batches)
    return layer


@pytest.mark.parametrize("mode", modes.MODES)
@pytest.mark.parametrize("size", [10, 5])
def test_drop_block_matches_oracle(mode, size):
    layer = dropping(2_999, rate=0.3, ramp=4_000, seed=7)
    features = images(4, size, channels=6)
    dropped = modes.run(mode, lambda x: layer(x, training=True), features)
    places = size - 5 + 1
    # Compiled, other numbers are drawn.
    drawn = modes.run(
        mode,
        lambda seed: tf.random.stateless_uniform([4, places, places, 6], seed),
        tf.constant([7, 3_000]),
    )
    keep = oracle.keep_probability(3_000, rate=0.3, ramp=4_000)
    seeds = drawn.numpy() < oracle.drop_gamma(keep, size)
    assert 0 < seeds.sum() < seeds.size
    expected = oracle.drop_block(features, seeds)
    np.testing.assert_allclose(dropped, expected, rtol=1e-5)


@pytest.mark.parametrize("size", [10, 5])
@pytest.mark.parametrize("batches", [20_000, 40_000, 90_000])
def test_the_share_that_is_dropped_grows_to_its_rate(size, batches):
    layer = dropping(batches - 1)
    ones = tf.ones([200, size, size, 100])
    dropped = layer(ones, training=True).numpy()
    share = np.mean(dropped == 0)
    keep = oracle.keep_probability(batches)
    gamma = oracle.drop_gamma(keep, size)
    assert share == pytest.approx(oracle.expected_drop(gamma, size), rel=0.05)
    assert share == pytest.approx(0.1 * min(1, batches / 40_000), rel=0.15)
    assert dropped.mean() == pytest.approx(1, rel=1e-4)  # the rest makes up for it
    if size == 5:
        maps = dropped.transpose(0, 3, 1, 2).reshape(-1, 25)
        assert all(len(set(each)) == 1 for each in maps)


def test_hardly_anything_is_dropped_at_first():
    ones = tf.ones([100, 10, 10, 100])
    assert np.mean(dropping(0)(ones, training=True) == 0) < 1e-4


def test_maps_smaller_than_a_square_are_dropped_whole():
    dropped = dropping(40_000, rate=0.5)(tf.ones([50, 1, 3, 20]), training=True).numpy()
    assert 0.4 < np.mean(dropped == 0) < 0.6


def test_every_batch_draws_anew_and_the_seed_decides():
    ones = tf.ones([4, 10, 10, 8])

    def two(seed) -> list[np.ndarray]:
        layer = dropping(40_000, seed=seed)
        return [layer(ones, training=True).numpy() for _ in range(2)]

    first, same, other = two(0), two(0), two(1)
    assert not np.array_equal(*first)
    np.testing.assert_array_equal(first, same)
    assert not np.array_equal(first, other)


def config(seed: int) -> TrainConfig:
    """A run of a ResNet-12 that soon drops much."""
    spec = EpisodeSpec(way=2, shot=1, query=1, unlabeled=1)
    return TrainConfig(
        dataset="glyphs",
        method="prwn",
        train=spec,
        test=spec,
        image_shape=(16, 16, 1),
        encoder="resnet12",
        channels=2,
        resnet12=ResNet12Config(dropout=0.3, ramp=8),
        seed=seed,
    )


def episode(index: int) -> Episode:
    pixels = images(6, 16, seed=index)
    parts = (pixels[:2, None], pixels[2:4, None], pixels[4:])
    return Episode(*map(tf.constant, parts), index=tf.constant(index))


def test_every_variable_learns_and_a_checkpoint_holds_what_is_random(tmp_path):
    model = build.trainable_model(config(seed=0))
    before = [variable.numpy() for variable in model.trainable_variables]
    for index in range(2):
        model.train_step(episode(index))
    for variable, old in zip(model.trainable_variables, before, strict=True):
        assert np.abs(variable.numpy() - old).max() > 0, variable.path
    Checkpoints(tmp_path, model).save(2)
    other = build.trainable_model(config(seed=0))
    assert Checkpoints(tmp_path, other).restore().step == 2
    assert int(other.encoder.block_3.drop.batches) == 4  # unlabelled ones are a batch
    for each in (model, other):
        each.train_step(episode(2))
    for now, expected in zip(other.variables, model.variables, strict=True):
        np.testing.assert_array_equal(now, expected)
