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
from sklearn.utils.multiclass import check_classification_targets

from prwn_tf.config import ADAPTATIONS
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
    out_of_class: np.ndarray  # [B], NaN if there was no unlabelled image


class FewShotClassifier(TransformerMixin, ClassifierMixin, BaseEstimator):
    """Classifies images by the nearest prototype, after scikit-learn's conventions.

    Images are an array [n, height, width] or [n, height, width, channels] of any size,
    a list of arrays, file paths or encoded images, one of these, or a folder.

    Args:
        model: the name of a released model (`prwn_tf.released.MODELS`), the folder of
            an export or of a finished run, or what the constructors below made.
        adapt: what unlabelled images do in `fit`: nothing ("none"), move the
            prototypes ("refine"), or only those do that the walk trusts ("filter").
            By default "filter" if there are any.

    Attributes:
        classes_: [N] the labels, sorted.
        prototypes_: [N, D]; counts_: [N] images that each is the mean of.
        trust_, trusted_: [U] of the unlabelled images in `fit`: the logarithm of how
            likely the walk returns through each, and whether the filter keeps it. None
            without them.

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
    def from_model(
        cls,
        model: "FewShotModel",
        image_shape: tuple[int, ...] | None = None,
        **settings: Any,
    ):
        """Returns a classifier with a model in memory, whatever its encoder."""
        return cls(models.from_model(model, image_shape), **settings)

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
        self._adaptation(adapt, unlabeled)  # both raise before anything is embedded
        _encode_labels(labels, inputs.count(images))
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

        adapt = self._adaptation(adapt, unlabeled)
        names, codes = _encode_labels(labels, len(support))
        prototypes = answers.class_means(support, codes.astype(np.int32))
        self.trust_ = self.trusted_ = self.crowd_ = None
        if unlabeled is not None:
            trust, kept = answers.trust(prototypes.means, unlabeled)
            weights = {"none": kept * 0, "refine": kept * 0 + 1, "filter": kept}[adapt]
            prototypes = answers.refined(prototypes, unlabeled, weights)
            self.trust_, self.trusted_ = trust.numpy(), kept.numpy() > 0
            self.crowd_ = _arrays(answers.crowd(prototypes.means, unlabeled))
        self.classes_ = names
        self.prototypes_, self.counts_ = _arrays(prototypes)
        return self

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

    def out_of_class(self, images: Any) -> np.ndarray:
        """Returns how unlike all classes each image is, from 0 to 1: [n].

        This is the share of the unlabelled images in `fit` that the walk trusts more;
        above one half, the filter would set the image aside.
        """
        self._check_fitted()
        if self.crowd_ is None:
            raise InputError(
                "out_of_class compares with unlabelled images, and fit was given "
                "none; give it some"
            )
        parts = [np.empty(0, np.float32)]
        parts += [batch.out_of_class for batch in self._answer_images(images)]
        return np.concatenate(parts)

    def transform(self, images: Any) -> np.ndarray:
        """Embeds images, for other methods of scikit-learn: -> [n, D]."""
        return inputs.embeddings(images, self._open_model())

    def answer(self, embeddings: np.ndarray) -> Answers:
        """Returns everything about images that were embedded already: [B, D]."""
        from prwn_tf.serving import answers

        scores = answers.scores(self.prototypes_, embeddings).numpy()  # [B, N]
        order = np.argsort(-scores, axis=-1, kind="stable")
        best, second = order[:, 0], order[:, 1]
        rows = np.arange(len(scores))
        likely = np.exp(scores - scores[rows, best][:, None])
        crowd = None if self.crowd_ is None else answers.Crowd(*self.crowd_)
        return Answers(
            probabilities=likely / likely.sum(axis=-1, keepdims=True),
            best=best,
            runner_up=second,
            margin=scores[rows, best] - scores[rows, second],
            out_of_class=np.full(len(scores), np.nan, np.float32)
            if crowd is None
            else answers.out_of_class(self.prototypes_, crowd, embeddings).numpy(),
        )

    def save(self, path: str | os.PathLike) -> None:
        """Writes what was fitted to a file: prototypes and class names, no images."""
        self._check_fitted()
        fitted = classifier_file.FittedArrays(
            self.classes_, self.prototypes_, self.counts_, *(self.crowd_ or (None,) * 2)
        )
        classifier_file.write(pathlib.Path(path), fitted, self._open_model())

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
        classifier = cls(model)
        fitted = classifier_file.read(pathlib.Path(path), classifier._open_model())
        classifier.classes_ = fitted.classes
        classifier.prototypes_, classifier.counts_ = fitted.prototypes, fitted.counts
        classifier.trust_ = classifier.trusted_ = None
        crowd = (fitted.log_totals, fitted.scores)
        classifier.crowd_ = None if fitted.scores is None else crowd
        return classifier

    def _answer_images(self, images: Any) -> Iterator[Answers]:
        """Answers images a batch at a time."""
        yield from map(
            self.answer, inputs.embedding_batches(images, self._open_model())
        )

    def _adaptation(self, adapt: str | None, unlabeled: Any) -> str:
        """Returns what the unlabelled images do, if that can be done."""
        adapt = adapt or self.adapt or ("none" if unlabeled is None else "filter")
        if adapt not in ADAPTATIONS:
            raise InputError(f"adapt is one of {', '.join(ADAPTATIONS)}, got {adapt!r}")
        if unlabeled is None and adapt != "none":
            raise InputError(
                f"adapt={adapt!r} moves the prototypes by unlabelled images, and none "
                "were given; give some, or use adapt='none'"
            )
        if unlabeled is not None and not inputs.count(unlabeled):
            raise InputError("unlabeled holds no image; leave it out, or give some")
        return adapt

    def _open_model(self) -> ServedModel:
        """Returns the model, opened when it is first asked for."""
        if isinstance(self.model, ServedModel):
            return self.model
        if getattr(self, "_path", None) != self.model:
            self._model, self._path = models.served(self.model), self.model
        return self._model

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
        if not hasattr(self, "prototypes_"):
            raise NotFittedError("call fit(images, labels) first, or load a saved one")


def _encode_labels(labels: Any, images: int) -> tuple[np.ndarray, np.ndarray]:
    """Returns the classes [N], sorted, and the index of each image's class: [n]."""
    labels = np.asarray(labels)
    if labels.dtype == object and all(isinstance(each, str) for each in labels):
        labels = labels.astype(str)
    if labels.ndim != 1 or labels.dtype.kind not in "biufU":
        raise InputError(
            "Unknown label type: labels must be a list of strings or numbers, one for "
            f"each image, found an array of shape {labels.shape}, type {labels.dtype}"
        )
    check_classification_targets(labels)
    if len(labels) != images:
        raise InputError(f"found {images} images and {len(labels)} labels")
    names, codes = np.unique(labels, return_inverse=True)
    if len(names) < 2:
        raise InputError(
            f"found {len(names)} class among {images} labelled images; there must be "
            "two at least to tell apart"
        )
    return names, codes


def _arrays(tensors: tuple) -> tuple[np.ndarray, ...]:
    """Returns tensors as arrays."""
    return tuple(tensor.numpy() for tensor in tensors)
