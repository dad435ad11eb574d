"""What we know of keras.applications is so, and every network of it is an encoder."""

import hashlib
import itertools
import shutil

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras.src.legacy.saving import legacy_h5_format
from keras.src.utils import file_utils

from prwn_tf import backbones
from prwn_tf.backbones import BackboneConfig
from prwn_tf.encoders.backbone import Backbone

FAMILIES = (
    *("ConvNeXt", "DenseNet", "EfficientNetB", "EfficientNetV2", "Inception"),
    *("MobileNet", "NASNet", "ResNet", "VGG", "Xception"),
)
OURS = backbones.networks()


def test_the_names_are_those_of_keras():
    theirs = {name for name in vars(keras.applications) if name[0].isupper()}
    assert set(OURS) == theirs
    assert theirs == {name for name in theirs if name.startswith(FAMILIES)}


@pytest.fixture
def asked(monkeypatch) -> list[tuple]:
    """Has Keras build every network as with published weights, and notes which."""
    files = []

    def get_file(name, url, cache_subdir, file_hash=None):
        files.append((name, url, file_hash or ""))

    monkeypatch.setattr(file_utils, "get_file", get_file)
    monkeypatch.setattr(keras.Model, "load_weights", lambda *_: None)
    # The largest have 350 million numbers, which nobody looks at here.
    monkeypatch.setattr(keras.initializers.VarianceScaling, "__call__", _zeros)
    return files


def _zeros(self, shape, dtype=None):
    return keras.ops.zeros(shape, dtype)


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.filterwarnings("ignore")  # Keras warns of sizes without published weights
def test_every_network_is_an_encoder(family, asked, monkeypatch):
    names = [name for name in OURS if name.startswith(family)]
    for name in names:
        ours = OURS[name]
        constructor = getattr(keras.applications, name)

        def published(constructor=constructor, **options):
            return constructor(**options | {"weights": "imagenet"})

        published.__module__ = constructor.__module__
        monkeypatch.setattr(keras.applications, name, published)
        encoder = Backbone(f"keras:{name}", BackboneConfig())
        encoder.build((None, 28, 28, 1))
        assert encoder.network.input_shape[1] == ours.smallest
        assert encoder.network.count_params() == ours.parameters
        assert asked.pop() == (ours.file, ours.url, ours.hash)
        if name == names[0]:  # its sisters prepare images in the same way
            assert encoder(np.zeros([1, 28, 28, 1], np.float32)).shape[0] == 1
        assert _unseen_by_checkpoints(encoder) <= {"seed_generator_state"}
        keras.backend.clear_session()


def _unseen_by_checkpoints(encoder: Backbone) -> set[str]:
    """The variables that `weights.restore` would leave as they were drawn."""
    seen = {id(each) for each in tf.train.TrackableView(encoder).descendants()}
    return {each.name for each in encoder.variables if id(each) not in seen}


@pytest.mark.slow
def test_a_network_is_the_one_that_keras_loads(tmp_path, monkeypatch):
    """EfficientNetB0, where Keras has a layer more if it loads published weights.

    Its file is one that the test draws, in the format of the published ones.
    """
    name = "EfficientNetB0"
    drawn = getattr(keras.applications, name)(include_top=False, weights=None)
    scales = itertools.cycle([0.9, 1.1])
    drawn.set_weights([next(scales) * value for value in drawn.get_weights()])
    file = tmp_path / "models" / OURS[name].file
    file.parent.mkdir()
    with legacy_h5_format.h5py.File(file, "w") as content:
        legacy_h5_format.save_weights_to_hdf5_group(content, drawn)
    monkeypatch.setenv("KERAS_HOME", str(tmp_path))
    digest = hashlib.md5(file.read_bytes()).hexdigest()
    monkeypatch.setitem(OURS, name, OURS[name]._replace(hash=digest))
    encoder = Backbone(f"keras:{name}", BackboneConfig())
    encoder.build((None, 32, 32, 3))
    encoder.initialize()
    by_path = Backbone(f"keras:{name}", BackboneConfig(weights=str(file)))
    by_path.build((None, 32, 32, 3))
    by_path.initialize()

    monkeypatch.setattr(file_utils, "get_file", lambda *_, **__: str(file))
    theirs = getattr(keras.applications, name)(include_top=False, pooling="avg")
    images = np.random.default_rng(0).random((2, 32, 32, 3), np.float32)
    expected = theirs(255 * images)
    for ours in (encoder, by_path):
        np.testing.assert_allclose(ours(images), expected, rtol=1e-3, atol=1e-5)
    shutil.rmtree(file.parent)
