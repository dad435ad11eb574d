"""A method is a head on top of an encoder, plus regularizers by their weights.

Names are resolved when a model is built, so that flags can be checked without
loading TensorFlow.
"""

import importlib
from typing import TYPE_CHECKING, Any

from prwn_tf.config import TrainConfig

if TYPE_CHECKING:
    from prwn_tf.model import FewShotModel

# The head of each method. The regularizers come from the weights in the config, which
# protocols.py sets for each method: so any of them can join any head.
METHODS = {
    "pn": "prwn_tf.heads.prototypes:PrototypeHead",
    "prwn": "prwn_tf.heads.prototypes:PrototypeHead",
}
REGULARIZERS = ("prwn_tf.regularizers.walk:Walk",)
ENCODERS = {"conv4": "prwn_tf.encoders.conv4:Conv4"}


def build_model(config: TrainConfig) -> "FewShotModel":
    """The untrained model of a config, its variables created."""
    from prwn_tf.model import FewShotModel

    encoder = _find(ENCODERS[config.encoder])(
        channels=config.channels,
        weight_decay=config.optimizer.weight_decay,
        seed=config.seed,
        fast=config.conv_block == "fast",
    )
    regularizers = [_find(name).from_config(config) for name in REGULARIZERS]
    model = FewShotModel(
        encoder,
        _find(METHODS[config.method])(),
        [regularizer for regularizer in regularizers if regularizer is not None],
    )
    model.build((None, *config.image_shape))
    return model


def _find(name: str) -> Any:
    module, attribute = name.split(":")
    return getattr(importlib.import_module(module), attribute)
