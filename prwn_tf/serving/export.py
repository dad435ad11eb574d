"""A trained run -> a folder that TensorFlow alone can serve."""

import pathlib
from typing import Any

from prwn_tf import files, locks
from prwn_tf.serving import manifest
from prwn_tf.serving import signatures as signatures_lib
from prwn_tf.training import workdir as workdir_lib


def export(workdir: pathlib.Path, output: pathlib.Path) -> dict[str, Any]:
    """Writes the SavedModel of a finished run, whole or not at all.

    Returns:
        what its manifest says of it.
    """
    output = output.resolve()  # where a link leads to, the model is put
    manifest.check_output(output)
    signatures, about = signatures_lib.load_run(workdir)
    about |= {"versions": workdir_lib.versions()}
    beside = output.with_name(f".{output.name}.scratch")
    with locks.scratch(beside), files.storage_errors(output):
        signatures.save(beside / "new")
        manifest.write(beside / "new", about)
        if output.exists():
            output.rename(beside / "old")
        (beside / "new").rename(output)
    return about
