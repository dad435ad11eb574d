"""A fitted classifier as a file: arrays alone, nothing that could run."""

import io
import pathlib
from typing import NamedTuple

import numpy as np

from prwn_tf import files
from prwn_tf.errors import UserError
from prwn_tf.serving.models import ServedModel

FORMAT = "prwn_tf prototypes 3"


class FittedArrays(NamedTuple):
    """Everything that a classifier learned when it was fitted."""

    classes: np.ndarray  # [N] names
    counts: np.ndarray  # [N]
    prototypes: np.ndarray  # [N, D], and the rest as in `answers.ServedClasses`
    offsets: np.ndarray  # [N]
    stranger: np.ndarray  # []
    temperature: np.ndarray  # []
    novelty: np.ndarray  # [4]


def write(path: pathlib.Path, fitted: FittedArrays, model: ServedModel) -> None:
    """Writes an npz file that names the model it belongs to."""
    content = io.BytesIO()
    np.savez(content, format=FORMAT, fingerprint=model.fingerprint, **fitted._asdict())
    files.write_bytes(path, content.getvalue())


def read(path: pathlib.Path, model: ServedModel) -> FittedArrays:
    """Returns what `write` wrote, if it belongs to the model."""
    arrays = _read_arrays(path)
    if str(arrays.get("format")) != FORMAT:
        raise UserError(f"{path} is not a saved classifier of this version")
    if str(arrays.get("fingerprint")) != model.fingerprint:
        raise UserError(
            f"{path} was fitted with another model than {model.path}; give that "
            "model, or fit again"
        )
    fitted = FittedArrays(*(arrays.get(name) for name in FittedArrays._fields))
    if not _fit_together(fitted, model.size):
        raise UserError(f"{path} is damaged: its arrays do not fit each other")
    return fitted


def _fit_together(fitted: FittedArrays, size: int) -> bool:
    """Returns whether the arrays are those of one classifier."""
    ways = np.size(fitted.classes)
    shapes = FittedArrays((ways,), (ways,), (ways, size), (ways,), (), (), (4,))
    return (
        ways >= 2
        and all(map(_is_array_of, fitted, shapes))
        and all(array.dtype.kind == "f" for array in fitted[1:])
    )


def _is_array_of(array: np.ndarray | None, shape: tuple[int, ...]) -> bool:
    """Returns whether an array is there, and of a shape."""
    return array is not None and array.shape == shape


def _read_arrays(path: pathlib.Path) -> dict[str, np.ndarray]:
    """Reads the arrays of an npz file by name."""
    try:
        with np.load(path, allow_pickle=False) as file:
            return {name: file[name] for name in file.files}
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror or error}") from error
    # NumPy and zipfile meet damaged bytes with errors of a dozen types, and NumPy
    # advises to unpickle them.
    except Exception as error:
        raise UserError(
            f"{path} is not a saved classifier, or is damaged; give what "
            "FewShotClassifier.save or predict wrote"
        ) from error
