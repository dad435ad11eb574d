"""Networks of Keras as they are built: without weights, and without their classes."""

import math
import sys
from collections.abc import Callable
from typing import NamedTuple

import keras
import tensorflow as tf

from prwn_tf import backbones
from prwn_tf.errors import UserError, first_line

Shape = tuple[int, int, int]


class Built(NamedTuple):
    """A network of Keras with random weights.

    Attributes:
        layers: from what it wants to embeddings: [B, H, W, 3] -> [B, D].
        prepare: from pixels, 0 to 255, to what it wants.
    """

    layers: keras.Model
    prepare: Callable[[tf.Tensor], tf.Tensor]


def build(name: str, shape: Shape) -> Built:
    """Returns a network for images of a shape, or if it takes but one, for those."""
    family, _, rest = name.partition(":")
    return _preset(rest, shape) if family == backbones.HUB else _network(rest, shape)


def _network(name: str, shape: Shape) -> Built:
    """Returns a network of keras.applications, its last map averaged."""
    constructor = getattr(keras.applications, name)
    layers = constructor(
        include_top=False, weights=None, input_shape=shape, pooling="avg"
    )
    return Built(layers, sys.modules[constructor.__module__].preprocess_input)


def _preset(name: str, shape: Shape) -> Built:
    """Returns the network that a preset of keras_hub describes."""
    import keras_hub

    network = load_preset(name, load_weights=False)
    inputs = network.input if isinstance(network.input, dict) else {"": network.input}
    if len(inputs) > 1 or not isinstance(network.output, keras.KerasTensor):
        raise UserError(
            f"keras_hub:{name} is no network from images to features: it takes "
            f"{', '.join(inputs)}; give another preset"
        )
    [[key, wanted]] = inputs.items()
    sizes = zip(wanted.shape[1:], shape, strict=True)
    images = keras.Input([own or asked for own, asked in sizes])
    features = network({key: images} if key else images)
    converter = keras_hub.layers.ImageConverter.from_preset(name)
    converter.image_size = None  # the encoder resizes
    return Built(keras.Model(images, _pooled(features)), converter)


def load_preset(name: str, load_weights: bool) -> keras.Model:
    """Returns the network of a preset, which is downloaded unless it is a folder."""
    import keras_hub

    try:
        return keras_hub.models.Backbone.from_preset(name, load_weights=load_weights)
    except Exception as error:  # of whatever kind a download ends with
        reason = first_line(error)
        raise UserError(
            f"keras_hub:{name} cannot be loaded: {reason}; without a network, give a "
            "folder that save_to_preset wrote as keras_hub:FOLDER"
        ) from error


def _pooled(features: keras.KerasTensor) -> keras.KerasTensor:
    """Returns a vector of each image: [B, h, w, D], [B, T, D] or [B, D] -> [B, D].

    Where there are more tokens than patches of a square image, the first of them
    stands for the whole.
    """
    if len(features.shape) == 2:
        return features
    if len(features.shape) == 4:
        return keras.layers.GlobalAveragePooling2D()(features)
    _, tokens, _ = features.shape
    if math.isqrt(tokens) ** 2 == tokens:
        return keras.layers.GlobalAveragePooling1D()(features)
    return features[:, 0]
