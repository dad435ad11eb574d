"""A trained run -> a folder that TensorFlow alone can serve."""

import pathlib
from typing import Any

from prwn_tf import files, locks
from prwn_tf.serving import manifest, trained
from prwn_tf.training import workdir as workdir_lib


def export(workdir: pathlib.Path, output: pathlib.Path) -> dict[str, Any]:
    """Writes the SavedModel of a finished run, whole or not at all: its manifest."""
    output = output.resolve()  # where a link leads to, the model is put
    manifest.check_output(output)
    model = trained.load(workdir)
    about = model.about | {"versions": workdir_lib.versions()}
    beside = output.with_name(f".{output.name}.scratch")
    with locks.scratch(beside), files.storage_errors(output):
        model.functions.save(beside / "new")
        manifest.write(beside / "new", about)
        if output.exists():
            output.rename(beside / "old")
        (beside / "new").rename(output)
    return about
