"""A trained model -> a folder that TensorFlow alone can serve."""

import pathlib
from typing import Any

from prwn_tf import files, locks
from prwn_tf.errors import UserError
from prwn_tf.serving import manifest, models
from prwn_tf.training import workdir as workdir_lib


def export(workdir: pathlib.Path, output: pathlib.Path) -> dict[str, Any]:
    """Writes the SavedModel of a finished run: what its manifest says of it."""
    manifest.check_output(output.resolve())
    return write(models.open_workdir(workdir), output)


def write(model: models.ServedModel, output: pathlib.Path) -> dict[str, Any]:
    """Writes the SavedModel of a run or of a model in memory, whole or not at all.

    Returns:
        what its manifest says of it.
    """
    if model.signatures is None:
        raise UserError(f"{model.path} is an export already; copy the folder")
    output = output.resolve()  # where a link leads to, the model is put
    manifest.check_output(output)
    about = model.about | {"versions": workdir_lib.versions()}
    beside = output.with_name(f".{output.name}.scratch")
    with locks.scratch(beside), files.storage_errors(output):
        model.signatures.save(beside / "new")
        manifest.write(beside / "new", about)
        if output.exists():
            output.rename(beside / "old")
        (beside / "new").rename(output)
    return about
