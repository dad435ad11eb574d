"""Presets of keras_hub as encoders, where that package is installed."""

import numpy as np
import pytest

from prwn_tf.backbones import BackboneConfig
from prwn_tf.encoders.backbone import Backbone
from prwn_tf.errors import UserError

keras_hub = pytest.importorskip("keras_hub")
KINDS = {
    "map": lambda: keras_hub.models.VGGBackbone(
        stackwise_num_repeats=[1, 1], stackwise_num_filters=[4, 6]
    ),
    "tokens": lambda: keras_hub.models.ViTBackbone(
        image_shape=(32, 32, 3),
        patch_size=8,
        num_layers=1,
        num_heads=2,
        hidden_dim=6,
        mlp_dim=8,
    ),
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_preset_in_a_folder(kind, tmp_path):
    network = KINDS[kind]()
    network.save_to_preset(tmp_path)
    converter = keras_hub.layers.ImageConverter(
        image_size=(32, 32), scale=1 / 127.5, offset=-1.0
    )
    converter.save_to_preset(tmp_path)
    encoder = Backbone(f"keras_hub:{tmp_path}", BackboneConfig())
    encoder.build((None, 32, 32, 1))
    assert encoder.compute_output_shape((None, 32, 32, 1)) == (None, 6)
    encoder.initialize()
    images = np.random.default_rng(0).random((2, 32, 32, 1), np.float32)
    features = network.predict(np.repeat(2 * images - 1, 3, axis=-1), verbose=0)
    expected = features[:, 0] if kind == "tokens" else features.mean(axis=(1, 2))
    np.testing.assert_allclose(encoder(images), expected, rtol=1e-4, atol=1e-5)


def test_a_preset_that_is_not_there():
    with pytest.raises(UserError, match=r"keras_hub:./nowhere cannot be loaded"):
        Backbone("keras_hub:./nowhere", BackboneConfig()).build((None, 32, 32, 3))
