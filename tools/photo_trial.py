"""Tries a served model as people use it, on classes that it has never seen.

    python tools/photo_trial.py --model=photos-conv4 --data_dir=data
    python tools/photo_trial.py --model=keras:EfficientNetV2B0 --way=3

Each draw takes a few classes, one or some examples of each, and a pile of unlabelled
images of which half are of other classes. Then images of those classes are asked, and
as many of others, which belong to none of them. It prints how many answers are right,
how sure the model is of them, and how well it tells strangers.
"""

import pathlib
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from absl import flags

from prwn_tf import cli, files
from prwn_tf.cli import define
from prwn_tf.data import catalog
from prwn_tf.data.store import reader
from prwn_tf.errors import UserError
from prwn_tf.settings import MAX_INT

if TYPE_CHECKING:
    from prwn_tf.serving.classifier import FewShotClassifier

FLAGS = flags.FLAGS
define.define_data_flags()
flags.adopt_module_key_flags(define)
flags.DEFINE_string("model", "photos-conv4", "What `prwn predict --model` takes.")
flags.DEFINE_string("dataset", "mini", "A prepared data set.")
flags.DEFINE_enum("split", "test", list(reader.SPLITS), "Classes to draw from.")
flags.DEFINE_integer("way", 5, "Classes of a draw.", 2, MAX_INT)
define.define_integers("shot", [1, 5], "Examples of each class; a row for each.", 1)
flags.DEFINE_integer("unlabeled", 40, "Unlabelled images, half of other classes.", 0)
flags.DEFINE_integer("query", 15, "Images of each class that are asked.", 1, MAX_INT)
flags.DEFINE_integer("draws", 20, "Draws of classes and images.", 2, MAX_INT)
flags.DEFINE_integer("seed", 0, "Draws them.", 0, MAX_INT)
flags.DEFINE_string("output", None, "A JSON file for what is printed.")


class Draw(NamedTuple):
    """Rows of a split that one trial shows and asks."""

    support: np.ndarray  # [way * shot], class by class
    unlabeled: np.ndarray  # [unlabeled]
    queries: np.ndarray  # [way * query], class by class
    strangers: np.ndarray  # [way * query], of other classes


class Outcome(NamedTuple):
    """What came of all draws, as means over them."""

    shot: int
    accuracy: float  # %
    interval: float  # 95 %, over draws
    probability: float  # % that the model gives its answers
    calibration_error: float  # % between the two, over bins
    # NaN without a calibration:
    auroc: float  # of "none of these", strangers against queries
    false_alarms: float  # % of queries that are called none of these


def main() -> None:
    store = catalog.open_prepared(FLAGS.dataset, cli.data_dir())[FLAGS.split]
    _check_sizes(store, max(FLAGS.shot))
    cli.load_tensorflow()
    from prwn_tf.serving.classifier import FewShotClassifier

    classifier = FewShotClassifier(FLAGS.model)
    outcomes = [trial(classifier, store, shot) for shot in FLAGS.shot]
    print(table(outcomes))
    if FLAGS.output:
        asked = ("dataset", "split", "way", "unlabeled", "query", "draws", "seed")
        settings = {name: FLAGS[name].value for name in asked}
        settings["model"] = pathlib.Path(FLAGS.model).name
        rows = [outcome._asdict() for outcome in outcomes]
        files.write_json(cli.path(FLAGS.output), {**settings, "rows": rows})


def trial(
    classifier: "FewShotClassifier", store: reader.ClassStore, shot: int
) -> Outcome:
    """Returns what a model makes of all draws with so many examples a class."""
    from prwn_tf.evaluation import curves
    from prwn_tf.evaluation.intervals import half_width

    chance = np.random.default_rng([FLAGS.seed, shot])
    labels = np.repeat(np.arange(FLAGS.way), shot)
    truth = np.repeat(np.arange(FLAGS.way), FLAGS.query)
    right, sure, areas, alarms = [], [], [], []
    for _ in range(FLAGS.draws):
        rows = Draw(*map(store.read, draw(store, shot, chance)))
        crowd = rows.unlabeled if FLAGS.unlabeled else None
        classifier.fit(rows.support, labels, crowd)
        queries, strangers = (
            classifier.answer(classifier.transform(each))
            for each in (rows.queries, rows.strangers)
        )
        right.append(queries.best == truth)
        sure.append(queries.probabilities.max(axis=-1))
        if not classifier.unsaid():
            areas.append(curves.area(queries.none_of_these, strangers.none_of_these))
            alarms.append(np.mean(queries.none_of_these > classifier.threshold_))
    accuracies = 100 * np.mean(right, axis=-1)  # [draws]
    return Outcome(
        shot=shot,
        accuracy=float(np.mean(accuracies)),
        interval=half_width(accuracies),
        probability=100 * float(np.mean(sure)),
        calibration_error=100 * curves.calibration_error(np.array(sure), right),
        auroc=_mean(areas),
        false_alarms=100 * _mean(alarms),
    )


def draw(store: reader.ClassStore, shot: int, chance: np.random.Generator) -> Draw:
    """Draws classes, and images of them and of others without repeating any."""
    near, far = _crowd()
    order = chance.permutation(len(store.names))
    own, others = order[: FLAGS.way], order[FLAGS.way :]
    # One class after another, images in random order: [way, images]
    images = [chance.permutation(store.rows(index)) for index in own]
    support = np.concatenate([each[:shot] for each in images])
    queries = np.concatenate([each[shot : shot + FLAGS.query] for each in images])
    left = np.concatenate([each[shot + FLAGS.query :] for each in images])
    foreign = chance.permutation(
        np.concatenate([np.array(store.rows(index)) for index in others])
    )
    crowd = [chance.choice(left, near, replace=False), foreign[:far]]
    return Draw(
        support=support,
        unlabeled=np.concatenate(crowd),
        queries=queries,
        strangers=foreign[far : far + len(queries)],
    )


def table(outcomes: list[Outcome]) -> str:
    """Returns the outcomes for people."""
    lines = [
        f"{FLAGS.model}: {FLAGS.way} of {FLAGS.dataset}'s {FLAGS.split} classes, "
        f"{FLAGS.draws} draws,",
        f"{FLAGS.unlabeled} unlabelled images, half of other classes; chance is "
        f"{100 / FLAGS.way:.0f} %",
        "examples   accuracy       mean          calibration   AUROC of        false",
        "a class                   probability   error         none of these   alarms",
    ]
    lines += [
        f"{each.shot:>8}   {each.accuracy:.1f} ± {each.interval:.1f} %   "
        f"{each.probability:.1f} %        {each.calibration_error:.1f} points    "
        f"{each.auroc:.3f}           {each.false_alarms:.1f} %"
        for each in outcomes
    ]
    return "\n".join(lines)


def _mean(values: list[float]) -> float:
    """Returns a mean, NaN of nothing."""
    return float(np.mean(values)) if values else float("nan")


def _crowd() -> tuple[int, int]:
    """Returns how many unlabelled images are of a draw's classes, and of others."""
    near = FLAGS.unlabeled // 2
    return near, FLAGS.unlabeled - near


def _check_sizes(store: reader.ClassStore, shot: int) -> None:
    """Raises if a split has too few classes or images for a draw."""
    if len(store.names) <= FLAGS.way:
        raise UserError(
            f"--way={FLAGS.way} leaves no other classes: the {FLAGS.split} split of "
            f"{FLAGS.dataset} has {len(store.names)}; ask for fewer"
        )
    needed = shot + FLAGS.query + -(-FLAGS.unlabeled // (2 * FLAGS.way))
    if store.smallest < needed:
        raise UserError(
            f"a class of {FLAGS.dataset} has {store.smallest} images, and a draw takes "
            f"{needed}: {shot} examples, {FLAGS.query} queries, the rest unlabelled; "
            "lower --query or --unlabeled"
        )
    # A draw may take the largest classes, and leave the others.
    others = np.sort(store.counts)[: len(store.names) - FLAGS.way]
    strangers, (_, far) = FLAGS.way * FLAGS.query, _crowd()
    if others.sum() < strangers + far:
        raise UserError(
            f"--way={FLAGS.way} of {FLAGS.dataset}: {len(others)} other classes have "
            f"{others.sum()} images, and a draw takes {strangers + far} of them: "
            f"{strangers} strangers and {far} unlabelled; lower --way, --query or "
            "--unlabeled"
        )


if __name__ == "__main__":
    cli.run(main)
