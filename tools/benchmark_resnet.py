"""A training step of ResNet-12 at a quarter of its width, by fused and plain passes."""

import statistics

import benchmark_blocks
import tensorflow as tf

from prwn_tf.encoders.policy import policy_scope
from prwn_tf.encoders.resnet12 import ResNet12

SHAPE = (128, 84, 84, 3)  # a mini-batch of the released model's training
CHANNELS = 16
TURNS = 5


def measure() -> dict[str, str]:
    """Returns name -> milliseconds of each kind of step, in words."""
    steps = {
        (precision, fast): _step(precision, fast)
        for precision in ("float32", "mixed_bfloat16")
        for fast in (True, False)
    }
    times = benchmark_blocks.take_turns(steps, TURNS)
    return {
        _name(*kind): f"{1e3 * statistics.median(each[1:]):.0f} ms"
        for kind, each in times.items()
    }


def _step(precision: str, fast: bool):
    with policy_scope(precision):
        encoder = ResNet12(CHANNELS, dropout=0.0, fast=fast, dtype=precision)
        encoder.build((None, *SHAPE[1:]))
    return benchmark_blocks.training(encoder, SHAPE, tf.float32, to_input=False)


def _name(precision: str, fast: bool) -> str:
    passes = "fused passes" if fast else "plain Keras layers"
    kind = precision.removeprefix("mixed_")
    return f"a mini-batch through ResNet-12, quarter width, {kind}, {passes}"
