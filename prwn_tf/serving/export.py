"""A trained run -> a folder that TensorFlow alone can serve."""

import pathlib
import shutil
import tempfile
from typing import Any

from prwn_tf import files
from prwn_tf.serving import manifest, trained
from prwn_tf.training import workdir as workdir_lib


def export(workdir: pathlib.Path, output: pathlib.Path) -> dict[str, Any]:
    """Writes the SavedModel of a finished run, whole or not at all: its manifest."""
    manifest.check_output(output)
    model = trained.load(workdir)
    about = model.about | {"versions": workdir_lib.versions()}
    parent = output.absolute().parent
    with files.storage_errors(output):
        beside = pathlib.Path(tempfile.mkdtemp(prefix=f".{output.name}.", dir=parent))
        try:
            folder = beside / "new"
            model.functions.save(folder)
            manifest.write(folder, about)
            if output.exists():
                output.rename(beside / "old")
            folder.rename(output)
        finally:
            shutil.rmtree(beside, ignore_errors=True)
    return about
