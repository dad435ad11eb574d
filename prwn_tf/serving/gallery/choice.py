"""Which images a page shows: a bounded number, however many there are."""

import dataclasses
from collections import defaultdict
from collections.abc import Sequence

from prwn_tf.serving.predictions import Found, Prediction

SHOWN = 300  # images of all classes together that are most, and as many that are least
EXAMPLES = (2, 12)  # of a class, at least and at most
ANSWERS = (3, 18)  # of a class, at either end
CROWD = 60  # unlabelled images that are trusted, and as many that are not
DOUBTED = 24  # queries that are least like any class


@dataclasses.dataclass(frozen=True)
class ClassChoice:
    """What is shown of a class.

    Attributes:
        examples: paths of images that the user gave.
        most, least: certain predictions; `least` is empty if `most` holds all.
        predicted: how many images got this label.
        certainty: mean probability of those.
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
    """What is shown."""

    classes: Sequence[ClassChoice]
    doubted: Sequence[Prediction]
    trusted: Sequence[Prediction]
    aside: Sequence[Prediction]

    def paths(self) -> list[str]:
        """The images whose thumbnails are needed, each once."""
        found = [path for each in self.classes for path in each.examples]
        parts = [part for each in self.classes for part in (each.most, each.least)]
        parts += [self.doubted, self.trusted, self.aside]
        found += [prediction.path for part in parts for prediction in part]
        return list(dict.fromkeys(found))


def choose(found: Found) -> Choice:
    """The most and the least certain of everything."""
    by_class: dict[str, list[Prediction]] = defaultdict(list)
    for prediction in found.queries:
        if not prediction.problem:
            by_class[prediction.label].append(prediction)
    usable = [each for each in found.unlabeled if not each.problem]
    usable.sort(key=_doubt)
    doubted = [each for each in found.queries if each.out_of_class >= 0.5]
    doubted.sort(key=_doubt, reverse=True)
    return Choice(
        classes=[
            _of_class(name, paths, by_class[name], len(found.support))
            for name, paths in found.support.items()
        ],
        doubted=doubted[:DOUBTED],
        trusted=[each for each in usable if each.path in found.trusted][:CROWD],
        aside=[each for each in usable[::-1] if each.path not in found.trusted][:CROWD],
    )


def _of_class(
    name: str, paths: Sequence[str], predicted: list[Prediction], classes: int
) -> ClassChoice:
    predicted = sorted(predicted, key=lambda each: (-each.margin, each.file))
    few = _share(classes, ANSWERS)
    split = len(predicted) > 2 * few
    likely = [each.probability for each in predicted]
    return ClassChoice(
        name=name,
        examples=paths[: _share(classes, EXAMPLES)],
        examples_given=len(paths),
        most=predicted[:few] if split else predicted,
        least=predicted[: -few - 1 : -1] if split else [],
        predicted=len(predicted),
        certainty=sum(likely) / max(1, len(likely)),
    )


def _share(classes: int, bounds: tuple[int, int]) -> int:
    least, most = bounds
    return max(least, min(most, SHOWN // classes))


def _doubt(prediction: Prediction) -> tuple[float, float]:
    return prediction.out_of_class, -prediction.margin
