"""Draws one episode as a PNG: what a model learns from and is asked.

    python tools/inspect_episode.py --dataset=omniglot --distractors=5
    python tools/inspect_episode.py --dataset=folder --split=train --episode=7
    python tools/inspect_episode.py --workdir=runs/metagan

Frames: support green, queries blue, unlabelled images gray, distractors red,
images of no class yellow. With --workdir, the images that a trained generator
draws of the episode stand beside real ones, framed purple.
"""

from typing import TYPE_CHECKING

import numpy as np
from absl import flags

from prwn_tf import cli, files, methods, runs
from prwn_tf.cli import define, read
from prwn_tf.config import EpisodeSpec, TrainConfig
from prwn_tf.data import catalog
from prwn_tf.data.store import reader
from prwn_tf.episodes import pools
from prwn_tf.errors import UserError
from prwn_tf.settings import MAX_INT
from prwn_tf.training.workdir import Workdir

if TYPE_CHECKING:
    from prwn_tf.episodes.pipeline import Episode
    from prwn_tf.episodes.plan import Plan

FLAGS = flags.FLAGS
define.define_task_flags()
define.define_train_flags()
define.define_data_flags()
flags.DEFINE_enum("split", "test", list(reader.SPLITS), "Classes to draw from.")
flags.DEFINE_integer("episode", 0, "Which episode.", 0, MAX_INT)
flags.DEFINE_string("output", "episode.png", "The picture.")
flags.DEFINE_string(
    "workdir",
    None,
    "Run whose generator draws; its settings count, and none are taken from flags.",
)
flags.adopt_module_key_flags(define)
# Flags that mean something beside --workdir.
OF_A_RUN = ("workdir", "split", "episode", "output", "data_dir")


def main() -> None:
    config = run_config() if FLAGS.workdir else read.train_config()
    stores = catalog.open_prepared(config.dataset, cli.data_dir())
    if stores["train"].dtype != np.uint8:
        raise UserError(f"{config.dataset} has points of a plane, not images")
    config = pools.fitted(config, stores)
    pool = pools.for_run(config, stores)[FLAGS.split]

    cli.load_tensorflow()  # takes seconds, so flags and data are checked first
    import tensorflow as tf

    from prwn_tf.episodes import picture

    spec, plan, images = episode(config, stores, pool)
    shown = generated(images) if FLAGS.workdir else picture.picture(images, spec)
    output = cli.path(FLAGS.output)
    files.write_bytes(output, tf.io.encode_png(shown).numpy())
    names = [pool.names[index] for index in plan.classes]
    print(f"{FLAGS.split} episode {FLAGS.episode} of {config.dataset}: {spec}")
    print(f"classes, row by row: {', '.join(names[: spec.way])}")
    if spec.distractors:
        print(f"distractors: {', '.join(names[spec.way :])}")
    print(f"drawn to {output}")


def run_config() -> TrainConfig:
    """Returns the config of the run, if no other setting was asked for."""
    given = read.given_flags(__name__, *OF_A_RUN).split()
    if given:
        raise UserError(
            f"{given[0]} has no effect beside --workdir: the run has its settings; "
            "leave it out"
        )
    return Workdir(cli.path(FLAGS.workdir)).load_config()


def generated(images: "Episode") -> np.ndarray:
    """Returns a picture of what the run's model draws of an episode, and real ones."""
    from prwn_tf.episodes import picture

    trained = runs.load_whole_model(Workdir(cli.path(FLAGS.workdir)))
    drawn = trained.model.pictures(images)
    if not drawn:
        raise UserError(
            f"the model in {FLAGS.workdir} draws nothing; train one with --gan_weight=1"
        )
    print(f"drawn at step {trained.step}: {', '.join(drawn)}")
    return np.vstack([picture.beside_drawn(images, each) for each in drawn.values()])


def episode(
    config: TrainConfig, stores: dict[str, reader.ClassStore], pool: pools.Pools
) -> tuple[EpisodeSpec, "Plan", "Episode"]:
    """Returns the episode that the flags name: its kind, its rows and its images."""
    import tensorflow as tf

    from prwn_tf.episodes import pipeline, plan

    training = FLAGS.split == "train"
    spec = methods.training_spec(config) if training else config.test
    seed = config.seed if training else config.eval_seed
    images = stores[FLAGS.split]
    if training:
        images = reader.training_store(stores, config.train_splits)
    index = FLAGS.episode
    read_episode = pipeline.reader(images, pool, spec, seed)
    return (
        spec,
        plan.planner(pool, spec, seed)(index),
        read_episode(tf.constant(index, tf.int64)),
    )


if __name__ == "__main__":
    cli.run(main)
