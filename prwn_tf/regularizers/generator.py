"""A network that draws images for a task, from its support images and noise.

At 28 pixels its sizes are those of a public description of MetaGAN. Each support image
is encoded by convolutions of 64, 64, 128, 128, 256 and 256 channels, every second of
which halves the map, and by a dense layer of 256; the mean over the images is the task.
With noise it becomes a map of 7x7x256, which convolutions of 5x5 turn into 128, 64 and
at last the image's channels, twice as large each time. Larger images have more and
narrower maps, so that the smallest stays as small.

The description has dropout in the encoder; here the noise is all that is random. As
described, with Adam at its rate of 1e-3, all images on Omniglot were black within forty
episodes, and stayed so. Two things of Karras et al., "Progressive growing of GANs for
improved quality, stability, and variation", ICLR 2018, keep it alive: kernels have a
variance of one and are scaled when they are used, so that a step is as large for all
of them, and the numbers of a pixel are divided by their root mean square.
"""

import itertools
import math

import keras
import tensorflow as tf

SMALLEST = 4  # pixels of the smallest map's longer side, at most
SLOPE = 0.2  # of a leaky ReLU below zero
# The five rows of a kernel over an enlarged map lie on three rows of the map itself.
EVEN_ROWS = ((1, 1, 0, 0, 0), (0, 0, 1, 1, 0), (0, 0, 0, 0, 1))
ODD_ROWS = ((1, 0, 0, 0, 0), (0, 1, 1, 0, 0), (0, 0, 0, 1, 1))


def map_sizes(height: int, width: int) -> list[tuple[int, int]]:
    """Returns the sizes of an image's maps, each half of the one before: 28, 14, 7, 4.

    They end where no side is longer than `SMALLEST`.
    """
    sizes = [(height, width)]
    while max(sizes[-1]) > SMALLEST:
        sizes.append(tuple(-(-side // 2) for side in sizes[-1]))
    return sizes


def enlarged(maps: tf.Tensor, height: int, width: int) -> tf.Tensor:
    """Returns maps twice as large, cut to a size: [B, h, w, C] -> [B, H, W, C]."""
    doubled = tf.repeat(tf.repeat(maps, 2, axis=1), 2, axis=2)
    return doubled[:, :height, :width]


def convolve_enlarged(maps: tf.Tensor, kernel: tf.Tensor) -> tf.Tensor:
    """Returns the convolution of maps twice as large with a kernel of 5x5.

    Four pixels of an enlarged map are one of the map, so the sums of the kernel's
    numbers that meet it are enough: a 3x3 kernel for each of the four, with a third of
    the products.

    Args:
        maps: [B, h, w, C].
        kernel: [5, 5, C, F].

    Returns:
        [B, 2h, 2w, F], zeros around the maps.
    """
    rows = tf.constant((EVEN_ROWS, ODD_ROWS), kernel.dtype)  # [2, 3, 5]
    folded = tf.einsum("apu,bqv,uvcf->pqcabf", rows, rows, kernel)
    folded = tf.reshape(folded, [3, 3, kernel.shape[2], 4 * kernel.shape[3]])
    drawn = tf.nn.conv2d(maps, tf.cast(folded, maps.dtype), 1, "SAME")
    return tf.nn.depth_to_space(drawn, 2)


def normalized(features: tf.Tensor) -> tf.Tensor:
    """Returns features over their root mean square, each point's own: [..., C]."""
    square = tf.reduce_mean(tf.square(features), axis=-1, keepdims=True)
    return features * tf.math.rsqrt(square + 1e-8)


class Generator(keras.layers.Layer):
    """Draws images in [0, 1] for the task that some support images are.

    Args:
        image_shape: height, width and channels; one side is longer than `SMALLEST`.
        noise: random numbers behind an image.
        channels: a fourth of the channels of the smallest maps.
        policy: what its convolutions compute with; all else is float32.

    Example:
        >>> generator = Generator((28, 28, 1))
        >>> generator(tf.zeros([20, 28, 28, 1]), tf.random.normal([9, 100])).shape
        TensorShape([9, 28, 28, 1])
    """

    def __init__(
        self,
        image_shape: tuple[int, int, int],
        noise: int = 100,
        channels: int = 64,
        seed: int = 0,
        policy: str = "float32",
        **options,
    ):
        super().__init__(**{"dtype": "float32"} | options)
        self.image_shape = tuple(image_shape)
        self.noise = noise
        self.channels = channels
        *sizes, _ = map_sizes(*image_shape[:2])
        self._sizes = tuple(sizes[::-1])  # of the maps that it draws, the image's last
        depth = len(sizes)
        self._first_shape = (*self._sizes[0], self._width(0))
        seeds = itertools.count((3 * depth + 2) * seed)
        self.task_layer = _dense(self._width(0), next(seeds), policy, "task")
        self.first_layer = _dense(
            math.prod(self._first_shape), next(seeds), policy, "first_map"
        )
        # Attributes, because checkpoints do not see the layers in a list.
        for place in range(depth):
            width = self._width(depth - 1 - place)
            drawn = image_shape[-1] if place == depth - 1 else self._width(place + 1)
            for name, filters, kernel, stride in (
                ("encode", width, 3, 1),
                ("halve", width, 3, 2),
                ("draw", drawn, 5, 1),
            ):
                layer = _convolution(filters, kernel, stride, next(seeds), policy)
                setattr(self, f"{name}_{place + 1}", layer)

    def _width(self, halvings: int) -> int:
        """Returns the channels of a map: four units, halved, a fourth at the least."""
        return max(4 * self.channels >> halvings, self.channels // 4, 1)

    def _named(self, *names: str) -> list[keras.layers.Conv2D]:
        """Returns the layers of some names, from the first place to the last."""
        places = range(1, len(self._sizes) + 1)
        return [getattr(self, f"{name}_{place}") for place in places for name in names]

    def build(self, *unused: tuple) -> None:
        shape = (None, *self.image_shape)
        for layer in self._named("encode", "halve"):
            layer.build(shape)
            shape = layer.compute_output_shape(shape)
        self.task_layer.build((None, math.prod(shape[1:])))
        self.first_layer.build((None, self._width(0) + self.noise))
        channels = self._first_shape[-1]
        for layer, size in zip(self._named("draw"), self._sizes, strict=True):
            layer.build((None, *size, channels))
            channels = layer.filters

    def call(self, support: tf.Tensor, noise: tf.Tensor) -> tf.Tensor:
        """Returns an image for each row of noise.

        Args:
            support: [S, H, W, C] in [0, 1], the labelled images of all classes.
            noise: [G, Z].
        """
        task = tf.broadcast_to(self.task(support), [tf.shape(noise)[0], self._width(0)])
        features = tf.concat([normalized(task), normalized(noise)], axis=-1)
        maps = _apply(self.first_layer, features)
        maps = tf.reshape(maps, [-1, *self._first_shape])
        for layer, size in zip(self._named("draw"), self._sizes, strict=True):
            maps = _draw(layer, normalized(_leaky(maps)), size)
        return (tf.tanh(maps) + 1) / 2  # [G, H, W, C]

    def task(self, support: tf.Tensor) -> tf.Tensor:
        """Returns what the task is to the generator: [S, H, W, C] -> [1, T]."""
        maps = 2 * support - 1
        for layer in self._named("encode", "halve"):
            maps = _leaky(_apply(layer, maps))
        features = tf.reshape(maps, [-1, math.prod(maps.shape[1:])])
        encoded = _apply(self.task_layer, features)  # [S, T]
        return tf.reduce_mean(encoded, axis=0, keepdims=True)


def _leaky(features: tf.Tensor) -> tf.Tensor:
    return tf.nn.leaky_relu(features, SLOPE)


def _apply(layer: keras.layers.Layer, features: tf.Tensor) -> tf.Tensor:
    """Returns a layer's output, in float32, with its kernel scaled when it is used."""
    return tf.cast(layer(features * _he_scale(layer)), tf.float32)


def _draw(
    layer: keras.layers.Conv2D, maps: tf.Tensor, size: tuple[int, int]
) -> tf.Tensor:
    """Returns what a layer draws on maps, which are enlarged to its size."""
    height, width = maps.shape[1:3]
    if size == (height, width):
        return _apply(layer, maps)
    if size != (2 * height, 2 * width):  # zeros lie around what is cut
        return _apply(layer, enlarged(maps, *size))
    maps = tf.cast(maps * _he_scale(layer), layer.compute_dtype)
    drawn = convolve_enlarged(maps, tf.convert_to_tensor(layer.kernel))
    return tf.cast(drawn, tf.float32) + layer.bias


def _he_scale(layer: keras.layers.Layer) -> float:
    """Returns what He's rule scales a layer's kernel by."""
    return math.sqrt(2 / math.prod(layer.kernel.shape[:-1]))


def _dense(units: int, seed: int, policy: str, name: str) -> keras.layers.Dense:
    return keras.layers.Dense(
        units, kernel_initializer=_normal(seed), dtype=policy, name=name
    )


def _convolution(
    filters: int, kernel: int, stride: int, seed: int, policy: str
) -> keras.layers.Conv2D:
    return keras.layers.Conv2D(
        filters,
        kernel,
        stride,
        padding="same",
        kernel_initializer=_normal(seed),
        dtype=policy,
    )


def _normal(seed: int) -> keras.initializers.Initializer:
    return keras.initializers.RandomNormal(stddev=1.0, seed=seed)
