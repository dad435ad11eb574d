"""Runs a function of tensors in each way that TensorFlow can run it."""

from collections.abc import Callable

import tensorflow as tf

MODES = ("eager", "graph", "xla")


def run(mode: str, function: Callable, *arguments):
    """Calls `function` eagerly, in a graph, or compiled."""
    if mode == "eager":
        return function(*arguments)
    return tf.function(function, autograph=False, jit_compile=mode == "xla")(*arguments)
