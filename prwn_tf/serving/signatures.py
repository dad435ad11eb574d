"""The functions of a trained model that are exported, and the weights they share."""

import functools
import pathlib
from typing import Any

import tensorflow as tf

from prwn_tf import config_json, files, runs
from prwn_tf.config import ADAPTATIONS
from prwn_tf.errors import StorageError, UserError, first_line
from prwn_tf.evaluation import calibration as calibration_lib
from prwn_tf.evaluation.calibration import Calibration
from prwn_tf.heads.base import Head
from prwn_tf.model import FewShotModel
from prwn_tf.runs import Source
from prwn_tf.serving import answers, manifest
from prwn_tf.serving.answers import NamedClasses, ServedClasses
from prwn_tf.serving.preprocess import Preprocess
from prwn_tf.training.workdir import Workdir

NamedTensors = dict[str, tf.Tensor]


class Signatures:
    """What a trained model computes, for any number of images and of classes.

    Attributes:
        functions: by the names that they are exported under.
        embedding_size: D.
        calibration: what validation classes say of its answers, if they do.
    """

    def __init__(
        self,
        model: FewShotModel,
        preprocess: Preprocess,
        calibration: Calibration | None = None,
    ):
        if not model.head.by_prototypes:
            raise UserError(
                f"an export and the classifier serve prototypes, and the head of this "
                f"model, {type(model.head).__name__}, is more than that; use python -m "
                "prwn_tf.evaluate instead"
            )
        self.preprocess = preprocess
        self.calibration = calibration
        self._model = model
        image = (preprocess.size, preprocess.size, preprocess.channels)
        _, self.embedding_size = model.encoder.compute_output_shape((None, *image))
        self.functions = self._functions()

    def _functions(self) -> dict[str, tf.types.experimental.PolymorphicFunction]:
        """Returns the methods below with the types and names of their arguments."""
        images = tf.TensorSpec([None, None, None, None], tf.uint8, "images")
        contents = tf.TensorSpec([None], tf.string, "contents")
        labels = tf.TensorSpec([None], tf.int32, "labels")
        embeddings, prototypes, unlabeled = (
            tf.TensorSpec([None, self.embedding_size], tf.float32, name)
            for name in ("embeddings", "prototypes", "unlabeled")
        )
        numbers = {"offsets": [None], "stranger": [], "temperature": [], "novelty": [4]}
        classes = [prototypes]
        classes += [tf.TensorSpec(v, tf.float32, k) for k, v in numbers.items()]
        arguments = {
            "embed": (self.embed, [images]),
            "embed_encoded": (self.embed_encoded, [contents]),
            "prototypes": (self.prototypes, [embeddings, labels]),
            "classify": (self.classify, [*classes, images]),
            "classify_encoded": (self.classify_encoded, [*classes, contents]),
        }
        for adapt in ADAPTATIONS[1:]:
            adapted = functools.partial(self.adapted, adapt)
            arguments[adapt] = (adapted, [embeddings, labels, unlabeled])
        return {
            # AutoGraph, which nothing here needs, leaves files when it is killed.
            name: tf.function(function, input_signature=specs, autograph=False)
            for name, (function, specs) in arguments.items()
        }

    def embed(self, images: tf.Tensor) -> NamedTensors:
        """Embeds images of any size, gray or colour: [B, H, W, C] -> [B, D]."""
        return self.embed_prepared(self.preprocess(images))

    def embed_encoded(self, contents: tf.Tensor) -> NamedTensors:
        """Embeds the contents of files that TensorFlow decodes: [B] -> [B, D]."""
        return self.embed_prepared(self.preprocess.decode(contents))

    def embed_prepared(self, images: tf.Tensor) -> NamedTensors:
        """Embeds images that are as the model takes them."""
        return {"embeddings": self._model(images, training=False)}

    def prototypes(self, embeddings: tf.Tensor, labels: tf.Tensor) -> NamedTensors:
        """Returns the classes of embeddings [n, D] by their labels 0..N-1 [n]."""
        return self.adapted("none", embeddings, labels, embeddings[:0])

    def adapted(
        self, adapt: str, embeddings: tf.Tensor, labels: tf.Tensor, unlabeled: tf.Tensor
    ) -> NamedTensors:
        """Returns the same, moved by unlabelled points [U, D] as `adapt` has it."""
        support = answers.labeled(embeddings, labels)
        served, _ = answers.learn(adapt, support, unlabeled, self.calibration)
        return served._asdict()

    def classify(self, *classes_and_images: tf.Tensor) -> NamedTensors:
        """Returns what is made of images [B, H, W, C], as `Answered` has it."""
        *classes, images = classes_and_images
        embeddings = self.embed(images)["embeddings"]
        return answers.classify(ServedClasses(*classes), embeddings)._asdict()

    def classify_encoded(self, *classes_and_contents: tf.Tensor) -> NamedTensors:
        """Does the same for the contents of files: [B]."""
        *classes, contents = classes_and_contents
        embeddings = self.embed_encoded(contents)["embeddings"]
        return answers.classify(ServedClasses(*classes), embeddings)._asdict()

    def by_name(
        self, classes: NamedClasses
    ) -> tf.types.experimental.PolymorphicFunction:
        """Returns the function of files alone, for classes that are fixed."""

        def answer(contents: tf.Tensor) -> NamedTensors:
            embeddings = self.embed_encoded(contents)["embeddings"]
            return answers.classify_by_name(classes, embeddings)

        contents = tf.TensorSpec([None], tf.string, "contents")
        return tf.function(answer, input_signature=[contents], autograph=False)

    def save(self, folder: pathlib.Path, classes: NamedClasses | None = None) -> None:
        """Writes a SavedModel that needs nothing but TensorFlow.

        Args:
            classes: what `serving_default`, which else is not there, tells apart.
        """
        functions = dict(self.functions)
        if classes is not None:
            functions["serving_default"] = self.by_name(classes)
        self.save_functions(folder, functions)

    def save_functions(
        self,
        folder: pathlib.Path,
        functions: dict[str, tf.types.experimental.PolymorphicFunction],
    ) -> None:
        """Writes a SavedModel of functions that use the encoder."""
        holder = tf.Module()
        # Keras' own objects would be saved as well; their variables are enough.
        holder.weights = [each.value for each in self._model.encoder.variables]
        try:
            tf.saved_model.save(holder, str(folder), signatures=functions)
        except tf.errors.OpError as error:
            raise StorageError(
                f"cannot save the model in {folder}: {first_line(error)}"
            ) from error

    def about(self) -> dict[str, Any]:
        """Returns what has to be known of the model to serve it."""
        return {
            "preprocess": config_json.to_dict(self.preprocess),
            "embedding_size": self.embedding_size,
            "fingerprint": self.fingerprint(),
            "calibration": self.calibration and self.calibration.to_dict(),
        }

    def fingerprint(self) -> str:
        """Returns the SHA-256 of all weights, which tells models apart."""
        weights = (each.numpy() for each in self._model.encoder.variables)
        return manifest.fingerprint(self.preprocess, weights)


def load(source: Source) -> tuple[Signatures, dict[str, Any]]:
    """Loads a finished run or an untrained model, and what its export says of it."""
    preprocess = Preprocess.from_config(runs.config_of(source))
    is_run = isinstance(source, Workdir)
    if is_run:
        source.check_finished()
    trained = runs.load_model(source)
    calibration = calibration_lib.read(source.calibration) if is_run else None
    if calibration and trained.model.head.uses_unlabeled:
        calibration = calibration.without("none")  # which is not what is served
    signatures = Signatures(trained.model, preprocess, calibration)
    rows = _accuracy_rows(source.result, trained.model.head) if is_run else []
    about = {
        "method": trained.name,
        "dataset": trained.learned_from,
        "step": trained.step,
        **signatures.about(),
        "accuracy": rows,
        "config": config_json.to_dict(trained.config),
    }
    return signatures, about


def _accuracy_rows(result: pathlib.Path, head: Head) -> list[dict[str, Any]]:
    """Returns the rows of a result that were measured with prototypes.

    A head that learns from unlabelled points answers "none" in a way of its own, which
    is not what is exported.
    """
    content = files.read_json(result)
    rows = content.get("test") if isinstance(content, dict) else None
    if not isinstance(rows, list) or not all(map(_is_row, rows)):
        raise UserError(
            f"{result} holds no test rows with adapt, way, shot and an accuracy from 0 "
            "to 1; the training command makes it"
        )
    return [row for row in rows if not (head.uses_unlabeled and row["adapt"] == "none")]


def _is_row(row: Any) -> bool:
    """Returns whether a value is a row of test results."""
    kinds = {"adapt": str, "way": int, "shot": int, "accuracy": float}
    return (
        isinstance(row, dict)
        and all(type(row.get(name)) is kind for name, kind in kinds.items())
        and 0 <= row["accuracy"] <= 1
    )
