r"""Tests a trained model on any kind of episode, with confidence intervals.

    python -m prwn_tf.evaluate --workdir=runs/omniglot
    python -m prwn_tf.evaluate --workdir=runs/omniglot --way=5,20 \
        --distractors=0,5 --adapt=none,refine,filter

Unset flags describe the task that the model was trained for; several numbers
in a flag give a table of all combinations.
"""

from absl import flags

from prwn_tf import cli, files, runs
from prwn_tf.cli import define, read
from prwn_tf.config import EpisodeSpec
from prwn_tf.data import catalog
from prwn_tf.episodes import pools
from prwn_tf.errors import UserError
from prwn_tf.precision import PRECISIONS
from prwn_tf.training.workdir import Workdir

FLAGS = flags.FLAGS
define.define_task_flags(
    several=True, default_episodes="as many as the run was tested on"
)
define.define_data_flags()
flags.DEFINE_string("workdir", None, "Folder of the trained run.", required=True)
flags.DEFINE_multi_string(
    "adapt",
    ["none"],
    "What the unlabelled images of a test episode do: what the method does with them "
    "(none; nothing but for k-means methods, tpn and egnn), move the prototypes by one "
    "k-means step (refine), or only those do that the walk returns through (filter). "
    "tpn and egnn answer all queries of an episode together (transductive), where none "
    "means one at a time. Several with commas, or by giving it several times.",
)
flags.DEFINE_enum("split", "test", ["val", "test"], "Classes to test on.")
flags.DEFINE_string("output", None, "Folder for the rows; default: the workdir.")
flags.DEFINE_enum(
    "precision",
    None,
    PRECISIONS,
    "Numbers that the encoder computes with; default: those of its training.",
)
flags.DEFINE_bool(
    "dump_episodes",
    False,
    "Also write evaluation_images.csv: the images of every episode, by class and "
    "place in it.",
)
flags.adopt_module_key_flags(define)


def main() -> None:
    workdir = Workdir(cli.path(FLAGS.workdir))
    config = workdir.load_config()
    adaptations = read.names("adapt")  # which there are is for the head to say
    specs = read.task_specs(config.test)
    check_adaptations(specs, adaptations)
    stores = catalog.open_prepared(config.dataset, cli.data_dir())
    workdir.check_data(config, stores)
    split_pools = pools.for_run(config, stores)[FLAGS.split]
    for spec in specs:
        pools.check(split_pools, spec)
    output = cli.path(FLAGS.output or workdir.path)
    files.check_writable(output)

    cli.load_tensorflow()  # takes seconds, so flags and data are checked first
    from prwn_tf import build
    from prwn_tf.evaluation import episode_images, report
    from prwn_tf.evaluation.embeddings import Embedder
    from prwn_tf.evaluation.evaluate import Evaluator

    build.set_determinism(config)
    trained = runs.load_model(workdir, FLAGS.precision or "")
    trained.model.head.check_adaptations(adaptations)
    embeddings = Embedder(trained.model)(stores[FLAGS.split])
    evaluate = Evaluator(split_pools, trained.model.head, config.eval_seed)
    episodes = FLAGS.eval_episodes or config.eval_episodes
    evaluations = [
        evaluation
        for spec in specs
        for evaluation in evaluate(embeddings, spec, adaptations, episodes)
    ]

    stored = output / "evaluation.json"
    replaced = ", in place of an earlier one (--output keeps both)" * stored.exists()
    about = {"split": FLAGS.split, "step": trained.step}
    if FLAGS.precision:
        about["precision"] = FLAGS.precision
    files.write_json(stored, [each.row() | about for each in evaluations])
    report.write_episodes(output / "evaluation_episodes.csv", evaluations)
    images = output / "evaluation_images.csv"
    images.unlink(missing_ok=True)  # of other episodes
    if FLAGS.dump_episodes:
        episode_images.write(
            images, stores[FLAGS.split], split_pools, specs, episodes, config.eval_seed
        )
    where = f"step {trained.step}, {FLAGS.split} classes"
    print(f"{config.method} on {config.dataset}, {where}")
    print(report.lines(evaluations))
    print(f"stored in {stored}{replaced}")


def check_adaptations(specs: list[EpisodeSpec], adaptations: list[str]) -> None:
    """Raises if prototypes should move towards points that are not there."""
    moved = [adapt for adapt in adaptations if adapt in ("refine", "filter")]
    if moved and any(spec.unlabeled == 0 for spec in specs):
        raise UserError(
            f"--adapt={','.join(moved)} moves the prototypes by unlabelled images, but "
            "--unlabeled is 0; raise it, or use --adapt=none"
        )


if __name__ == "__main__":
    cli.run(main)
