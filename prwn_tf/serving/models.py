"""Models that are ready to embed images: exported, a run's, in memory, or Keras'."""

import dataclasses
import os
import pathlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from prwn_tf import backbones, config_json, files, protocols, released
from prwn_tf.data import tree
from prwn_tf.encoders.batches import images_at_once
from prwn_tf.errors import UserError, first_line
from prwn_tf.evaluation import calibration
from prwn_tf.evaluation.calibration import Calibration
from prwn_tf.runs import Source
from prwn_tf.serving import manifest
from prwn_tf.serving.preprocess import Preprocess
from prwn_tf.training.workdir import Workdir

if TYPE_CHECKING:
    from prwn_tf.model import FewShotModel
    from prwn_tf.serving.signatures import Signatures

MAX_REPLACED = 3  # times that an export is opened again because it was replaced
KERAS_FILES = (b"PK\x03\x04", b"\x89HDF")  # how files of Keras begin


class ServedModel:
    """Embeds images; safe to use from several threads.

    Attributes:
        path: where it was opened, or the name of a network of Keras; None if it was in
            memory.
        preprocess: what images go through first.
        about: what is known of it, as in an export's manifest.
        signatures: what it can be exported as; None of an export.
        weights: of a network of Keras, as --encoder_weights names them.
    """

    def __init__(
        self,
        path: pathlib.Path | str | None,
        embed: Callable[[np.ndarray], np.ndarray],
        preprocess: Preprocess,
        about: dict[str, Any],
        signatures: "Signatures | None" = None,
        weights: str = backbones.IMAGENET,
    ):
        self.path = path
        self.weights = weights
        self.preprocess = preprocess
        self.about = about
        self.signatures = signatures
        self._embed = embed

    @property
    def size(self) -> int:
        """The numbers in an embedding, D."""
        return self.about["embedding_size"]

    @property
    def fingerprint(self) -> str:
        """The hash that tells models apart; one in memory may have been trained on."""
        if self.path is None:
            return self.signatures.fingerprint()
        return self.about["fingerprint"]

    @property
    def calibration(self) -> Calibration | None:
        """What validation classes say of its answers; None if it is uncalibrated."""
        return _calibration(self.about)

    @property
    def batch_size(self) -> int:
        """The number of images that are best embedded at once."""
        return images_at_once(self.preprocess.size, self.preprocess.size)

    def embed(self, pixels: np.ndarray) -> np.ndarray:
        """Embeds bytes [B, height, width, 1, 3 or 4]: -> [B, D]."""
        if not len(pixels):
            return np.empty((0, self.size), np.float32)
        return self._embed(pixels)

    def __deepcopy__(self, memo: dict) -> "ServedModel":
        return self  # nothing in it changes, and scikit-learn copies a lot

    def __reduce__(self):
        if self.path is None:
            raise TypeError("a model in memory cannot be pickled; use one thread")
        return open_model, (self.path, self.weights)

    def __repr__(self) -> str:
        method, dataset = self.about.get("method"), self.about.get("dataset")
        kind = "drawings" if self.preprocess.drawings else "photographs"
        where = f"{self.path}: " if self.path else ""
        return (
            f"<{where}{method} trained on {dataset}, {kind} of {self.preprocess.size} "
            f"pixels to {self.size} numbers>"
        )


def check(path: pathlib.Path | str, weights: str = backbones.IMAGENET) -> None:
    """Raises unless a folder holds a model of ours, or Keras has it; loads nothing."""
    if backbones.is_backbone(str(path)):
        backbones.check(str(path))
        backbones.check_weights(weights)
        return
    files.check_name(path)
    if path.is_file():
        if tree.beginning(path).startswith(KERAS_FILES):
            raise UserError(
                f"{path} is a Keras file, which can run code when it is loaded; give "
                "the folder of a run, or one made by python -m prwn_tf.export"
            )
        raise UserError(f"{path} is a file; give the folder of a model")
    if not path.is_dir():
        raise UserError(
            f"the model folder {path} does not exist; released models are "
            f"{', '.join(released.MODELS)}"
        )
    if not manifest.is_export(path) and not (path / "config.json").is_file():
        raise UserError(
            f"{path} is no model: it has neither {manifest.NAME} with a SavedModel "
            "beside it nor config.json; make one with python -m prwn_tf.export"
        )


def served(model: "ServedModel | FewShotModel | str | os.PathLike") -> ServedModel:
    """Returns a model that is ready: itself, from memory, by its name or folder."""
    if isinstance(model, ServedModel):
        return model
    named = isinstance(model, str | os.PathLike)
    return open_model(model) if named else from_model(model)


def open_model(
    path: str | pathlib.Path, weights: str = backbones.IMAGENET
) -> ServedModel:
    """Opens a model by its name, released or Keras', or the one in a folder.

    Args:
        weights: of a network of Keras, as --encoder_weights names them.
    """
    path = str(path) if backbones.is_backbone(str(path)) else released.model(path)
    check(path, weights)
    if isinstance(path, str):
        return _open(path, protocols.untrained(path, weights), weights)
    return open_export(path) if manifest.is_export(path) else open_workdir(path)


def open_workdir(path: str | pathlib.Path) -> ServedModel:
    """Opens the model of a finished run; its data is not needed."""
    path = pathlib.Path(path)
    return _open(path, Workdir(path))


def _open(path: pathlib.Path | str, source: Source, *weights: str) -> ServedModel:
    """Opens the model that a source describes."""
    from prwn_tf.serving import signatures as signatures_lib

    signatures, about = signatures_lib.load(source)
    embed = _on_arrays(signatures.functions["embed"])
    return ServedModel(path, embed, signatures.preprocess, about, signatures, *weights)


def open_export(path: str | pathlib.Path) -> ServedModel:
    """Opens an exported model, after all of its files were verified.

    If it is replaced by another meanwhile, that one is opened.
    """
    path = pathlib.Path(path)
    files.check_name(path)
    for _ in range(MAX_REPLACED):
        seen = manifest.identity(path)
        try:
            return _open_verified(path)
        except UserError:
            if manifest.identity(path) == seen:
                raise
    return _open_verified(path)


def _open_verified(path: pathlib.Path) -> ServedModel:
    """Opens an exported model, or raises if it is not what its manifest says."""
    about = manifest.read(path)
    where = str(path / manifest.NAME)
    try:
        preprocess = config_json.from_dict(Preprocess, about.get("preprocess"), where)
        _calibration(about)
    except UserError as error:
        raise UserError(f"{where}: {error}; export the run again") from error
    for name, kind in (("embedding_size", int), ("fingerprint", str)):
        if type(about.get(name)) is not kind:
            raise UserError(f"{where} has no {name}; export the run again")

    import tensorflow as tf

    try:
        saved = tf.saved_model.load(str(path))
        embed = saved.signatures["embed"]
        size = embed.structured_outputs["embeddings"].shape[-1]
        weights = [each.numpy() for each in saved.weights]
    except Exception as error:  # of whatever kind a foreign graph leads to
        raise UserError(f"{path} cannot be loaded: {first_line(error)}") from error
    computed = {
        "embedding_size": size,
        "fingerprint": manifest.fingerprint(preprocess, weights),
    }
    for name, value in computed.items():
        if about[name] != value:
            raise UserError(
                f"{where} was altered: its {name} is {about[name]}, that of the model "
                f"and of its preprocess is {value}; export the run again"
            )
    return ServedModel(path, _on_arrays(embed, saved), preprocess, about)


def _calibration(about: dict[str, Any]) -> Calibration | None:
    """Returns the calibration in the description of a model, if there is one."""
    content = about.get("calibration")
    return None if content is None else calibration.from_dict(content, "calibration")


def from_model(
    model: "FewShotModel",
    image_shape: tuple[int, ...] | None = None,
    drawings: bool = False,
) -> ServedModel:
    """Serves a model in memory, whatever its encoder.

    Args:
        image_shape: height, width and channels; by default those it was built for.
        drawings: whether gray images are drawings in bright ink on black, so that
            those in dark ink on white are turned around.
    """
    from prwn_tf.serving.signatures import Signatures

    shape = tuple(image_shape or model.image_shape)
    preprocess = Preprocess.of_shape(shape, "data in memory")
    if preprocess.channels == 1:
        preprocess = dataclasses.replace(preprocess, turns=drawings)
    signatures = Signatures(model, preprocess)
    embed = _on_arrays(signatures.functions["embed"])
    about = {
        "method": repr(model),
        "dataset": "data in memory",
        **signatures.about(),
        "accuracy": [],
    }
    return ServedModel(None, embed, preprocess, about, signatures)


def _on_arrays(function: Callable, *kept: Any) -> Callable[[np.ndarray], np.ndarray]:
    """Returns a function of arrays from one of tensors.

    Args:
        kept: what has to stay alive with it, the variables of a loaded model.
    """

    def embed(pixels: np.ndarray, _kept: tuple = kept) -> np.ndarray:
        import tensorflow as tf

        return function(images=tf.constant(pixels))["embeddings"].numpy()

    return embed
