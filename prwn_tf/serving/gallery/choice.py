"""The images that a page shows: a bounded number, however many there are."""

import dataclasses
from collections import defaultdict
from collections.abc import Sequence

from prwn_tf.serving.predictions import Prediction, Predictions

MAX_CERTAIN = 300  # most certain images of all classes, and as many least certain
EXAMPLES_RANGE = (2, 12)  # examples of a class, at least and at most
ANSWERS_RANGE = (3, 18)  # answers of a class at either end, at least and at most
MAX_UNLABELED = 60  # unlabelled images that are trusted, and as many that are not
MAX_DOUBTED = 24  # queries that are least like any class
MAX_LISTED = 20_000  # queries in the list of all
MAX_PICTURED = 200  # of which so many have a picture, the most doubtful


@dataclasses.dataclass(frozen=True)
class ClassChoice:
    """What is shown of a class.

    Attributes:
        examples: paths of images that the user gave.
        examples_given: how many there were.
        most, least: certain predictions; `least` is empty if `most` holds all.
        predicted: how many images got this label.
        certainty: mean probability of those, NaN if the model is uncalibrated.
    """

    name: str
    examples: Sequence[str]
    examples_given: int
    most: Sequence[Prediction]
    least: Sequence[Prediction]
    predicted: int
    certainty: float


@dataclasses.dataclass(frozen=True)
class Choice:
    """What a page shows.

    Attributes:
        doubted: queries that are probably of none of the classes.
        by_doubt: all queries that could be read, the most doubtful first.
        unlisted: how many of those are not in it, because there are too many.
        trusted, aside: unlabelled images that moved the classes, and that did not.
    """

    classes: Sequence[ClassChoice]
    doubted: Sequence[Prediction]
    by_doubt: Sequence[Prediction]
    unlisted: int
    trusted: Sequence[Prediction]
    aside: Sequence[Prediction]

    def paths(self) -> list[str]:
        """Returns the images whose thumbnails are needed, each once."""
        paths = [path for each in self.classes for path in each.examples]
        parts = [part for each in self.classes for part in (each.most, each.least)]
        parts += [self.doubted, self.by_doubt[:MAX_PICTURED]]
        parts += [self.trusted, self.aside]
        paths += [prediction.path for part in parts for prediction in part]
        return list(dict.fromkeys(paths))


def choose(predictions: Predictions) -> Choice:
    """Chooses the most and the least certain of everything."""
    by_class: dict[str, list[Prediction]] = defaultdict(list)
    by_doubt = [each for each in predictions.queries if not each.problem]
    by_doubt.sort(key=sureness)
    for prediction in reversed(by_doubt):
        by_class[prediction.label].append(prediction)
    usable = [each for each in predictions.unlabeled if not each.problem]
    usable.sort(key=_doubt)
    trusted = [each for each in usable if each.path in predictions.trusted]
    aside = [each for each in usable[::-1] if each.path not in predictions.trusted]
    doubted = [each for each in predictions.queries if each.novel]
    doubted.sort(key=_doubt, reverse=True)
    return Choice(
        classes=[
            _choose_of_class(name, paths, by_class[name], len(predictions.support))
            for name, paths in predictions.support.items()
        ],
        doubted=doubted[:MAX_DOUBTED],
        by_doubt=by_doubt[:MAX_LISTED],
        unlisted=max(0, len(by_doubt) - MAX_LISTED),
        trusted=trusted[:MAX_UNLABELED],
        aside=aside[:MAX_UNLABELED],
    )


def _choose_of_class(
    name: str, paths: Sequence[str], predicted: list[Prediction], classes: int
) -> ClassChoice:
    """Chooses what is shown of a class, one of several, from its most certain on."""
    few = _share(classes, ANSWERS_RANGE)
    split = len(predicted) > 2 * few
    likely = [each.probability for each in predicted]
    return ClassChoice(
        name=name,
        examples=paths[: _share(classes, EXAMPLES_RANGE)],
        examples_given=len(paths),
        most=predicted[:few] if split else predicted,
        least=predicted[: -few - 1 : -1] if split else [],
        predicted=len(predicted),
        certainty=sum(likely) / max(1, len(likely)),
    )


def _share(classes: int, bounds: tuple[int, int]) -> int:
    """Returns how many images each of several classes may show."""
    least, most = bounds
    return max(least, min(most, MAX_CERTAIN // classes))


def _doubt(prediction: Prediction) -> tuple[float, float]:
    """Returns what images are sorted by, those most like a class first."""
    unlike = prediction.none_of_these
    return (0.0 if unlike != unlike else unlike), -prediction.margin


def sureness(prediction: Prediction) -> tuple[float, float, str]:
    """Returns what is compared to tell the more certain of two predictions.

    That is how likely the label is right: the image is of one of the classes, and of
    this one among them. Where that is not known, or is 1 to all digits, the margin
    decides.
    """
    likely, outside = prediction.probability, prediction.none_of_these
    right = 0.0 if likely != likely else likely
    right *= 1.0 if outside != outside else 1 - outside
    return right, prediction.margin, prediction.file
