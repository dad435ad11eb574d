r"""Tests a trained model on any kind of episode, with confidence intervals.

    python -m prwn_tf.evaluate --workdir=runs/omniglot
    python -m prwn_tf.evaluate --workdir=runs/omniglot --way=5,20 \
        --distractors=0,5 --adapt=none,refine,filter
    python -m prwn_tf.evaluate --model=keras:EfficientNetV2B0 --dataset=folder \
        --output=results/photos

Unset flags describe the task that the model was trained for; several numbers
in a flag give a table of all combinations. Probabilities are calibrated on
validation classes, by train at its end or by --calibrate; those of a run that has
learned these as well, as a run of the same settings has it (--calibrate_from).
"""

import dataclasses
import logging
import pathlib
from typing import TYPE_CHECKING

from absl import flags

from prwn_tf import cli, files, protocols, released, runs
from prwn_tf.cli import dataset, define, read
from prwn_tf.config import ADAPTATIONS, RIVALS, EpisodeSpec, TrainConfig
from prwn_tf.data import catalog
from prwn_tf.data.store.reader import ClassStore
from prwn_tf.episodes import pools
from prwn_tf.errors import UserError
from prwn_tf.evaluation import calibration
from prwn_tf.evaluation.calibration import AUTO
from prwn_tf.precision import PRECISIONS
from prwn_tf.spec import BALANCES
from prwn_tf.training.workdir import Workdir

if TYPE_CHECKING:
    from prwn_tf.evaluation.embeddings import Embeddings
    from prwn_tf.evaluation.evaluate import Evaluation

FLAGS = flags.FLAGS
define.define_task_flags(
    several=True, default_episodes="as many as the run was tested on"
)
define.define_data_flags()
flags.DEFINE_enum(
    "balance",
    BALANCES[0],
    BALANCES,
    "Unlabelled images of each class of an episode: equally many, or in proportions of "
    "a Dirichlet distribution, as many in all.",
)
flags.DEFINE_bool(
    "calibrate",
    False,
    "First fit temperatures, the best adaptation and the distance of strangers on "
    "validation classes, and store them with the run, as train does at its end.",
)
flags.DEFINE_string(
    "calibrate_from",
    None,
    "First store the calibration of the run in this folder with the one to test: of "
    "the same settings, for one that has learned the validation classes as well.",
)
flags.DEFINE_bool(
    "strangers",
    False,
    "Also measure how well images of further classes are told from those of an "
    "episode's own, and how many of the latter are mistaken.",
)
define.define_source_flags("Folder of the trained run.")
dataset.define(
    protocols.DATASETS, "What to test --model on; a run knows its own.", None
)
flags.DEFINE_multi_string(
    "adapt",
    ["none"],
    "What the unlabelled images of a test episode do: what the method does with them "
    "(none; nothing but for k-means methods, tpn and egnn), move the prototypes by one "
    "k-means step (refine), or only those do that the walk returns through (filter) or "
    "that are nearer to a class than a stranger would be (gate). "
    "For comparison: label propagation (propagate), oslo, and soft k-means on unit "
    "vectors (kmeans). What did best on validation classes (auto). "
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
    source = read.source()
    if FLAGS.output is None and FLAGS.workdir is not None:
        read.check_not_released(FLAGS.workdir)
    config = runs.config_of(source)
    adaptations = read.names("adapt")  # which there are is for the head to say
    specs = [
        dataclasses.replace(spec, balance=FLAGS.balance)
        for spec in read.task_specs(config.test)
    ]
    check_adaptations(specs, adaptations)
    stores = catalog.open_prepared(config.dataset, cli.data_dir())
    if isinstance(source, Workdir):
        source.check_data(config, stores)
    run_pools = pools.for_run(config, stores)
    for spec in specs:
        pools.check(run_pools[FLAGS.split], spec)
    output = output_folder(source)
    fitted = calibration_file(source, output)
    if FLAGS.calibrate or FLAGS.calibrate_from:
        check_calibration(config, fitted)
        files.check_writable(fitted.parent)
    elif not isinstance(source, Workdir):
        check_owner(fitted, config)
    if FLAGS.calibrate_from:
        like = runs.calibration_of_like(cli.path(FLAGS.calibrate_from), config)
        if not isinstance(source, Workdir):
            calibration.own(fitted, config)
        calibration.write(fitted, like)
    elif not FLAGS.calibrate:
        require_calibration(fitted, adaptations)

    cli.load_tensorflow()  # takes seconds, so flags and data are checked first
    from prwn_tf import build

    build.set_determinism(config)
    trained = runs.load_model(source, FLAGS.precision or "")
    trained.model.head.check_adaptations(n for n in adaptations if n != AUTO)
    measure(trained, fitted, stores, run_pools, specs, adaptations, output)


def check_calibration(config: TrainConfig, path: pathlib.Path) -> None:
    """Raises if what is asked for is no better than what there is, or cannot be had."""
    if FLAGS.calibrate and FLAGS.calibrate_from:
        raise UserError("--calibrate and --calibrate_from exclude each other")
    if FLAGS.workdir is not None and released.is_ours(FLAGS.workdir):
        raise UserError(
            f"--workdir={FLAGS.workdir} is a released model, which is calibrated; copy "
            "its folder to calibrate it in another way"
        )
    if FLAGS.calibrate and config.learns_validation:
        raise UserError(
            "--calibrate needs validation classes that the model has not learned, and "
            "this one has (--train_splits=train,val); give a run of the same settings "
            "that has not, by --calibrate_from"
        )
    if FLAGS.calibrate_from and not config.learns_validation and path.exists():
        raise UserError(
            f"--calibrate_from would replace {path}; leave it out, or delete that file"
        )


def require_calibration(path: pathlib.Path, adaptations: list[str]) -> None:
    """Raises if a flag needs a calibration, and there is none."""
    if AUTO in adaptations or FLAGS.strangers:
        asked = f"--adapt={AUTO}" if AUTO in adaptations else "--strangers"
        calibration.require(path, asked)


def measure(
    trained: runs.TrainedModel,
    calibration_path: pathlib.Path,
    stores: dict[str, ClassStore],
    run_pools: dict[str, pools.Pools],
    specs: list[EpisodeSpec],
    adaptations: list[str],
    output: pathlib.Path,
) -> None:
    """Measures what the flags ask for, prints it and stores it."""
    from prwn_tf.evaluation import episode_images, fit, report
    from prwn_tf.evaluation.embeddings import Embedder
    from prwn_tf.evaluation.evaluate import Evaluator

    model, config, step = trained
    split, head, embed = FLAGS.split, model.head, Embedder(model)
    if FLAGS.calibrate:
        calibrate(trained, embed(stores["val"]), calibration_path, stores, run_pools)
        require_calibration(calibration_path, adaptations)
    known = calibration.read(calibration_path)
    seed = config.eval_seed if FLAGS.eval_seed is None else FLAGS.eval_seed
    episodes = FLAGS.eval_episodes or config.eval_episodes
    embeddings, evaluate = embed(stores[split]), Evaluator(run_pools[split], head, seed)
    evaluations = [
        each
        for spec in specs
        for each in evaluate(embeddings, spec, adaptations, episodes, known)
    ]
    print(f"{trained.name} on {config.dataset}, step {step}, {split} classes")
    print(
        "\n".join([report.lines(evaluations), *report.calibration_lines(evaluations)])
    )
    for name in ("evaluation_images.csv", "evaluation_strangers.json"):
        files.remove(output / name)  # of other episodes
    if FLAGS.strangers and known:
        exam = run_pools[split], embeddings, head, known, seed, episodes
        rows = [row for spec in specs for row in fit.measure(*exam, spec)]
        files.write_json(output / "evaluation_strangers.json", rows)
        print(report.stranger_lines(rows))
    if FLAGS.dump_episodes:
        drawn = stores[split], run_pools[split], specs, episodes, seed
        episode_images.write(output / "evaluation_images.csv", *drawn)
    warning = report.warning(config)
    for text in warning.values():
        logging.warning(text)
    about = {"split": split, "step": step, "eval_seed": seed} | warning
    about |= {"precision": FLAGS.precision} if FLAGS.precision else {}
    print(store(output, evaluations, about))


def calibrate(
    trained: runs.TrainedModel,
    held_out: "Embeddings",
    path: pathlib.Path,
    stores: dict[str, ClassStore],
    run_pools: dict[str, pools.Pools],
) -> None:
    """Stores what the validation classes say of a model, and prints it."""
    from prwn_tf.evaluation import fit

    fitted = fit.fit(run_pools["val"], held_out, trained.model.head, trained.config)
    if trained.step == 0:  # of a network of Keras as it was published
        calibration.own(path, trained.config)
    lines = calibration.update(path, fitted)
    print("\n".join([*lines, *calibration.caution(stores)]))


def store(
    output: pathlib.Path, evaluations: list["Evaluation"], about: dict[str, str | int]
) -> str:
    """Writes evaluations as they are and episode by episode, and says where."""
    from prwn_tf.evaluation import report

    path = output / "evaluation.json"
    replaced = ", in place of an earlier one (--output keeps both)" * path.exists()
    files.write_json(path, [each.row() | about for each in evaluations])
    report.write_episodes(output / "evaluation_episodes.csv", evaluations)
    return f"stored in {path}{replaced}"


def output_folder(source: runs.Source) -> pathlib.Path:
    """Returns where the rows go: where --output says, or to the run that is tested."""
    if FLAGS.output is None and not isinstance(source, Workdir):
        raise UserError(f"give an --output, a folder for the rows of {FLAGS.model}")
    output = source.path if FLAGS.output is None else cli.path(FLAGS.output)
    files.check_writable(output)
    return output


def calibration_file(source: runs.Source, output: pathlib.Path) -> pathlib.Path:
    """Returns where a calibration is kept: with its run, or else with the rows."""
    if isinstance(source, Workdir):
        return source.calibration
    if Workdir(output).has_config:
        raise UserError(
            f"--output={output} holds a run, whose own rows and calibration those of "
            f"{FLAGS.model} would replace; give another folder"
        )
    return Workdir(output).calibration


def check_owner(path: pathlib.Path, config: TrainConfig) -> None:
    """Raises if a folder has a calibration that is not of this network of Keras."""
    if path.exists() and not calibration.is_owned(path, config):
        raise UserError(
            f"{path} does not say that it is of {FLAGS.model} with these weights on "
            f"{config.dataset}; give another --output, or --calibrate to make it anew"
        )


def check_adaptations(specs: list[EpisodeSpec], adaptations: list[str]) -> None:
    """Raises if prototypes should move towards points that are not there."""
    moved = [adapt for adapt in adaptations if adapt in (*ADAPTATIONS[1:], *RIVALS)]
    if moved and any(spec.unlabeled == 0 for spec in specs):
        raise UserError(
            f"--adapt={','.join(moved)} moves the prototypes by unlabelled images, but "
            "--unlabeled is 0; raise it, or use --adapt=none"
        )


if __name__ == "__main__":
    cli.run(main)
