"""The weights of a trained run, for use: no data, no optimizer, nothing written.

So a run can be given away as its config, its result and one checkpoint.
"""

import logging
import pathlib
from collections.abc import Callable
from typing import NamedTuple

import keras
import tensorflow as tf

from prwn_tf import files
from prwn_tf.errors import StorageError, UserError, first_line, is_out_of_memory
from prwn_tf.training import others
from prwn_tf.training.checkpoint_files import place, steps

MAX_REASON = 150  # characters of TensorFlow's words, which may list all variables


def restore(directory: pathlib.Path, model: keras.Model, select: str = "last") -> int:
    """Reads the newest readable checkpoint, or the "best", into a model: its step."""
    state = _parts(model)

    def read(path: str) -> None:
        state.read(path).expect_partial().assert_existing_objects_matched()
        refresh(model)

    help_text = "give the workdir of a finished run"
    return first_readable(directory, select, read, help_text).step


class Restored(NamedTuple):
    """Which checkpoint could be read."""

    step: int
    select: str  # "last" or "best"


def restore_encoder(checkpoint: pathlib.Path, encoder: keras.Model) -> None:
    """Reads an encoder of the same architecture from a run's checkpoint, all of it."""
    state = tf.train.Checkpoint(
        model=tf.train.Checkpoint(encoder=encoder),
        **others.missed([encoder], encoder.variables, wanted=encoder.weights),
    )
    try:
        read = state.read(str(checkpoint))
        read.expect_partial().assert_existing_objects_matched()
        refresh(encoder)
    # TensorFlow answers damage by whatever error its place in the file leads to.
    except Exception as error:
        if is_out_of_memory(error):
            raise
        raise UserError(
            f"checkpoint {checkpoint} cannot be read: {_reason(error)}; choose another "
            "--init_from"
        ) from error


def _reason(error: Exception) -> str:
    """Returns why a checkpoint cannot be read; TensorFlow may have a page of it."""
    return first_line(error)[:MAX_REASON]


def refresh(model: keras.Model) -> None:
    """Has layers notice new values of their variables.

    Keras' Normalization computes with copies of its variables, and a checkpoint does
    not tell it.
    """
    for layer in model._flatten_layers():  # Keras names no public way into lists
        if isinstance(layer, keras.layers.Normalization) and layer.variables:
            layer.finalize_state()


def first_readable(
    directory: pathlib.Path, select: str, read: Callable[[str], None], help_text: str
) -> Restored:
    """Gives checkpoints to `read`, the newest first, until one is whole.

    Where the "best" is damaged, the last one stands in, and that is said.
    """
    best = sorted(steps(place(directory, "best")), reverse=True)
    last = sorted(steps(directory), reverse=True)
    candidates = [("best", step) for step in best if select == "best"]
    candidates += [("last", step) for step in last]
    for kind, step in candidates:
        path = place(directory, kind) / f"ckpt-{step}"
        try:
            read(str(path))
        # TensorFlow answers damage by whatever error its place in the file leads to.
        except Exception as error:
            if isinstance(error, UserError) or is_out_of_memory(error):
                raise
            logging.warning(
                "checkpoint %s is corrupt and passed over: %s", path, _reason(error)
            )
        else:
            if kind != select:
                logging.warning(
                    "the best checkpoint in %s cannot be read; going on with the last, "
                    "of step %d",
                    *(directory, step),
                )
            return Restored(step, kind)
    raise UserError(
        f"none of the {len(candidates)} checkpoints in {directory} can be read; "
        f"{help_text}"
    )


def save(directory: pathlib.Path, model: keras.Model, select: str, step: int) -> None:
    """Writes a checkpoint that `restore` reads, where it looks for it."""
    directory = place(directory, select)
    with files.storage_errors(directory):
        directory.mkdir(parents=True, exist_ok=True)
    try:
        _parts(model).write(str(directory / f"ckpt-{step}"))
    except tf.errors.OpError as error:
        raise StorageError(f"cannot save weights in {directory}: {error}") from error


def _parts(model: keras.Model) -> tf.train.Checkpoint:
    """Returns what answers at test time, as a run's checkpoints name it."""
    # Not the random state of a Dropout, which has nothing to do with an answer.
    layers = [model.encoder, model.head]
    wanted = [*model.encoder.weights, *model.head.weights]
    return tf.train.Checkpoint(
        model=tf.train.Checkpoint(encoder=model.encoder, head=model.head),
        **others.missed(layers, model.variables, wanted),
    )
