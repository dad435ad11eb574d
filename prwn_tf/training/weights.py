"""The weights of a trained run, for use: no data, no optimizer, nothing written.

So a run can be given away as its config, its result and one checkpoint.
"""

import logging
import pathlib

import keras
import tensorflow as tf

from prwn_tf import files
from prwn_tf.errors import StorageError, UserError


def restore(directory: pathlib.Path, model: keras.Model, select: str = "last") -> int:
    """Reads the newest readable checkpoint, or the "best", into a model: its step."""
    directory = directory / "best" if select == "best" else directory
    paths = sorted(
        (path.with_suffix("") for path in directory.glob("ckpt-*.index")),
        key=_step,
        reverse=True,
    )
    state = _parts(model)
    for path in paths:
        try:
            status = state.read(str(path)).expect_partial()
            status.assert_existing_objects_matched()
        # TensorFlow answers damage by whatever error its place in the file leads to.
        except Exception as error:
            reason = str(error).splitlines()[0]
            logging.warning("checkpoint %s is passed over: %s", path, reason)
        else:
            return _step(path)
    raise UserError(
        f"none of the {len(paths)} checkpoints in {directory} can be read; give the "
        "workdir of a finished run"
    )


def save(directory: pathlib.Path, model: keras.Model, select: str, step: int) -> None:
    """Writes a checkpoint that `restore` reads, where it looks for it."""
    directory = directory / "best" if select == "best" else directory
    with files.storage_errors(directory):
        directory.mkdir(parents=True, exist_ok=True)
    try:
        _parts(model).write(str(directory / f"ckpt-{step}"))
    except tf.errors.OpError as error:
        raise StorageError(f"cannot save weights in {directory}: {error}") from error


def _parts(model: keras.Model) -> tf.train.Checkpoint:
    """What answers at test time, under the names it has in a run's checkpoints."""
    parts = tf.train.Checkpoint(encoder=model.encoder, head=model.head)
    return tf.train.Checkpoint(model=parts)


def _step(path: pathlib.Path) -> int:
    _, _, step = path.name.partition("-")
    return int(step) if step.isdecimal() else -1
