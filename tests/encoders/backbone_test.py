"""Networks of Keras as encoders: preprocessing, freezing, weights."""

import pathlib
import random

import keras
import numpy as np
import pytest
import tensorflow as tf

from prwn_tf import backbones
from prwn_tf.backbones import BackboneConfig
from prwn_tf.encoders import networks, published
from prwn_tf.encoders.backbone import Backbone
from prwn_tf.errors import UserError

SMALL = "keras:MobileNetV3Small"
SIZE = 32
NORMAL = "moving_mean"


def built(network=SMALL, shape=(SIZE, SIZE, 3), **settings) -> Backbone:
    settings = {"weights": "none"} | settings
    encoder = Backbone(network, BackboneConfig(**settings), weight_decay=0.1, seed=3)
    encoder.build((None, *shape))
    return encoder


@pytest.fixture(scope="module")
def encoder() -> Backbone:
    """The small network as it is drawn, for tests that leave it as it is."""
    return built()


def some_images(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).random(shape, np.float32)


def bytes_as_they_are(pixels: np.ndarray) -> np.ndarray:
    return pixels


def from_minus_one(pixels: np.ndarray) -> np.ndarray:
    return pixels / 127.5 - 1


def blue_first(pixels: np.ndarray) -> np.ndarray:
    return pixels[..., ::-1] - np.array([103.939, 116.779, 123.68])


def normalized(pixels: np.ndarray) -> np.ndarray:
    return (pixels / 255 - [0.485, 0.456, 0.406]) / [0.229, 0.224, 0.225]


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("MobileNetV3Small", bytes_as_they_are),
        ("MobileNet", from_minus_one),
        ("VGG16", blue_first),
        pytest.param("DenseNet121", normalized, marks=pytest.mark.slow),
        pytest.param("ResNet50V2", from_minus_one, marks=pytest.mark.slow),
        pytest.param("ResNet50", blue_first, marks=pytest.mark.slow),
    ],
)
def test_pixels_are_brought_to_the_range_of_the_network(name, wanted):
    encoder = built(f"keras:{name}")
    images = some_images(2, SIZE, SIZE, 3)
    expected = encoder.network(tf.constant(wanted(255 * images), tf.float32))
    np.testing.assert_allclose(encoder(images), expected, rtol=1e-4, atol=1e-5)
    assert encoder.feature_shape == (1, 1, expected.shape[-1])


def test_gray_is_repeated_and_small_images_are_enlarged(encoder):
    gray = built(shape=(28, 28, 1))
    assert gray.network.input_shape == (None, SIZE, SIZE, 3)
    assert gray.compute_output_shape((None, 28, 28, 1)) == (None, 576)
    images = some_images(2, 28, 28, 1)
    large = tf.image.resize(tf.repeat(images, 3, axis=-1), [SIZE, SIZE])
    np.testing.assert_allclose(gray(images), encoder(large), atol=1e-5)


def test_a_size_of_ones_own():
    encoder = built("keras:MobileNet", size=48)
    assert encoder.network.input_shape[1:3] == (48, 48)
    assert encoder(some_images(1, SIZE, SIZE, 3)).shape == (1, 1024)


def test_a_seed_draws_all_weights(encoder):
    random.seed(5)
    expected = random.random()
    random.seed(5)
    again = built()
    assert random.random() == expected  # whoever draws else is not disturbed
    for one, other in zip(encoder.get_weights(), again.get_weights(), strict=True):
        np.testing.assert_array_equal(one, other)


def test_kernels_alone_decay(encoder):
    kernels = [v for v in encoder.trainable_variables if v.regularizer]
    assert {variable.name for variable in kernels} == {"kernel"}
    expected = sum(0.05 * np.sum(np.square(kernel)) for kernel in kernels)
    np.testing.assert_allclose(tf.add_n(encoder.losses), expected, rtol=1e-4)


def test_a_frozen_network_answers_in_training_as_in_a_test():
    encoder = built(trainable="none")
    images = some_images(4, SIZE, SIZE, 3)
    before = encoder.get_weights()
    expected = encoder(images)
    np.testing.assert_array_equal(encoder(images, training=True), expected)
    for one, other in zip(before, encoder.get_weights(), strict=True):
        np.testing.assert_array_equal(one, other)
    assert not encoder.trainable_variables
    assert not encoder.losses


def test_the_last_layers_learn_and_the_others_keep_their_averages():
    encoder = built(trainable="last:2")
    [kernel, gamma, beta] = encoder.trainable_variables
    assert kernel.shape[-1] == gamma.shape[0] == beta.shape[0] == 576
    averages = [v for v in encoder.variables if v.name == NORMAL]
    before = [average.numpy() for average in averages]
    encoder(some_images(4, SIZE, SIZE, 3), training=True)
    moved = [
        bool((average.numpy() != value).any())
        for average, value in zip(averages, before, strict=True)
    ]
    assert moved == [False] * (len(moved) - 1) + [True]


@pytest.mark.slow
def test_nothing_is_dropped_from_a_frozen_layer():
    encoder = built("keras:EfficientNetB0", trainable="last:11")
    drops = [
        layer.rate
        for layer in encoder.network.layers
        if isinstance(layer, keras.layers.Dropout)
    ]
    assert drops.count(0) == len(drops) - 1  # one is behind the eleventh


class Block(keras.layers.Layer):
    """A layer of layers, as networks of keras_hub have them."""

    def __init__(self):
        super().__init__()
        self.dense, self.drop = keras.layers.Dense(4), keras.layers.Dropout(0.5)
        self.branch = DropPath()

    def call(self, images, training=False):
        return self.branch(self.drop(self.dense(images), training=training))


class DropPath(keras.layers.Layer):
    """One of the layers of keras_hub that drop whole images."""

    def __init__(self):
        super().__init__()
        self.drop_prob = 0.2

    def call(self, images):
        return images


def test_nothing_is_dropped_inside_of_a_frozen_layer(monkeypatch):
    inputs = keras.Input((SIZE, SIZE, 3))
    first, last = Block(), Block()
    pooled = keras.layers.GlobalAveragePooling2D()(last(first(inputs)))
    made = networks.Built(keras.Model(inputs, pooled), lambda pixels: pixels)
    monkeypatch.setattr(networks, "build", lambda name, shape: made)
    built(trainable="last:1")
    assert (first.drop.rate, last.drop.rate) == (0, 0.5)
    assert (first.branch.drop_prob, last.branch.drop_prob) == (0, 0.2)


def test_more_layers_than_there_are():
    with pytest.raises(UserError, match=r"last:99 asks for more layers than the \d\d"):
        built(trainable="last:99")


@pytest.fixture(scope="module")
def written(encoder, tmp_path_factory) -> pathlib.Path:
    """The weights of the small network, all a little larger than drawn."""
    path = tmp_path_factory.mktemp("weights") / "mine.weights.h5"
    before = encoder.get_weights()
    encoder.set_weights([value + 0.5 for value in before])
    encoder.network.save_weights(path)
    encoder.set_weights(before)
    return path


@pytest.mark.parametrize("trainable", ["all", "last:2"])
def test_a_file_of_weights(trainable, encoder, written):
    loaded = built(weights=str(written), trainable=trainable)
    learning = len(loaded.trainable_variables)
    loaded.initialize()
    assert len(loaded.trainable_variables) == learning
    for one, other in zip(encoder.get_weights(), loaded.get_weights(), strict=True):
        np.testing.assert_array_equal(one + 0.5, other)


def test_a_file_of_another_network(written):
    encoder = built("keras:MobileNet", weights=str(written))
    with pytest.raises(UserError, match="does not hold the weights of keras:MobileNet"):
        encoder.initialize()


def test_a_file_that_was_cut(written, tmp_path):
    path = tmp_path / "cut.weights.h5"
    path.write_bytes(written.read_bytes()[:5000])
    with pytest.raises(UserError, match="does not hold the weights of keras:Mobile"):
        built(weights=str(path)).initialize()


@pytest.mark.parametrize(
    ("name", "content"),
    [("mine.keras", b"PK\x03\x04"), ("mine.h5", b"PK\x03\x04"), ("x.h5", None)],
)
def test_what_holds_no_weights(name, content, tmp_path):
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(UserError, match=r"weights=.* no "):
        backbones.check_weights(str(tmp_path / name))


def offline(*arguments, **options):
    raise Exception("URL fetch failure on it: None -- no such host")  # as Keras does


def test_without_a_network_it_says_which_file_to_put_where(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.setenv("KERAS_HOME", str(tmp_path))
    monkeypatch.setattr(keras.utils, "get_file", offline)
    network = backbones.networks()["MobileNetV3Small"]
    with pytest.raises(UserError, match="no such host") as error:
        published.load(None, SMALL, "imagenet")
    path = tmp_path / "models" / network.file
    assert f"put {network.url} there yourself as {path}" in str(error.value)
    assert f"downloading its weights, 4 MB, to {path}" in capsys.readouterr().out
