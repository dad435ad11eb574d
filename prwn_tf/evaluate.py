"""Tests a trained model on any kind of episode, with confidence intervals.

    python -m prwn_tf.evaluate --workdir=runs/omniglot
    python -m prwn_tf.evaluate --workdir=runs/omniglot --way=20 --adapt=none,refine

Unset flags describe the task that the model was trained for.
"""

import dataclasses
import pathlib

from absl import flags

from prwn_tf import cli, files
from prwn_tf.data import catalog
from prwn_tf.episodes import pools
from prwn_tf.training.workdir import Workdir

FLAGS = flags.FLAGS
ADAPTATIONS = ["none", "refine", "filter"]
cli.define_task_flags()
cli.define_data_flags()
flags.DEFINE_string("workdir", None, "Folder of the trained run.", required=True)
flags.DEFINE_multi_enum(
    "adapt",
    ["none"],
    ADAPTATIONS,
    "What the unlabelled images of a test episode do: nothing (inductive), move the "
    "prototypes by one k-means step, or only those do that the walk returns through. "
    "Give it several times for several rows.",
)
flags.DEFINE_enum("split", "test", ["val", "test"], "Classes to test on.")
flags.DEFINE_string("output", None, "Folder for the rows; default: the workdir.")
flags.adopt_module_key_flags(cli)


def main() -> None:
    workdir = Workdir(pathlib.Path(FLAGS.workdir))
    config = workdir.load_config()
    config = dataclasses.replace(config, test=cli.task_spec(config.test))
    stores = catalog.open_prepared(config.dataset, cli.data_dir())
    pools.for_run(config, stores)

    cli.load_tensorflow()  # takes seconds, so flags and data are checked first
    from prwn_tf import experiment
    from prwn_tf.evaluation import report

    run = experiment.create(config, workdir, stores)
    step = run.checkpoints.restore(config.select)
    episodes = FLAGS.eval_episodes or config.eval_episodes
    found = run.evaluate(FLAGS.split, config.test, FLAGS.adapt, episodes)

    output = pathlib.Path(FLAGS.output or workdir.path)
    files.write_json(output / "evaluation.json", [row.row() for row in found])
    report.write_episodes(output / "evaluation_episodes.csv", found)
    print(f"{config.method} on {config.dataset}, step {step}, {FLAGS.split} classes")
    print(f"episodes: {config.test}")
    for row in found:
        print(row)
    print(f"stored in {output / 'evaluation.json'}")


if __name__ == "__main__":
    cli.run(main)
