"""Where a training step spends its time: each block of Conv-4 beside its arithmetic.

A block is trained alone on images of the size that it gets. Its arithmetic is that of
its convolutions at the rate of the fastest of them, so what a block takes beyond that
goes to batch norm, ReLU, pool and their gradients, which compute little and move much.
"""

import statistics
import time
from collections.abc import Callable, Mapping, Sequence

import keras
import tensorflow as tf

from prwn_tf.encoders.conv_block import ConvBlock
from prwn_tf.encoders.policy import policy_scope

CHANNELS = 64
TURNS = 9

Row = dict[str, str | float]


def measure(
    images: int, layers: Sequence[tuple[int, int]], operations: Callable[..., float]
) -> list[Row]:
    """Returns milliseconds of each block, turn by turn, and of its arithmetic.

    Args:
        images: of a step.
        layers: size and channels of what each block gets.
        operations: images, size, channels -> those of a convolution forward.
    """
    steps = {
        (precision, place): _step(images, *layer, precision, first=place == 0)
        for precision in ("float32", "mixed_bfloat16")
        for place, layer in enumerate(layers)
    }
    steps["limit"] = _convolution(images, *layers[1])
    times = take_turns(steps, TURNS)
    medians = {name: 1e3 * statistics.median(each[1:]) for name, each in times.items()}
    rate = 1e3 * min(times["limit"]) / operations(images, *layers[1])
    rows = []
    for place, layer in enumerate(layers):
        passes = 2 if place == 0 else 3  # forward, to the kernel, to the input
        rows.append(
            {
                "block": f"{place + 1}: {layer[0]} x {layer[0]} x {layer[1]}",
                "float32": medians["float32", place],
                "bfloat16": medians["mixed_bfloat16", place],
                "limit": passes * operations(images, *layer) * rate,
            }
        )
    return rows


def take_turns(
    steps: Mapping[object, Callable[[], object]], turns: int
) -> dict[object, list[float]]:
    """Returns the seconds of each step, turn by turn, and a first turn to warm up."""
    times = {name: [] for name in steps}
    for _ in range(turns + 1):
        for name, step in steps.items():
            step()  # as in training, caches are its own
            start = time.perf_counter()
            step()
            times[name].append(time.perf_counter() - start)
    return times


def _step(
    images: int, size: int, channels: int, precision: str, *, first: bool
) -> Callable[[], object]:
    """Returns forward and backward of a block that is trained."""
    with policy_scope(precision):
        block = ConvBlock(CHANNELS, weight_decay=0.0, seed=0, fast=True)
        block.build((None, size, size, channels))
    kind = tf.float32 if first or precision == "float32" else tf.bfloat16
    return training(block, (images, size, size, channels), kind, to_input=not first)


def training(
    layer: keras.layers.Layer,
    shape: Sequence[int],
    kind: tf.DType,
    *,
    to_input: bool,
) -> Callable[[], object]:
    """Returns forward and backward of a layer that is trained on noise.

    Args:
        to_input: whether the gradient goes on to what lies before the layer.
    """
    features = tf.Variable(tf.cast(tf.random.stateless_uniform(shape, [0, 1]), kind))
    upstream = tf.random.stateless_normal(layer.compute_output_shape(shape), [0, 1])

    @tf.function(autograph=False)
    def step():
        given = tf.convert_to_tensor(features)
        with tf.GradientTape() as tape:
            tape.watch(given)
            activations = layer(given, training=True)
        gradients = tape.gradient(
            activations,
            [*([given] if to_input else []), *layer.trainable_variables],
            tf.cast(upstream, activations.dtype),
        )
        # So that nothing is left out, and little is added.
        return [gradient[..., 0] for gradient in gradients]

    return lambda: tf.nest.map_structure(lambda part: part.numpy(), step())


def _convolution(images: int, size: int, channels: int) -> Callable[[], object]:
    """Returns a convolution forward, oneDNN's best case here."""
    features = tf.random.stateless_uniform([images, size, size, channels], [0, 1])
    kernel = tf.random.stateless_uniform([3, 3, channels, CHANNELS], [0, 1])
    run = tf.function(lambda given: tf.nn.conv2d(given, kernel, 1, "SAME"))
    return lambda: run(features)
