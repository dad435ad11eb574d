"""A network of Keras as an encoder: its own preprocessing, frozen as far as asked."""

import contextlib
import random
from collections.abc import Iterator

import keras
import tensorflow as tf

from prwn_tf import backbones
from prwn_tf.backbones import BackboneConfig
from prwn_tf.config import TrainConfig
from prwn_tf.encoders import networks, published
from prwn_tf.encoders.base import Encoder
from prwn_tf.encoders.policy import policy_scope
from prwn_tf.errors import UserError

# What layers of Keras and of keras_hub call the share that they drop.
DROP_RATES = {"rate", "drop_prob"}


class Backbone(Encoder):
    """A network of keras.applications or keras_hub, averaged over its last map.

    Gray images are repeated to three channels, small ones enlarged to what the network
    takes, and pixels brought to the range that it was trained with.

    Args:
        network: "keras:NAME" or "keras_hub:PRESET".
        weight_decay: w adds w / 2 * |kernel|^2 of every layer that is trained.

    Example:
        >>> encoder = Backbone("keras:VGG16", BackboneConfig("none"))
        >>> encoder(tf.zeros([2, 28, 28, 1])).shape
        TensorShape([2, 512])
    """

    Config = BackboneConfig

    def __init__(
        self,
        network: str,
        settings: BackboneConfig,
        weight_decay: float = 0.0,
        seed: int = 0,
        **options,
    ):
        super().__init__(**options)
        self._network = network
        self._settings = settings
        self._weight_decay = weight_decay
        self._seed = seed

    @classmethod
    def from_config(cls, config: TrainConfig) -> "Backbone":
        """Returns the untrained encoder that a config asks for."""
        decay = config.optimizer.weight_decay
        return cls(config.encoder, config.backbone, decay, config.seed)

    def build(self, input_shape: tuple) -> None:
        _, *size, _ = input_shape
        if self._settings.size:
            size = [self._settings.size] * 2
        smallest = backbones.smallest(self._network)
        height, width = (max(pixels, smallest) for pixels in size)
        with _seeded(self._seed), policy_scope(self.dtype_policy):
            built = networks.build(self._network, (height, width, 3))
        self.network, self._prepare = built
        self._freeze()
        for variable in self.network.trainable_variables:
            if variable.name.endswith("kernel"):
                variable.regularizer = keras.regularizers.L2(self._weight_decay / 2)
        self.feature_shape = (1, 1, self.network.output_shape[-1])

    def initialize(self) -> None:
        """Loads the weights that the settings name."""
        self.network.trainable = True  # files have what is trained before the rest
        published.load(self.network, self._network, self._settings.weights)
        self._freeze()

    def call(self, images: tf.Tensor, training: bool = False) -> tf.Tensor:
        if images.shape[-1] == 1:
            images = tf.repeat(images, 3, axis=-1)
        _, *size, _ = self.network.input_shape
        if list(images.shape[1:3]) != size:
            images = tf.image.resize(images, size, antialias=True)
        learning = training and self._settings.trainable != "none"
        return self.network(self._prepare(255.0 * images), training=learning)  # [B, D]

    def compute_output_shape(self, input_shape: tuple) -> tuple:
        return input_shape[0], self.network.output_shape[-1]

    def _freeze(self) -> None:
        """Freezes what is not to be trained, to answer in training as at test time."""
        kind, _, number = self._settings.trainable.partition(":")
        if kind == "all":
            return
        layers = list(_leaves(self.network))
        learners = [place for place, layer in enumerate(layers) if layer.weights]
        if int(number or 0) > len(learners):
            raise UserError(
                f"--encoder_trainable={self._settings.trainable} asks for more layers "
                f"than the {len(learners)} with weights that {self._network} has; use "
                "--encoder_trainable=all"
            )
        first = learners[-int(number)] if number else len(layers)
        for layer in layers[:first]:
            layer.trainable = False  # batch norm then takes its averages
            for part in layer._flatten_layers():  # blocks of keras_hub drop inside
                for name in DROP_RATES & vars(part).keys():
                    setattr(part, name, 0.0)


def _leaves(model: keras.Model) -> Iterator[keras.layers.Layer]:
    """Yields the layers of a model and of those inside of it, from first to last."""
    for layer in model.layers:
        if isinstance(layer, keras.Model):
            yield from _leaves(layer)
        else:
            yield layer


@contextlib.contextmanager
def _seeded(seed: int) -> Iterator[None]:
    """Seeds all that is built: Keras draws seeds of layers by Python's `random`."""
    state = random.getstate()
    random.seed(seed)
    try:
        yield
    finally:
        random.setstate(state)
