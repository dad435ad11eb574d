"""Looks into trained models: the analyses of the paper as numbers and figures.

    python -m prwn_tf.analyze --workdir=runs/omniglot
    python -m prwn_tf.analyze --workdir=runs/pn --workdir=runs/prwn --what=ways

training: validation accuracies of the runs on their way. scale: how far apart
classes are, and images of one class. landing: how often the walker comes home
after 0..10 inner steps, as published and at a common scale. ways: accuracy
against the number of classes, and the relative gain over the first run.
consistency: the average VAT loss by how far an image is moved. pairs:
differences between runs on the same episodes, with and without distractors.
embedding: PCA and t-SNE of one episode's classes. calibration: how often answers
are right against how likely they were said to be.
"""

import dataclasses

from absl import flags

from prwn_tf import cli, runs
from prwn_tf.analysis import analyses, figures
from prwn_tf.analysis.analyses import ANALYSES
from prwn_tf.analysis.settings import Settings as AnalysisSettings
from prwn_tf.cli import analysis, define, read
from prwn_tf.config import EpisodeSpec
from prwn_tf.episodes import pools

FLAGS = flags.FLAGS
define.define_analysis_flags()
define.define_task_flags(default_episodes="300")
define.define_data_flags()
flags.DEFINE_multi_string(
    "what", [",".join(ANALYSES)], f"Any of {', '.join(ANALYSES)}, with commas."
)
define.define_integers(
    "ways", None, "Ways to test; default: the published ones, to 800.", lower_bound=2
)
flags.DEFINE_integer("walk_steps", 10, "Inner steps, at most.", lower_bound=0)
define.define_floats(
    "epsilons",
    list(AnalysisSettings.epsilons),
    "How far an image is moved for consistency: shares of the median norm of the "
    "images.",
    lower_bound=1e-6,
)
flags.adopt_module_key_flags(define)


def main() -> None:
    what = read.chosen("what", ANALYSES)
    opened = runs.open_runs(map(cli.path, FLAGS.workdir), FLAGS.label)
    figures.require()
    spec, test = episodes(opened[0].config.test)
    stores = runs.open_data(opened, cli.data_dir())
    split = pools.whole(stores[FLAGS.split], FLAGS.split)
    pools.check(split, spec)
    if "ways" in what:
        for way in FLAGS.ways or [test.way]:
            pools.check(split, dataclasses.replace(test, way=way))
    settings = analysis.settings(
        spec,
        test,
        ways=tuple(FLAGS.ways or ()),
        steps=FLAGS.walk_steps,
        epsilons=tuple(FLAGS.epsilons),
    )
    output = analysis.output(opened)

    cli.load_tensorflow()  # takes seconds, so flags and data are checked first
    subjects = runs.subjects(opened, stores, FLAGS.split, FLAGS.eval_seed)
    print(f"{settings.episodes} episodes of the {FLAGS.split} classes: {spec}")
    for name in what:
        finding = analyses.function(name)(subjects, settings)
        finding.publish(output)
        print("\n".join([name, *finding.lines]), flush=True)
    print(
        f"numbers and figures are in {output} ({', '.join(what)}); to look at them: "
        f"tensorboard --logdir={output}"
    )


def episodes(test: EpisodeSpec) -> tuple[EpisodeSpec, EpisodeSpec]:
    """Returns the episodes to walk through, and those to test on.

    The former have 10 unlabelled images a class. Nothing is asked in them, but every
    episode has a query.
    """
    walked = read.task_spec(EpisodeSpec(test.way, test.shot, 1, unlabeled=10))
    tested = dataclasses.replace(read.task_spec(test), distractors=0)
    return dataclasses.replace(walked, query=1), tested


if __name__ == "__main__":
    cli.run(main)
