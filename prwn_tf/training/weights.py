"""The weights of a trained run, for use: no data, no optimizer, nothing written.

So a run can be given away as its config, its result and one checkpoint.
"""

import logging
import pathlib

import keras
import tensorflow as tf

from prwn_tf.errors import UserError


def restore(directory: pathlib.Path, model: keras.Model, select: str = "last") -> int:
    """Reads the newest readable checkpoint, or the "best", into a model: its step."""
    directory = directory / "best" if select == "best" else directory
    paths = sorted(
        (path.with_suffix("") for path in directory.glob("ckpt-*.index")),
        key=_step,
        reverse=True,
    )
    state = tf.train.Checkpoint(model=model)
    for path in paths:
        try:
            status = state.restore(str(path)).expect_partial()
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


def _step(path: pathlib.Path) -> int:
    _, _, step = path.name.partition("-")
    return int(step) if step.isdecimal() else -1
