"""Folders of images -> what the model makes of each, in memory that stays the same.

Only embeddings of the examples and of the unlabelled images are held, or without these
of a bounded crowd of queries; all others pass through.
"""

import dataclasses
import pathlib
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import tqdm

from prwn_tf import files
from prwn_tf.errors import UserError
from prwn_tf.serving import inputs
from prwn_tf.serving.classifier import FewShotClassifier
from prwn_tf.serving.folders import Images
from prwn_tf.serving.models import ServedModel

CLASSES = "classes.npz"
CROWD = 1000  # queries that stand in for unlabelled images, at most
HEADER = (
    "file",
    "label",
    "probability",
    "runner_up",
    "margin",
    "out_of_class",
    "problem",
)


@dataclasses.dataclass(frozen=True, slots=True)
class Prediction:
    """What is known of an image; a problem if it could not be looked at."""

    path: str
    file: str
    label: str = ""
    probability: float = np.nan
    runner_up: str = ""
    margin: float = np.nan  # log-odds of the label against the runner-up
    out_of_class: float = np.nan
    problem: str = ""

    def row(self) -> list[str]:
        """As `HEADER` names it."""
        numbers = [self.probability, self.margin, self.out_of_class]
        likely, margin, outside = ("" if n != n else f"{n:.6g}" for n in numbers)
        return [
            *(self.file, self.label, likely, self.runner_up, margin, outside),
            self.problem,
        ]


@dataclasses.dataclass(frozen=True)
class Found:
    """Everything that came of a call of `predict`.

    Attributes:
        classifier: what was learned, to be used again.
        support: class -> paths of its examples; none if it was learned before.
        unlabeled: what the model makes of the unlabelled images.
        trusted: paths of the unlabelled images that the filter keeps.
    """

    classifier: FewShotClassifier
    support: dict[str, list[str]]
    queries: list[Prediction]
    unlabeled: list[Prediction]
    trusted: frozenset[str]
    adapt: str

    def write(self, folder: pathlib.Path) -> None:
        """Writes classes and tables; none of an earlier call stays beside them."""
        self.classifier.save(folder / CLASSES)
        rows = (prediction.row() for prediction in self.queries)
        files.write_csv(folder / "predictions.csv", HEADER, rows)
        crowd = folder / "unlabeled.csv"
        crowd.unlink(missing_ok=True)
        if self.unlabeled:
            files.write_csv(
                crowd,
                ("trusted", *HEADER),
                (
                    ["yes" if each.path in self.trusted else "no", *each.row()]
                    for each in self.unlabeled
                ),
            )

    @property
    def problems(self) -> list[Prediction]:
        """Images that could not be looked at."""
        return [each for each in (*self.queries, *self.unlabeled) if each.problem]


def predict(
    model: ServedModel,
    support: dict[str, list[str]],
    query: Images,
    unlabeled: Images | None = None,
    adapt: str | None = None,
) -> Found:
    """Learns classes from examples and unlabelled images, and labels the queries."""
    paths = [path for some in support.values() for path in some]
    labels = [name for name, some in support.items() for _ in some]
    examples = inputs.embeddings(paths, model)
    if unlabeled is None:
        step = -(-len(query.paths) // CROWD)
        crowd, adapt = list(_embedded(query.paths[::step], model)), "none"
    else:
        crowd = list(_embedded(unlabeled.paths, model, "learning"))
        _check_any(crowd, unlabeled)
    points = np.concatenate([batch.embeddings for batch in crowd])  # [U, D]
    adapt = (adapt or "filter") if len(points) else "none"
    classifier = FewShotClassifier(model).fit_embeddings(
        examples, labels, points if len(points) else None, adapt
    )
    queries = _answered(classifier, model, query)
    known = [] if unlabeled is None else list(_labelled(classifier, unlabeled, crowd))
    usable = [each.path for each in known if not each.problem]
    kept = zip(usable, classifier.trusted_ if usable else (), strict=True)
    return Found(
        classifier=classifier,
        support=support,
        queries=queries,
        unlabeled=known,
        trusted=frozenset(path for path, trusted in kept if trusted),
        adapt=adapt,
    )


def predict_again(path: pathlib.Path, model: ServedModel, query: Images) -> Found:
    """Labels the queries by classes that an earlier `predict` wrote."""
    classifier = FewShotClassifier.load(path, model)
    return Found(
        classifier=classifier,
        support={str(name): [] for name in classifier.classes_},
        queries=_answered(classifier, model, query),
        unlabeled=[],
        trusted=frozenset(),
        adapt="before",
    )


def _answered(
    classifier: FewShotClassifier, model: ServedModel, query: Images
) -> list[Prediction]:
    asked = _embedded(query.paths, model, "classifying")
    return list(_labelled(classifier, query, asked))


class _Batch(NamedTuple):
    """Some of the images of a folder, in order."""

    embeddings: np.ndarray  # [B, D] of those that can be used
    places: list[int]  # [B] where each of them is
    problems: dict[int, str]  # place -> why it is not among them


def _embedded(
    paths: Sequence[str], model: ServedModel, progress: str | None = None
) -> Iterator[_Batch]:
    """Images a batch at a time, with a progress bar of that name."""
    quiet = True if progress is None else None
    total = len(paths)
    with tqdm.tqdm(desc=progress, total=total, unit=" images", disable=quiet) as bar:
        for loaded in inputs.batches(paths, model):
            embeddings = model.embed(loaded.pixels)
            yield _Batch(embeddings, loaded.places, loaded.problems)
            bar.update(len(loaded.places) + len(loaded.problems))


def _check_any(batches: Sequence[_Batch], images: Images) -> None:
    if any(batch.places for batch in batches):
        return
    raise UserError(
        f"none of the {len(images.paths)} images in --unlabeled={images.root} can be "
        f"used: {images.paths[0]} {batches[0].problems[0]}"
    )


def _labelled(
    classifier: FewShotClassifier, images: Images, batches: Iterable[_Batch]
) -> Iterator[Prediction]:
    """A prediction for each image of a folder, in its order."""
    names = classifier.classes_
    for batch in batches:
        answers = classifier.answer(batch.embeddings)
        found = {
            place: Prediction(path, images.name(path), problem=reason)
            for place, reason in batch.problems.items()
            for path in [images.paths[place]]
        }
        for row, place in enumerate(batch.places):
            path, best = images.paths[place], answers.best[row]
            found[place] = Prediction(
                path=path,
                file=images.name(path),
                label=str(names[best]),
                probability=float(answers.probabilities[row, best]),
                runner_up=str(names[answers.runner_up[row]]),
                margin=float(answers.margin[row]),
                out_of_class=float(answers.out_of_class[row]),
            )
        yield from (prediction for _, prediction in sorted(found.items()))
