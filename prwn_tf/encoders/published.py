"""The weights that a network of Keras starts with: published ones, or from a file."""

import os
import pathlib

import keras
import numpy as np

from prwn_tf import backbones
from prwn_tf.backbones import Network
from prwn_tf.encoders import networks
from prwn_tf.errors import UserError, first_line

# Files of EfficientNetB0 to B7 have deviations where variances should be.
DEVIATIONS = np.array([0.229, 0.224, 0.225], np.float32)


def load(layers: keras.Model, name: str, weights: str) -> None:
    """Gives a network the published weights ("imagenet"), none, or those of a file."""
    family, _, rest = name.partition(":")
    if weights == backbones.NONE:
        return
    if family == backbones.HUB and weights == backbones.IMAGENET:
        preset = networks.load_preset(rest, load_weights=True)
        layers.set_weights(preset.get_weights())
        return
    path = pathlib.Path(weights).expanduser()
    if weights == backbones.IMAGENET:
        path = _download(rest, backbones.networks()[rest])
    _read(layers, path, name)
    if backbones.knows_imagenet(name, weights):
        _mend_deviations(layers)


def _read(layers: keras.Model, path: pathlib.Path, name: str) -> None:
    """Reads a file of weights, which holds arrays and nothing that could run."""
    backbones.check_weights(str(path))
    try:
        layers.load_weights(path)
    except Exception as error:  # of whatever kind the place of a damage leads to
        reason = first_line(error)
        raise UserError(
            f"{path} does not hold the weights of {name} without its classification "
            f"layer (include_top=False): {reason}"
        ) from error


def _download(name: str, network: Network) -> pathlib.Path:
    """Returns the file of a network's published weights, downloaded if need be."""
    home = pathlib.Path(os.environ.get("KERAS_HOME") or "~/.keras").expanduser()
    path = home / "models" / network.file
    if not path.exists():
        size = f"{network.megabytes:,.0f} MB"
        print(f"{name}: downloading its weights, {size}, to {path}", flush=True)
    try:
        home.mkdir(parents=True, exist_ok=True)
        return pathlib.Path(
            keras.utils.get_file(
                network.file,
                network.url,
                cache_subdir="models",
                cache_dir=str(home),
                file_hash=network.hash or None,
            )
        )
    except Exception as error:  # Keras has its own, without a type
        reason = first_line(error)
        raise UserError(
            f"the weights of keras:{name} cannot be downloaded ({reason}); put "
            f"{network.url} there yourself as {path}, or give --encoder_weights"
        ) from error


def _mend_deviations(layers: keras.Model) -> None:
    """Makes variances of the deviations in the files of EfficientNetB0 to B7.

    Keras has a layer more for this, but only in networks that it loads itself.
    """
    for layer in layers.layers:
        if isinstance(layer, keras.layers.Normalization) and layer.variables:
            layer.adapt_variance.assign(layer.adapt_variance * DEVIATIONS)
            layer.finalize_state()
