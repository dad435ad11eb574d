"""The encoder of the edge-labelling graph network.

Kim et al., "Edge-labeling graph neural network for few-shot learning", CVPR 2019.
"""

import math

import keras
import tensorflow as tf

from prwn_tf.config import TrainConfig
from prwn_tf.encoders.base import Encoder
from prwn_tf.parts import EgnnConvConfig

BLOCKS = 4
WIDTHS = (1.0, 1.5, 2.0, 4.0)  # of the blocks, in channels of the first
PADDING = ("same", "valid", "same", "same")
SLOPE = 0.2  # of leaky ReLU


class EgnnConv(Encoder):
    """Four conv blocks of 64, 96, 128 and 256 channels, and a dense layer.

    A block is a 3x3 convolution, batch norm, 2x2 max-pool and leaky ReLU; the second
    one has no padding: 84x84 images -> 42 -> 20 -> 10 -> 5. The last two leave out
    whole channels in training.

    Args:
        channels: of the first block.
        weight_decay: w adds w / 2 * |kernel|^2 of every layer to the losses.

    Example:
        >>> EgnnConv()(tf.zeros([2, 84, 84, 3])).shape
        TensorShape([2, 128])
    """

    Config = EgnnConvConfig

    def __init__(
        self,
        channels: int = 64,
        weight_decay: float = 1e-6,
        seed: int = 0,
        config: EgnnConvConfig | None = None,
        **options,
    ):
        super().__init__(**options)
        config = EgnnConvConfig() if config is None else config
        dropouts = (0.0, 0.0, config.dropout, config.last_dropout)
        # Attributes, because checkpoints do not see the layers in a list.
        for index, (width, padding) in enumerate(zip(WIDTHS, PADDING, strict=True)):
            convolution = keras.layers.Conv2D(
                int(width * channels),
                kernel_size=3,
                padding=padding,
                use_bias=False,
                **_kernel(weight_decay, (BLOCKS + 1) * seed + index),
            )
            setattr(self, f"convolution_{index + 1}", convolution)
            setattr(self, f"norm_{index + 1}", _norm())
            dropout = keras.layers.SpatialDropout2D(
                dropouts[index], seed=BLOCKS * seed + index
            )
            setattr(self, f"dropout_{index + 1}", dropout)
        self.dense = keras.layers.Dense(
            config.size, **_kernel(weight_decay, (BLOCKS + 1) * seed + BLOCKS)
        )
        self.last_norm = _norm()

    @classmethod
    def from_config(cls, config: TrainConfig) -> "EgnnConv":
        """Returns the untrained encoder that a config asks for."""
        return cls(
            config.channels,
            config.optimizer.weight_decay,
            config.seed,
            config.egnn_conv,
        )

    @property
    def blocks(self) -> list[list[keras.layers.Layer]]:
        """The layers of each block: convolution, norm, dropout."""
        kinds = ("convolution", "norm", "dropout")
        places = range(1, BLOCKS + 1)
        return [[getattr(self, f"{kind}_{at}") for kind in kinds] for at in places]

    def build(self, input_shape: tuple) -> None:
        shape = tuple(input_shape)
        for convolution, norm, _ in self.blocks:
            convolution.build(shape)
            shape = convolution.compute_output_shape(shape)
            norm.build(shape)
            batch, height, width, channels = shape
            shape = (batch, height // 2, width // 2, channels)
        self.dense.build((None, math.prod(shape[1:])))
        self.last_norm.build((None, self.dense.units))
        self.feature_shape = (1, 1, self.dense.units)

    def call(self, images: tf.Tensor, training: bool = False) -> tf.Tensor:
        features = images
        for convolution, norm, dropout in self.blocks:
            features = norm(convolution(features), training=training)
            features = tf.nn.max_pool2d(features, 2, 2, "VALID")
            features = tf.nn.leaky_relu(features, SLOPE)
            features = dropout(features, training=training)
        features = tf.reshape(features, [-1, math.prod(features.shape[1:])])
        return self.last_norm(self.dense(features), training=training)  # [B, D]

    def compute_output_shape(self, input_shape: tuple) -> tuple:
        return input_shape[0], self.dense.units


def _norm() -> keras.layers.BatchNormalization:
    return keras.layers.BatchNormalization(momentum=0.9, epsilon=1e-5)


def _kernel(weight_decay: float, seed: int) -> dict:
    """Returns how a layer's kernel starts and is held small."""
    return {
        "kernel_initializer": keras.initializers.GlorotUniform(seed=seed),
        "kernel_regularizer": keras.regularizers.L2(weight_decay / 2),
    }
