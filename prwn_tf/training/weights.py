"""The weights of a trained run, for use: no data, no optimizer, nothing written.

So a run can be given away as its config, its result and one checkpoint.
"""

import logging
import pathlib
import re
from collections.abc import Callable

import keras
import tensorflow as tf

from prwn_tf import files
from prwn_tf.errors import StorageError, UserError

MAX_REASON = 150  # characters of TensorFlow's words, which may list all variables


def restore(directory: pathlib.Path, model: keras.Model, select: str = "last") -> int:
    """Reads the newest readable checkpoint, or the "best", into a model: its step."""
    state = _parts(model)

    def read(path: str) -> None:
        state.read(path).expect_partial().assert_existing_objects_matched()

    help_text = "give the workdir of a finished run"
    return first_readable(place(directory, select), read, help_text)


def first_readable(
    directory: pathlib.Path, read: Callable[[str], None], help_text: str
) -> int:
    """Gives checkpoints to `read`, the newest first, until one is whole: its step."""
    candidates = sorted(steps(directory), reverse=True)
    for step in candidates:
        path = directory / f"ckpt-{step}"
        try:
            read(str(path))
        except UserError:
            raise
        # TensorFlow answers damage by whatever error its place in the file leads to.
        except Exception as error:
            reason = str(error).splitlines()[0][:MAX_REASON]
            logging.warning(
                "checkpoint %s is corrupt and passed over: %s", path, reason
            )
        else:
            return step
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
    parts = tf.train.Checkpoint(encoder=model.encoder, head=model.head)
    return tf.train.Checkpoint(model=parts)


def place(directory: pathlib.Path, select: str) -> pathlib.Path:
    """Returns where the "last" or the "best" checkpoint of a run lies."""
    return directory / "best" if select == "best" else directory


def steps(directory: pathlib.Path) -> list[int]:
    """Returns the steps that a folder has checkpoints of."""
    names = (path.name for path in directory.glob("ckpt-*.index"))
    return [
        int(m.group(1)) for n in names if (m := re.fullmatch(r"ckpt-(\d+).index", n))
    ]
