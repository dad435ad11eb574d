"""A fitted classifier as a file: arrays alone, nothing that could run."""

import io
import pathlib
import zipfile
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from prwn_tf import files
from prwn_tf.errors import UserError
from prwn_tf.serving.models import ServedModel

if TYPE_CHECKING:
    from prwn_tf.serving.answers import NamedClasses

FORMAT = "prwn_tf prototypes 3"
UNCALIBRATED = ("temperature", "novelty")  # are NaN then
HARMLESS_SIZE = 2**24  # any file may unpack to so much,
RATIO_LIMIT = 4  # and to so many times its size


class FittedArrays(NamedTuple):
    """Everything that a classifier learned when it was fitted."""

    classes: np.ndarray  # [N] names
    counts: np.ndarray  # [N]
    prototypes: np.ndarray  # [N, D], and the rest as in `answers.ServedClasses`
    offsets: np.ndarray  # [N]
    stranger: np.ndarray  # []
    temperature: np.ndarray  # []
    novelty: np.ndarray  # [4]

    def named(self) -> "NamedClasses":
        """Returns the classes as answers are made of them."""
        from prwn_tf.serving.answers import NamedClasses, ServedClasses

        return NamedClasses(
            [str(name) for name in self.classes], ServedClasses(*self[2:])
        )


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
            f"{path} was fitted with another model than {model.path or 'this one'}, or "
            "with other settings of from_model; give that model, or fit again"
        )
    fitted = FittedArrays(*(arrays.get(name) for name in FittedArrays._fields))
    if not _fit_together(fitted, model.size):
        raise UserError(f"{path} is damaged: its arrays do not fit each other")
    return _checked(path, fitted)


def _fit_together(fitted: FittedArrays, size: int) -> bool:
    """Returns whether the arrays are those of one classifier."""
    ways = np.size(fitted.classes)
    shapes = FittedArrays((ways,), (ways,), (ways, size), (ways,), (), (), (4,))
    return ways >= 2 and all(map(_is_array_of, fitted, shapes))


def _is_array_of(array: np.ndarray | None, shape: tuple[int, ...]) -> bool:
    """Returns whether an array is there, and of a shape."""
    return array is not None and array.shape == shape


def _checked(path: pathlib.Path, fitted: FittedArrays) -> FittedArrays:
    """Returns the arrays with all numbers in float32, if they can be used."""
    _check_names(path, fitted.classes)
    numbers = {
        name: _numbers(path, name, array)
        for name, array in fitted._asdict().items()
        if name != "classes"
    }
    for name in ("counts", "temperature"):
        if (numbers[name] <= 0).any():
            raise UserError(f"{path} is damaged: {name} must be positive")
    return fitted._replace(**numbers)


def _check_names(path: pathlib.Path, names: np.ndarray) -> None:
    """Raises unless the names of classes are different texts or numbers."""
    usable = names.dtype.kind in "biufU" and len(np.unique(names)) == len(names)
    if usable and names.dtype.kind == "U":
        usable = all(files.is_text(name) for name in names.tolist())
    if not usable:
        raise UserError(
            f"{path} is damaged: the names of its classes, of type {names.dtype}, are "
            "not different texts or numbers"
        )


def _numbers(path: pathlib.Path, name: str, array: np.ndarray) -> np.ndarray:
    """Returns an array in float32, if nothing of it is lost by that."""
    if array.dtype.kind != "f":
        raise UserError(f"{path} is damaged: {name} is of type {array.dtype}")
    unknown = np.isnan(array) & (name in UNCALIBRATED)
    if not (np.isfinite(array) | unknown).all():
        raise UserError(
            f"{path} is damaged: {name} holds numbers that are NaN or infinite; fit "
            "the classes again"
        )
    with np.errstate(over="ignore"):
        converted = array.astype(np.float32)
    if not np.array_equal(converted, array, equal_nan=True):
        raise UserError(
            f"{path} holds {name} of type {array.dtype} that float32 cannot hold; "
            "give what FewShotClassifier.save or predict wrote"
        )
    return converted


def _read_arrays(path: pathlib.Path) -> dict[str, np.ndarray]:
    """Reads the arrays of an npz file by name."""
    if path.exists() and not path.is_file():  # a pipe may never end
        raise UserError(f"{path} is not a file; give a classes.npz")
    try:
        _check_members(path)
        with np.load(path, allow_pickle=False) as file:
            return {name: file[name] for name in file.files}
    except UserError:
        raise
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror or error}") from error
    # NumPy and zipfile meet damaged bytes with errors of a dozen types, and NumPy
    # advises to unpickle them.
    except Exception as error:
        raise UserError(
            f"{path} is not a saved classifier, or is damaged; give what "
            "FewShotClassifier.save or predict wrote"
        ) from error


def _check_members(path: pathlib.Path) -> None:
    """Raises if a file holds other arrays, or would fill the memory with them."""
    with zipfile.ZipFile(path) as archive:
        entries = archive.infolist()
    known = {f"{name}.npy" for name in ("format", "fingerprint", *FittedArrays._fields)}
    if not {entry.filename for entry in entries} <= known:
        raise UserError(f"{path} is not a saved classifier: it holds other arrays")
    unpacked = sum(entry.file_size for entry in entries)
    # `write` packs nothing; whoever does gains little with numbers like these.
    if unpacked > HARMLESS_SIZE + RATIO_LIMIT * path.stat().st_size:
        raise UserError(
            f"{path} unpacks to {unpacked:,} bytes, as a decompression bomb does; "
            "give what FewShotClassifier.save or predict wrote"
        )
