"""Trains a few-shot model, validates it on the way, and tests it at the end.

With no flags it draws its own data and shows in minutes that the walk helps:

    python -m prwn_tf.train
    python -m prwn_tf.train --dataset=omniglot --workdir=runs/omniglot
    python -m prwn_tf.train --flagfile=flags/omniglot/prwn.flags

A flag that is left out takes the published value for the data set and method:
--dataset=mini --method=pn --help shows those, --print_config where each comes
from. --way, --shot and the like describe validation and test, --train_way and
its sisters the training.
Interrupt it when you like; the same command continues where it stopped.
"""

import contextlib
import dataclasses
from typing import TYPE_CHECKING

from absl import flags

from prwn_tf import backbones, cli, expectation, methods, released
from prwn_tf.cli import configured, define, read
from prwn_tf.config import TrainConfig
from prwn_tf.data import catalog
from prwn_tf.data.store import reader
from prwn_tf.episodes import pools
from prwn_tf.errors import UserError
from prwn_tf.training import cluster, origins
from prwn_tf.training.workdir import Workdir

if TYPE_CHECKING:
    from prwn_tf.training.replicas import Replicas


FLAGS = flags.FLAGS
define.define_task_flags()
define.define_train_flags()
define.define_data_flags()
flags.DEFINE_string("workdir", None, "Folder of the run; default: runs/ and its task.")
flags.DEFINE_string(
    "init_from", None, "Folder of a finished run, with whose encoder training begins."
)
flags.DEFINE_boolean(
    "print_config",
    False,
    "Print all settings as a flagfile, by where they come from, and do nothing else.",
)
flags.DEFINE_boolean("restart", False, "Delete the run in the workdir and start over.")
flags.DEFINE_boolean(
    "compare",
    None,
    "Train without the walk as well, and print both; on by default for glyphs.",
)
flags.DEFINE_boolean(
    "verify_data",
    False,
    "Compare the prepared data with its hashes first; sizes always are.",
)
flags.adopt_module_key_flags(define)


def main() -> None:
    config = read.train_config()
    if FLAGS.print_config:
        print(configured.flagfile(config))
        return
    comparing, workers = _comparing(config), cluster.from_environment(config.strategy)
    workdir = read.workdir(config)
    with workdir.taken() if workers.is_chief else contextlib.nullcontext():
        stores = catalog.open_prepared(config.dataset, cli.data_dir())
        config = _with_origin(pools.fitted(config, stores), workdir, stores)
        pools.for_run(config, stores)
        if FLAGS.verify_data:
            reader.verify(catalog.location(config.dataset, cli.data_dir()))
        replicas = None
        if FLAGS.restart and workers.workers == 1:  # refused before anything is deleted
            replicas = _replicas(config, workers)
        if workers.is_chief:
            if comparing:
                _check_comparison(config, workdir)
            _claim(config, workdir, stores)
            if not workdir.has_config:  # a run that goes on has its weights
                print(end=_advice(config, stores["train"]))

    replicas = replicas or _replicas(config, workers)
    train = _train if workers.is_chief else _follow
    with replicas.together():
        train(config, workdir, stores, replicas, comparing)


def _replicas(config: TrainConfig, workers: cluster.Cluster) -> "Replicas":
    """Returns the devices that share a step."""
    cli.load_tensorflow()  # takes seconds, so flags and data are checked first
    from prwn_tf.training import replicas

    return replicas.create(config, workers)


def _claim(
    config: TrainConfig, workdir: Workdir, stores: dict[str, reader.ClassStore]
) -> None:
    """Makes the workdir ready for the run."""
    if (FLAGS.restart or not workdir.has_config) and not config.init_from:
        backbones.check_weights(config.backbone.weights)
    # The last of the checks, because --restart deletes what is there.
    workdir.claim(config, restart=FLAGS.restart)
    workdir.check_data(config, stores)


def _train(
    config: TrainConfig,
    workdir: Workdir,
    stores: dict[str, reader.ClassStore],
    replicas: "Replicas",
    comparing: bool,
) -> None:
    """Trains and tests, and prints what came of it."""
    from prwn_tf import experiment
    from prwn_tf.evaluation import report

    asked = read.given_flags(__name__, "workdir", "restart", "verify_data")
    step, evaluations = experiment.run(config, workdir, stores, asked, replicas)
    lines = [f"{config.method:14} {evaluation}" for evaluation in evaluations]
    if comparing:
        accuracy = evaluations[0].accuracy
        as_long = dataclasses.replace(config, episodes=step)
        lines += _comparison(as_long, workdir, stores, replicas, accuracy)
    print("\n".join(["", report.heading(evaluations), *lines]))
    print(f"{step} episodes trained; results and model in {workdir.path}")


def _follow(
    config: TrainConfig,
    workdir: Workdir,
    stores: dict[str, reader.ClassStore],
    replicas: "Replicas",
    comparing: bool,
) -> None:
    """Takes part in all trainings of the chief."""
    from prwn_tf import experiment

    step = experiment.create(config, workdir, stores, replicas).follow()
    if comparing:
        plain = without_walk(dataclasses.replace(config, episodes=step))
        experiment.create(plain, _inside(workdir), stores, replicas).follow()


def _with_origin(
    config: TrainConfig, workdir: Workdir, stores: dict[str, reader.ClassStore]
) -> TrainConfig:
    """Returns the config with the run whose encoder it begins with, if one is named."""
    if not FLAGS.init_from:
        return config
    path = released.model(cli.path(FLAGS.init_from))
    origin = origins.origin_in(path, config, stores, workdir, restart=FLAGS.restart)
    return dataclasses.replace(config, init_from=origin)


def _advice(config: TrainConfig, train: reader.ClassStore) -> str:
    """Returns a line for who trains on few photographs with random weights, or none."""
    classes = len(train.names)
    photographs = expectation.concerns(config.dataset, config.image_shape)
    known = config.init_from or config.encoder != "conv4"
    if known or not photographs or classes >= expectation.MANY_CLASSES:
        return ""
    return "\n".join(
        [
            f"first weights:     random, and {classes} classes teach little",
            *expectation.lines(classes, train.smallest),
            "",
        ]
    )


def _comparing(config: TrainConfig) -> bool:
    """Returns whether to train without the walk as well."""
    if FLAGS.compare and config.walk.weight == 0:
        raise UserError(
            f"--compare leaves out the walk, and --method={config.method} has none; "
            "leave it out, or give a --walk_weight"
        )
    wanted = config.dataset == "glyphs" if FLAGS.compare is None else FLAGS.compare
    return wanted and config.walk.weight > 0


def _check_comparison(config: TrainConfig, workdir: Workdir) -> None:
    """Raises if the run without the walk needs first weights that are gone."""
    origin = config.init_from
    if origin and not _inside(workdir).has_config and not origin.is_there:
        raise UserError(
            f"--init_from={origin.workdir} is gone, and the run without the walk has "
            "still to begin with it; bring it back, or leave that run out: --nocompare"
        )


def _comparison(
    config: TrainConfig,
    workdir: Workdir,
    stores: dict[str, reader.ClassStore],
    replicas: "Replicas",
    accuracy: float,
) -> list[str]:
    """Trains without the walk, inside of the run with it: lines for the reader."""
    from prwn_tf import experiment

    print("\nnow the same without the walk, to see what it adds")
    plain = without_walk(config)
    inside = _inside(workdir)
    inside.claim(plain, restart=FLAGS.restart)
    inside.check_data(plain, stores)
    step, evaluations = experiment.run(plain, inside, stores, "", replicas)
    gain = 100 * (accuracy - evaluations[0].accuracy)
    same = "labelled images and number of episodes."
    if step != plain.episodes:  # it was trained further before
        same = (
            f"labelled images, but {step} episodes without it, {plain.episodes} with."
        )
    return [
        *(f"{'without walk':14} {evaluation}" for evaluation in evaluations),
        f"The walk through unlabelled images adds {gain:+.1f} points: the same "
        f"network,\n{same}",
    ]


def _inside(workdir: Workdir) -> Workdir:
    """Returns where the run without the walk lies."""
    return Workdir(workdir.path / "without_walk")


def without_walk(config: TrainConfig) -> TrainConfig:
    """Returns the same training without the walk, on labelled images if it can be."""
    plain = dataclasses.replace(
        config, walk=dataclasses.replace(config.walk, weight=0.0)
    )
    if plain.terms or methods.uses_unlabeled(config):
        return plain
    labeled = dataclasses.replace(config.train, unlabeled=0, distractors=0, extra=0)
    return dataclasses.replace(plain, method=_plain_method(config), train=labeled)


def _plain_method(config: TrainConfig) -> str:
    """Returns the method with the same head and no loss terms: "pn" for "prwn"."""
    head = methods.METHODS[config.method].head
    every = methods.METHODS.items()
    return next(name for name, m in every if m.head == head and not m.terms)


if __name__ == "__main__":
    cli.run(main, defaults=configured.defaults)
