"""What is exported: functions of tensors with names, and the encoder's weights."""

import hashlib
import json
import pathlib

import tensorflow as tf

from prwn_tf import config as config_lib
from prwn_tf.errors import StorageError
from prwn_tf.model import FewShotModel
from prwn_tf.serving import answers
from prwn_tf.serving.answers import Prototypes
from prwn_tf.serving.preprocess import Preprocess

Named = dict[str, tf.Tensor]


class Functions:
    """A trained model's functions, each of any number of images and of classes."""

    def __init__(self, model: FewShotModel, preprocess: Preprocess):
        self._model = model
        self._preprocess = preprocess
        size = (preprocess.size, preprocess.size, preprocess.channels)
        _, self.size = model.encoder.compute_output_shape((None, *size))
        self.signatures = self._signatures()

    def _signatures(self) -> dict[str, tf.types.experimental.PolymorphicFunction]:
        """The functions by the names that they are exported under."""
        images = tf.TensorSpec([None, None, None, None], tf.uint8, "images")
        contents = tf.TensorSpec([None], tf.string, "contents")
        labels = tf.TensorSpec([None], tf.int32, "labels")
        embeddings, prototypes, unlabeled = (
            tf.TensorSpec([None, self.size], tf.float32, name)
            for name in ("embeddings", "prototypes", "unlabeled")
        )
        counts, weights = (
            tf.TensorSpec([None], tf.float32, name) for name in ("counts", "weights")
        )
        inputs = {
            "embed": (self.embed, [images]),
            "embed_encoded": (self.embed_encoded, [contents]),
            "prototypes": (self.prototypes, [embeddings, labels]),
            "filter": (self.filter, [prototypes, unlabeled]),
            "refine": (self.refine, [prototypes, counts, unlabeled, weights]),
            "classify": (self.classify, [prototypes, images]),
            "classify_encoded": (self.classify_encoded, [prototypes, contents]),
        }
        return {
            name: tf.function(function, input_signature=specs)
            for name, (function, specs) in inputs.items()
        }

    def embed(self, images: tf.Tensor) -> Named:
        """Images of any size, gray or colour -> embeddings: [B, H, W, C] -> [B, D]."""
        return self._embedded(self._preprocess(images))

    def embed_encoded(self, contents: tf.Tensor) -> Named:
        """The same of JPEG, PNG, GIF or BMP files: [B] -> [B, D]."""
        return self._embedded(self._preprocess.decode(contents))

    def _embedded(self, prepared: tf.Tensor) -> Named:
        return {"embeddings": self._model(prepared, training=False)}

    def prototypes(self, embeddings: tf.Tensor, labels: tf.Tensor) -> Named:
        """[n, D] and labels 0..N-1 [n] -> prototypes [N, D] of counts [N] images."""
        return _named(answers.class_means(embeddings, labels))

    def filter(self, prototypes: tf.Tensor, unlabeled: tf.Tensor) -> Named:
        """Log of how far the walk trusts points, and which it keeps: -> [U], [U]."""
        scores, weights = answers.trust(prototypes, unlabeled)
        return {"scores": scores, "weights": weights}

    def refine(
        self,
        prototypes: tf.Tensor,
        counts: tf.Tensor,
        unlabeled: tf.Tensor,
        weights: tf.Tensor,
    ) -> Named:
        """Prototypes moved towards points [U, D] of weights [U]; 1 is full weight."""
        before = Prototypes(prototypes, counts)
        return _named(answers.refined(before, unlabeled, weights))

    def classify(self, prototypes: tf.Tensor, images: tf.Tensor) -> Named:
        """The nearest prototype of each image: labels [B], probabilities [B, N]."""
        return _answer(prototypes, **self.embed(images))

    def classify_encoded(self, prototypes: tf.Tensor, contents: tf.Tensor) -> Named:
        """The same of JPEG, PNG, GIF or BMP files: [N, D], [B]."""
        return _answer(prototypes, **self.embed_encoded(contents))

    def save(self, folder: pathlib.Path) -> None:
        """Writes a SavedModel that needs nothing but TensorFlow."""
        holder = tf.Module()
        # Keras' own objects would be saved as well; their variables are enough.
        holder.weights = [each.value for each in self._model.encoder.variables]
        try:
            tf.saved_model.save(holder, str(folder), signatures=self.signatures)
        except tf.errors.OpError as error:
            reason = error.message.splitlines()[0]
            raise StorageError(
                f"cannot save the model in {folder}: {reason}"
            ) from error

    def fingerprint(self) -> str:
        """Tells models apart whose embeddings differ: SHA-256 of all weights."""
        digest = hashlib.sha256()
        about = config_lib.to_dict(self._preprocess)
        digest.update(json.dumps(about, sort_keys=True).encode())
        for variable in self._model.encoder.variables:
            digest.update(str(tuple(variable.shape)).encode())
            digest.update(variable.numpy().tobytes())
        return digest.hexdigest()


def _named(prototypes: Prototypes) -> Named:
    return {"prototypes": prototypes.means, "counts": prototypes.counts}


def _answer(prototypes: tf.Tensor, embeddings: tf.Tensor) -> Named:
    scores = answers.scores(prototypes, embeddings)
    return {
        "labels": tf.argmax(scores, axis=-1, output_type=tf.int32),
        "probabilities": tf.nn.softmax(scores),
        "scores": scores,
    }
