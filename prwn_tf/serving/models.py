"""A model that is ready to embed images: an export, a run's workdir, or in memory."""

import pathlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from prwn_tf import config as config_lib
from prwn_tf import files
from prwn_tf.data import tree
from prwn_tf.encoders.batches import images_at_once
from prwn_tf.errors import UserError
from prwn_tf.serving import manifest
from prwn_tf.serving.preprocess import Preprocess

if TYPE_CHECKING:
    from prwn_tf.model import FewShotModel

KERAS_FILES = (b"PK\x03\x04", b"\x89HDF")


class ServedModel:
    """Embeds images; safe to use from several threads.

    Attributes:
        path: where it was opened; None if it was in memory.
        about: what is known of it, as in an export's manifest.
    """

    def __init__(
        self,
        path: pathlib.Path | None,
        embed: Callable[[np.ndarray], np.ndarray],
        preprocess: Preprocess,
        about: dict[str, Any],
    ):
        self.path = path
        self.preprocess = preprocess
        self.about = about
        self._embed = embed

    @property
    def size(self) -> int:
        """D."""
        return self.about["embedding_size"]

    @property
    def fingerprint(self) -> str:
        return self.about["fingerprint"]

    @property
    def batch(self) -> int:
        """Images that are best embedded at once."""
        return images_at_once(self.preprocess.size, self.preprocess.size)

    def embed(self, pixels: np.ndarray) -> np.ndarray:
        """Bytes [B, height, width, 1, 3 or 4] -> embeddings [B, D]."""
        if not len(pixels):
            return np.empty((0, self.size), np.float32)
        return self._embed(pixels)

    def __deepcopy__(self, memo: dict) -> "ServedModel":
        return self  # nothing in it changes, and scikit-learn copies a lot

    def __reduce__(self):
        if self.path is None:
            raise TypeError("a model in memory cannot be pickled; use one thread")
        return open_model, (self.path,)

    def __repr__(self) -> str:
        return f"ServedModel({str(self.path)!r})"


def check(path: pathlib.Path) -> None:
    """Raises unless a folder is a model that we load, without loading it."""
    files.check_name(path)
    if path.is_file():
        if tree.beginning(path).startswith(KERAS_FILES):
            raise UserError(
                f"{path} is a Keras file, which can run code when it is loaded; give "
                "the folder of a run, or one made by python -m prwn_tf.export"
            )
        raise UserError(f"{path} is a file; give the folder of a model")
    if not path.is_dir():
        raise UserError(f"the model folder {path} does not exist")
    if not manifest.is_export(path) and not (path / "config.json").is_file():
        raise UserError(
            f"{path} is no model: it has neither {manifest.NAME} with a SavedModel "
            "beside it nor config.json; make one with python -m prwn_tf.export"
        )


def open_model(path: str | pathlib.Path) -> ServedModel:
    """The model in a folder, whichever of the two kinds it is."""
    path = pathlib.Path(path)
    check(path)
    return open_export(path) if manifest.is_export(path) else open_workdir(path)


def open_workdir(path: str | pathlib.Path) -> ServedModel:
    """The model of a finished run; its data is not needed."""
    from prwn_tf.serving import trained

    path = pathlib.Path(path)
    found = trained.load(path)
    embed = found.functions.signatures["embed"]
    return ServedModel(path, _on_arrays(embed), found.preprocess, found.about)


def open_export(path: str | pathlib.Path) -> ServedModel:
    """An exported model, after all of its files were verified."""
    path = pathlib.Path(path)
    files.check_name(path)
    about = manifest.read(path)
    where = str(path / manifest.NAME)
    preprocess = config_lib.from_dict(Preprocess, about.get("preprocess"), where)
    for name, kind in (("embedding_size", int), ("fingerprint", str)):
        if type(about.get(name)) is not kind:
            raise UserError(f"{where} has no {name}; export the run again")

    import tensorflow as tf

    try:
        loaded = tf.saved_model.load(str(path))
        embed = loaded.signatures["embed"]
    except Exception as error:  # of whatever kind a foreign graph leads to
        reason = str(error).splitlines()[0]
        raise UserError(f"{path} cannot be loaded: {reason}") from error
    return ServedModel(path, _on_arrays(embed, loaded), preprocess, about)


def from_model(model: "FewShotModel", image_shape: tuple[int, ...]) -> ServedModel:
    """A model in memory, with whatever encoder, as it is now.

    Args:
        image_shape: the height, width and channels that it was built for.
    """
    from prwn_tf.serving.signatures import Functions

    preprocess = Preprocess.of_shape(tuple(image_shape), "in memory")
    functions = Functions(model, preprocess)
    about = {"embedding_size": functions.size, "fingerprint": functions.fingerprint()}
    return ServedModel(
        None, _on_arrays(functions.signatures["embed"]), preprocess, about
    )


def _on_arrays(embed: Callable, *kept: Any) -> Callable[[np.ndarray], np.ndarray]:
    """`embed` of arrays; `kept` holds the variables of a loaded model alive."""

    def on_arrays(pixels: np.ndarray, _kept: tuple = kept) -> np.ndarray:
        import tensorflow as tf

        return embed(images=tf.constant(pixels))["embeddings"].numpy()

    return on_arrays
