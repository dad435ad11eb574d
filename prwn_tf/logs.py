"""What a training step reports: losses and statistics by name, and means of them."""

from collections.abc import Sequence
from typing import Any

import keras
import tensorflow as tf

Logs = dict[str, tf.Tensor]


class RunningMean(keras.metrics.Mean):
    """Keras' mean, saved as the first replica has it.

    Keras' own is the sum over replicas, and to read it, all of them must take part.
    """

    def add_variable(self, *described: Any, **options: Any) -> keras.Variable:
        options["aggregation"] = "only_first_replica"
        return super().add_variable(*described, **options)


def total(losses: Sequence[tf.Tensor]) -> tf.Tensor:
    """Returns a sum that is the same to the last bit in every process.

    TensorFlow adds the terms of `tf.add_n` in an order that each process chooses.
    """
    return tf.reduce_sum(tf.stack(losses))


def means(each: Sequence[Logs]) -> Logs:
    """Returns the mean of each of the numbers that all have."""
    names = each[0]
    return {name: total([logs[name] for logs in each]) / len(each) for name in names}
