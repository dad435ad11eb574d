"""FewShotClassifier: a handful of labelled images -> a classifier, at once.

What is learned from the images is one prototype for each class. It is all that need
be kept: `save` stores the prototypes, never the images.
"""

import os
import pathlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin
from sklearn.exceptions import NotFittedError

from prwn_tf.evaluation.calibration import AUTO, nothing_of_strangers
from prwn_tf.serving import classifier_file, inputs, models
from prwn_tf.serving.inputs import InputError
from prwn_tf.serving.models import ServedModel

if TYPE_CHECKING:
    from prwn_tf.model import FewShotModel

MAX_NAMES = 8  # of classes in a text


class Answers(NamedTuple):
    """What a classifier makes of B images."""

    probabilities: np.ndarray  # [B, N]
    best: np.ndarray  # [B] index of the nearest class
    runner_up: np.ndarray  # [B] and of the second
    margin: np.ndarray  # [B] log-odds of the nearest against the second
    none_of_these: np.ndarray  # [B] how likely it is of none of them, NaN if unknown


class FewShotClassifier(TransformerMixin, ClassifierMixin, BaseEstimator):
    """Classifies images by the nearest prototype, after scikit-learn's conventions.

    Images are an array [n, height, width] or [n, height, width, channels] of any size,
    a list of arrays, file paths or encoded images, one of these, or a folder.

    Args:
        model: the name of a released model (`prwn_tf.released.MODELS`), a network of
            Keras as "keras:EfficientNetV2B0", which needs no training, the folder of an
            export or of a finished run, or what the constructors below made.
        adapt: what unlabelled images do in `fit`: nothing ("none"), move the
            prototypes ("refine"), or only those do that the walk trusts ("filter")
            or that belong to a class ("gate"). By default "auto": what did best on
            the model's validation classes, "gate" if it is uncalibrated.

    Attributes:
        classes_: [N] the labels, sorted.
        counts_: [N] labelled images of each.
        adapt_: what unlabelled images did; None if that was before `load`.
        served_: prototypes and what else images need, as `answers.ServedClasses`.
        belongs_: [U] how far each unlabelled image in `fit` moved the classes, from 0
            to 1. None without them.

    Example:
        classifier = FewShotClassifier("exported/")
        classifier.fit("examples/", unlabeled="more/")  # a folder for each class
        classifier.fit(["a.png", "b.png"], ["cat", "dog"]).predict("c.png")
    """

    def __init__(
        self,
        model: ServedModel | str | os.PathLike = "omniglot-prwn",
        adapt: str | None = None,
    ):
        self.model = model
        self.adapt = adapt

    @classmethod
    def from_export(cls, path: str | os.PathLike, **settings: Any):
        """Returns a classifier with a model that `python -m prwn_tf.export` wrote."""
        return cls(models.open_export(path), **settings)

    @classmethod
    def from_workdir(cls, path: str | os.PathLike, **settings: Any):
        """Returns a classifier with the model of a finished run, without its data."""
        return cls(models.open_workdir(path), **settings)

    @classmethod
    def from_keras(cls, name: str, weights: str = "imagenet", **settings: Any):
        """Returns one with a network "keras:NAME", its weights published or a file."""
        return cls(models.open_model(name, weights), **settings)

    @classmethod
    def from_model(
        cls,
        model: "FewShotModel",
        image_shape: tuple[int, ...] | None = None,
        drawings: bool = False,
        **settings: Any,
    ):
        """Returns one with a model in memory; `drawings` as `models.from_model` has."""
        return cls(models.from_model(model, image_shape, drawings), **settings)

    def fit(
        self,
        images: Any,
        labels: Any = None,
        unlabeled: Any = None,
        adapt: str | None = None,
    ) -> "FewShotClassifier":
        """Learns the classes from any number of images of each, one at least.

        Without labels, images are a folder with a folder of images for each class.
        """
        if labels is None:
            images, labels = inputs.by_folders(images)
        # Both raise before anything is embedded.
        inputs.adaptation(adapt or self.adapt, unlabeled)
        inputs.encode_labels(labels, inputs.count(images))
        model = self._open_model()
        support = inputs.embeddings(images, model)
        crowd = None if unlabeled is None else inputs.embeddings(unlabeled, model)
        return self.fit_embeddings(support, labels, crowd, adapt)

    def fit_embeddings(
        self,
        support: np.ndarray,
        labels: Any,
        unlabeled: np.ndarray | None = None,
        adapt: str | None = None,
    ) -> "FewShotClassifier":
        """Learns the classes from what `transform` returns: [n, D], [n], [U, D]."""
        from prwn_tf.serving import answers

        adapt = inputs.adaptation(adapt or self.adapt, unlabeled)
        model = self._open_model()
        support = inputs.check_embeddings(support, "support", model.size)
        if unlabeled is not None:
            unlabeled = inputs.check_embeddings(unlabeled, "unlabeled", model.size)
        names, codes = inputs.encode_labels(labels, len(support))
        labeled = answers.labeled(support, codes.astype(np.int32))
        points = support[:0] if unlabeled is None else unlabeled
        calibration = model.calibration
        if adapt == AUTO:
            shots = float(np.exp(np.mean(np.log(labeled.counts))))
            adapt = calibration.best(shots) if calibration else "gate"
        served, belongs = answers.learn(adapt, labeled, points, calibration)
        self.classes_, self.counts_ = names, labeled.counts.numpy()
        self.served_ = answers.ServedClasses(*(each.numpy() for each in served))
        self.belongs_ = None if unlabeled is None else belongs.numpy()
        self.adapt_, self.fingerprint_ = adapt, model.fingerprint
        return self

    @property
    def prototypes_(self) -> np.ndarray:
        """The point of each class: [N, D]."""
        return self.served_.prototypes

    @property
    def calibrated_(self) -> bool:
        """Whether probabilities were compared with how often answers are right."""
        return not np.isnan(self.served_.temperature)

    @property
    def threshold_(self) -> float:
        """What `novelty` of one in twenty images of the classes exceeds, or NaN."""
        return float(self.served_.novelty[-1])

    def predict(self, images: Any) -> np.ndarray:
        """Returns the label of each image: [n]."""
        best = self.predict_proba(images).argmax(axis=-1)
        return self.classes_[best]

    def predict_proba(self, images: Any) -> np.ndarray:
        """Returns the probabilities of `classes_`: [n, N]."""
        self._check_fitted()
        parts = [np.empty((0, len(self.classes_)), np.float32)]
        parts += [batch.probabilities for batch in self._answer_images(images)]
        return np.concatenate(parts)

    def novelty(self, images: Any) -> np.ndarray:
        """Returns how likely each image belongs to none of the classes: [n].

        It would be so if such images were as many as others. Of images that do belong
        to a class, 5 % are above `threshold_`.
        """
        if reason := self.unsaid():
            raise InputError(reason)
        parts = [np.empty(0, np.float32)]
        parts += [batch.none_of_these for batch in self._answer_images(images)]
        return np.concatenate(parts)

    def unsaid(self) -> str:
        """Returns why `novelty` cannot be told and what changes that; "" if it can."""
        self._check_fitted()
        if not np.isnan(self.threshold_):
            return ""
        return nothing_of_strangers(self._open_model().calibration)

    def transform(self, images: Any) -> np.ndarray:
        """Embeds images, for other methods of scikit-learn: -> [n, D]."""
        return inputs.embeddings(images, self._open_model())

    def answer(self, embeddings: np.ndarray) -> Answers:
        """Returns everything about images that were embedded already: [B, D]."""
        return self._answered(embeddings, self._fitted_model())

    def _answered(self, embeddings: np.ndarray, model: ServedModel) -> Answers:
        """Does that with the model that the classes were learned with."""
        from prwn_tf.serving import answers

        embeddings = inputs.check_embeddings(embeddings, "embeddings", model.size)
        answered = answers.classify(self.served_, embeddings)
        scores = answered.scores.numpy()  # [B, N]
        order = np.argsort(-scores, axis=-1, kind="stable")
        best, second = order[:, 0], order[:, 1]
        rows = np.arange(len(scores))
        return Answers(
            probabilities=answered.probabilities.numpy(),
            best=best,
            runner_up=second,
            margin=scores[rows, best] - scores[rows, second],
            none_of_these=answered.none_of_these.numpy(),
        )

    def save(self, path: str | os.PathLike) -> None:
        """Writes what was fitted to a file: prototypes and class names, no images."""
        model, served = self._fitted_model(), self.served_._asdict()
        fitted = classifier_file.FittedArrays(self.classes_, self.counts_, **served)
        classifier_file.write(pathlib.Path(path), fitted, model)

    def export(self, folder: str | os.PathLike) -> None:
        """Writes the model as a SavedModel that TensorFlow alone can serve."""
        from prwn_tf.serving import export

        export.write(self._open_model(), pathlib.Path(folder))

    @classmethod
    def load(
        cls,
        path: str | os.PathLike,
        model: "ServedModel | FewShotModel | str | os.PathLike" = "omniglot-prwn",
    ) -> "FewShotClassifier":
        """Returns the classifier that `save` wrote, for the same model."""
        from prwn_tf.serving.answers import ServedClasses

        classifier = cls(model)
        fitted = classifier_file.read(pathlib.Path(path), classifier._open_model())
        classifier.classes_, classifier.counts_, *served = fitted
        classifier.served_ = ServedClasses(*served)
        classifier.belongs_ = classifier.adapt_ = None
        classifier.fingerprint_ = classifier._open_model().fingerprint
        return classifier

    def _answer_images(self, images: Any) -> Iterator[Answers]:
        """Answers images a batch at a time, of a model that is looked at once."""
        model = self._fitted_model()
        for embeddings in inputs.embedding_batches(images, model):
            yield self._answered(embeddings, model)

    def _open_model(self) -> ServedModel:
        """Returns the model, opened when it is first asked for."""
        if isinstance(self.model, ServedModel):
            return self.model
        if getattr(self, "_path", None) != self.model:
            self._model, self._path = models.served(self.model), self.model
        return self._model

    def _fitted_model(self) -> ServedModel:
        """Returns the model if it is still the one that the classes were learned with.

        One in memory may have been trained on, and a folder may hold another when a
        classifier is unpickled.
        """
        self._check_fitted()
        model = self._open_model()
        if model.fingerprint != getattr(self, "fingerprint_", None):
            raise InputError(
                f"the model in {model.path or 'memory'} is not what it was when the "
                "classes were learned; call fit again"
            )
        return model

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:  # scikit-learn's name
        text = super().__repr__(N_CHAR_MAX)
        if not hasattr(self, "classes_"):
            return text
        names = list(map(str, self.classes_))
        if len(names) > MAX_NAMES:
            names[MAX_NAMES:] = [f"{len(names) - MAX_NAMES} more"]
        return f"{text} of {len(self.classes_)} classes: {', '.join(names)}"

    def __sklearn_tags__(self) -> Any:
        """Returns what scikit-learn may expect: images have more than two axes."""
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array, tags.input_tags.three_d_array = False, True
        tags.transformer_tags.preserves_dtype = []  # embeddings are float32
        return tags

    def _check_fitted(self) -> None:
        """Raises unless classes were learned."""
        if not hasattr(self, "served_"):
            raise NotFittedError("call fit(images, labels) first, or load a saved one")
