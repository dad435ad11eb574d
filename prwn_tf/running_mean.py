"""A running mean of which every replica holds all."""

from typing import Any

import keras


class RunningMean(keras.metrics.Mean):
    """Keras' mean, saved as the first replica has it.

    Keras' own is the sum over replicas, and to read it, all of them must take part.
    """

    def add_variable(self, *described: Any, **options: Any) -> keras.Variable:
        options["aggregation"] = "only_first_replica"
        return super().add_variable(*described, **options)
