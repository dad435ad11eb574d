"""ResNet-12, the deeper encoder of the field.

Four residual blocks, as Ye et al. have it, "Few-shot learning via embedding adaptation
with set-to-set functions", CVPR 2020.
"""

import keras
import tensorflow as tf

from prwn_tf.config import TrainConfig
from prwn_tf.encoders import averages, embedding_scale, fast_norm
from prwn_tf.encoders.base import Encoder
from prwn_tf.encoders.drop_block import DropBlock
from prwn_tf.parts import ResNet12Config

BLOCKS = 4
CONVOLUTIONS = 3  # of a block, beside the one of its shortcut
SLOPE = 0.1  # of the leaky ReLU
# Channels of each block, in those of the first, by the widest at full width.
GROWTH = {640: (1, 2.5, 5, 10), 512: (1, 2, 4, 8)}


class ResidualBlock(keras.layers.Layer):
    """Three convolutions beside a shortcut, then max-pool: halves height and width.

    Args:
        weight_decay: w adds w / 2 * |kernel|^2 of every convolution to the losses.
        drop: what drops out behind the pool.
        fast: compute the same function in a way arranged for a CPU.
    """

    def __init__(
        self,
        channels: int,
        weight_decay: float,
        seed: int,
        drop: keras.layers.Layer,
        fast: bool = False,
        **options,
    ):
        super().__init__(**options)
        self.channels = channels
        self.fast = fast
        seeds = range((CONVOLUTIONS + 1) * seed, (CONVOLUTIONS + 1) * (seed + 1))
        # Attributes, because checkpoints do not see the layers in a list.
        for index in range(CONVOLUTIONS):
            name = f"convolution_{index + 1}"
            layer = _convolution(channels, 3, weight_decay, seeds[index], name)
            setattr(self, name, layer)
            setattr(self, f"norm_{index + 1}", _norm(f"norm_{index + 1}"))
        self.shortcut = _convolution(channels, 1, weight_decay, seeds[-1], "shortcut")
        self.shortcut_norm = _norm("shortcut_norm")
        self.drop = drop

    @property
    def main_path(self) -> list[tuple[keras.layers.Layer, keras.layers.Layer]]:
        """The convolutions, each with its batch norm."""
        return [
            (getattr(self, f"convolution_{index}"), getattr(self, f"norm_{index}"))
            for index in range(1, CONVOLUTIONS + 1)
        ]

    def build(self, input_shape: tuple) -> None:
        shape = tuple(input_shape)
        for convolution, norm in self.main_path:
            convolution.build(shape)
            shape = convolution.compute_output_shape(shape)
            norm.build(shape)
        self.shortcut.build(input_shape)
        self.shortcut_norm.build(shape)
        self.drop.build(self.compute_output_shape(input_shape))

    def call(self, images: tf.Tensor, training: bool = False) -> tf.Tensor:
        features = images
        *inner, last = self.main_path
        for convolution, norm in inner:
            features = self._apply(convolution, norm, features, SLOPE, training)
        features = self._apply(*last, features, 1.0, training)
        shortcut = (self.shortcut, self.shortcut_norm)
        shortcut = self._apply(*shortcut, images, 1.0, training)
        join = fast_norm.join if self.fast and training else fast_norm.plain_join
        return self.drop(join(features, shortcut, SLOPE), training=training)

    def _apply(
        self,
        convolution: keras.layers.Conv2D,
        norm: keras.layers.BatchNormalization,
        features: tf.Tensor,
        slope: float,
        training: bool,
    ) -> tf.Tensor:
        """Returns leaky_relu(batch_norm(convolution(features)))."""
        if self.fast and training and norm.trainable:
            return _train_fast(convolution, norm, features, slope)
        if self.fast:
            features = averages.folded(convolution, norm, features)
        else:
            features = norm(convolution(features), training=training)
        return features if slope == 1 else tf.nn.leaky_relu(features, slope)

    def compute_output_shape(self, input_shape: tuple) -> tuple:
        batch, height, width, _ = input_shape
        return batch, height // 2, width // 2, self.channels


class ResNet12(Encoder):
    """Four residual blocks, averaged over the map: 84x84 images -> D = 640.

    Args:
        channels: of the first block; those of the others are in proportion.
        widest: of the last block where the first has 64: 640 or 512.
        dropout: share dropped in the first two blocks; in the last two, of DropBlock.
        ramp: batches after which DropBlock drops that share.
        fast: compute the same function in a way arranged for a CPU.
        scale: of the last block's batch norms at the start; 0 for one that suits D. A
            trained encoder that a run begins with is multiplied by it; 0 for what suits
            it.

    Example:
        >>> ResNet12(channels=16)(tf.zeros([2, 84, 84, 3])).shape
        TensorShape([2, 160])
    """

    Config = ResNet12Config

    def __init__(
        self,
        channels: int = 64,
        weight_decay: float = 5e-4,
        seed: int = 0,
        widest: int = 640,
        dropout: float = 0.1,
        ramp: int = 40_000,
        fast: bool = False,
        scale: float = 1.0,
        **options,
    ):
        super().__init__(**options)
        self._scale = scale
        for index, growth in enumerate(GROWTH[widest]):
            own_seed = BLOCKS * seed + index
            if index < BLOCKS // 2:
                drop = keras.layers.Dropout(dropout, seed=own_seed, name="drop")
            else:
                drop = DropBlock(dropout, ramp=ramp, seed=own_seed, name="drop")
            width = round(growth * channels)
            name = f"block_{index + 1}"
            block = ResidualBlock(
                width, weight_decay, own_seed, drop, fast=fast, name=name
            )
            setattr(self, name, block)

    @classmethod
    def from_config(cls, config: TrainConfig) -> "ResNet12":
        """Returns the untrained encoder that a config asks for."""
        own = config.resnet12
        return cls(
            config.channels,
            config.optimizer.weight_decay,
            config.seed,
            own.widest,
            own.dropout,
            own.ramp,
            fast=config.conv_block == "fast",
            scale=own.scale,
        )

    @property
    def blocks(self) -> list[ResidualBlock]:
        return [getattr(self, f"block_{index + 1}") for index in range(BLOCKS)]

    def build(self, input_shape: tuple) -> None:
        size = self.blocks[-1].channels
        for norm in self._last_norms:
            norm.gamma_initializer = keras.initializers.Constant(
                embedding_scale.at_start(self._scale, size)
            )
        shape = tuple(input_shape)
        for block in self.blocks:
            block.build(shape)
            shape = block.compute_output_shape(shape)
        self.feature_shape = (1, 1, size)

    @property
    def _last_norms(self) -> list[keras.layers.BatchNormalization]:
        """Those whose sum is the last map, before its ReLU and pooling."""
        block = self.blocks[-1]
        _, norm = block.main_path[-1]
        return [norm, block.shortcut_norm]

    def adopt(self, temperature: float) -> None:
        """Multiplies embeddings by the scale."""
        embedding_scale.multiply_trained(self._last_norms, self._scale, temperature)

    def call(self, images: tf.Tensor, training: bool = False) -> tf.Tensor:
        features = images
        for block in self.blocks:
            features = block(features, training=training)
        return tf.reduce_mean(features, axis=(1, 2))  # [B, D]

    def compute_output_shape(self, input_shape: tuple) -> tuple:
        return input_shape[0], self.blocks[-1].channels


def _train_fast(
    convolution: keras.layers.Conv2D,
    norm: keras.layers.BatchNormalization,
    features: tf.Tensor,
    slope: float,
) -> tf.Tensor:
    """Returns the same with fused passes, by batch statistics, which are averaged."""
    weights = [tf.convert_to_tensor(w) for w in (norm.gamma, norm.beta)]
    pilot = tf.convert_to_tensor(norm.moving_mean)
    output = fast_norm.normalize(
        convolution(features), *weights, pilot, norm.epsilon, slope
    )
    averages.move(norm, output.mean, output.variance)
    return output.activations


def _convolution(
    channels: int, size: int, weight_decay: float, seed: int, name: str
) -> keras.layers.Conv2D:
    return keras.layers.Conv2D(
        channels,
        kernel_size=size,
        padding="same",
        use_bias=False,
        # He et al.'s, by the outputs of a kernel instead of its inputs.
        kernel_initializer=keras.initializers.VarianceScaling(
            2.0, "fan_out", "untruncated_normal", seed=seed
        ),
        kernel_regularizer=keras.regularizers.L2(weight_decay / 2),
        name=name,
    )


def _norm(name: str) -> keras.layers.BatchNormalization:
    return keras.layers.BatchNormalization(momentum=0.9, epsilon=1e-5, name=name)
