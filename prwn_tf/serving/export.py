"""A trained model -> a folder that TensorFlow alone can serve."""

import contextlib
import pathlib
import tempfile
from collections.abc import Callable, Iterator
from typing import Any

from prwn_tf import files, locks, replacing
from prwn_tf.errors import UserError
from prwn_tf.serving import classifier_file, manifest, models
from prwn_tf.training import provenance

# Writes the files of an export to a new folder, and returns what to say of them.
Draft = Callable[[models.ServedModel, pathlib.Path], dict[str, Any]]


def export(
    workdir: pathlib.Path, output: pathlib.Path, draft: Draft | None = None
) -> dict[str, Any]:
    """Writes the export of a finished run: what its manifest says of it."""
    with _reserved(output) as (target, scratch):
        return _write(models.open_workdir(workdir), target, scratch, draft)


def write(
    model: models.ServedModel, output: pathlib.Path, draft: Draft | None = None
) -> dict[str, Any]:
    """Writes the export of a run or of a model in memory, whole or not at all.

    Args:
        draft: writes the files; by default those of a SavedModel.

    Returns:
        what its manifest says of it.
    """
    with _reserved(output) as (target, scratch):
        return _write(model, target, scratch, draft)


def saved_model(classes: pathlib.Path | None) -> Draft:
    """Returns what writes a SavedModel, with the classes of a file to tell apart."""

    def draft(model: models.ServedModel, folder: pathlib.Path) -> dict[str, Any]:
        if classes is None:
            model.signatures.save(folder)
            return {}
        fitted = classifier_file.read(classes, model)
        model.signatures.save(folder, fitted.named())
        return {"classes": fitted.named().names}

    return draft


def _write(
    model: models.ServedModel,
    target: pathlib.Path,
    scratch: pathlib.Path,
    draft: Draft | None,
) -> dict[str, Any]:
    """Writes files to a folder for drafts, and then to their place."""
    if model.signatures is None:
        raise UserError(f"{model.path} is an export already; copy the folder")
    about = model.about | {
        "fingerprint": model.fingerprint,
        "versions": provenance.versions(),
    }
    with files.storage_errors(target):
        with _temporary_files_in(scratch):
            about |= (draft or saved_model(None))(model, scratch / "new")
        manifest.write(scratch / "new", about)
        replacing.replace(scratch / "new", target)
    return about


@contextlib.contextmanager
def _reserved(output: pathlib.Path) -> Iterator[tuple[pathlib.Path, pathlib.Path]]:
    """Keeps others from exporting to the same place.

    Yields:
        the place, where a link leads to, and a folder for drafts beside it.
    """
    target = output.resolve()
    manifest.check_output(target)
    with locks.scratch(target.with_name(f".{target.name}.scratch")) as scratch:
        replacing.recover(target)
        yield target, scratch


@contextlib.contextmanager
def _temporary_files_in(folder: pathlib.Path) -> Iterator[None]:
    """Lets temporary files be made in a folder that the next export clears.

    TensorFlow's AutoGraph, which no flag keeps from the wrappers of signatures, leaves
    its own behind when it is killed.
    """
    before, tempfile.tempdir = tempfile.tempdir, str(folder)
    try:
        yield
    finally:
        tempfile.tempdir = before
