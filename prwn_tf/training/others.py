"""What `tf.train.Checkpoint` does not see of a model, kept by its place.

It follows attributes, and does not see into Keras 3's lists, nor the random state of a
Dropout. What it misses is kept by its place among the model's variables: Keras counts
the names of layers up, so they are not the same twice. The encoder's come first.
"""

from collections.abc import Sequence

import keras
import tensorflow as tf


def missed(
    layers: Sequence[keras.Layer],
    variables: Sequence[keras.Variable],
    wanted: Sequence[keras.Variable] | None = None,
) -> dict[str, tf.train.Checkpoint]:
    """Returns what a checkpoint of some layers needs besides, to hold all variables.

    Args:
        variables: of a model, from its first on: what a place counts.
        wanted: those of them that have to be there; None for all.
    """
    chosen = {id(each) for each in (variables if wanted is None else wanted)}
    unseen = chosen.difference(*map(_seen, layers))
    missing = {
        f"variable_{place}": variable
        for place, variable in enumerate(variables)
        if id(variable) in unseen
    }
    return {"others": tf.train.Checkpoint(**missing)} if missing else {}


def _seen(layer: keras.Layer) -> set[int]:
    """Returns which objects a checkpoint of a layer would hold."""
    return {id(each) for each in tf.train.TrackableView(layer).descendants()}
