r"""Shows where the walker goes among the points of test episodes with distractors.

    python -m prwn_tf.distractors --workdir=runs/omniglot
    python -m prwn_tf.distractors --workdir=runs/pn --label=PN \
        --workdir=runs/prwn --label=PRWN --output=figures

Unset, there are as many distractor classes as ways and 10 unlabelled images a
class, as in the paper's analysis.
"""

from absl import flags

from prwn_tf import cli, runs
from prwn_tf.cli import analysis, define, read
from prwn_tf.config import EpisodeSpec
from prwn_tf.episodes import pools
from prwn_tf.errors import UserError

FLAGS = flags.FLAGS
define.define_analysis_flags()
define.define_task_flags(default_episodes="300")
define.define_data_flags()
flags.adopt_module_key_flags(define)


def main() -> None:
    opened = runs.open_runs(map(cli.path, FLAGS.workdir), FLAGS.label)
    spec = read.task_spec(default_spec(opened[0].config.test, FLAGS.way))
    if spec.distractors == 0 or spec.unlabeled == 0:
        raise UserError(
            "episodes need distractors among their unlabelled images, got "
            f"--distractors={spec.distractors} --unlabeled={spec.unlabeled}"
        )
    stores = runs.open_data(opened, cli.data_dir())
    pools.check(pools.whole(stores[FLAGS.split], FLAGS.split), spec)
    settings = analysis.settings(spec, opened[0].config.test)
    output = analysis.output(opened)

    cli.load_tensorflow()  # takes seconds, so flags and data are checked first
    from prwn_tf.analysis import distraction

    subjects = runs.subjects(opened, stores, FLAGS.split, FLAGS.eval_seed)
    finding = distraction.analyze(subjects, settings)
    finding.publish(output)
    print(f"{settings.episodes} episodes of the {FLAGS.split} classes: {spec}")
    print("\n".join(finding.lines))
    print(
        f"numbers and figures are in {output} (distractors*); to look at them: "
        f"tensorboard --logdir={output}"
    )


def default_spec(test: EpisodeSpec, way: int | None) -> EpisodeSpec:
    """Returns the paper's episodes, with as many distractor classes as ways.

    A query is drawn, since every episode has one, and not asked.
    """
    return EpisodeSpec(
        test.way, test.shot, 1, unlabeled=10, distractors=way or test.way
    )


if __name__ == "__main__":
    cli.run(main)
