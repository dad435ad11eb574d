"""The `toy` experiment: the table and figures of the two sets in the plane."""

import argparse
import shlex
import sys
import time

from prwn_tf import cli, files
from prwn_tf.analysis import figures
from prwn_tf.cli import define
from prwn_tf.data.sets import toy
from prwn_tf.errors import UserError

ABOUT = "The experiments in the plane: spiral and Gaussian circles, over many seeds."
RELEASED_DIR = "results/toy"
SEEDS = 10


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the settings of the experiment."""
    parser.add_argument("--output", default=RELEASED_DIR, help="folder of the results")
    parser.add_argument(
        "--dataset",
        action="append",
        choices=toy.NAMES,
        help="only this set; give it several times for several",
    )
    parser.add_argument(
        "--seeds", type=int, default=SEEDS, help="runs of each model, at least 2"
    )
    parser.add_argument(
        "--data_dir",
        default=define.DATA_DIR,
        help="folder of prepared data sets, where the points are drawn",
    )
    parser.add_argument(
        "--tune",
        action="store_true",
        help="instead, try many settings on validation with other seeds (longer), for "
        "the next run to use",
    )
    parser.add_argument(
        "--tables",
        action="store_true",
        help="instead, write toy.md anew from the toy.json in the output folder",
    )
    parser.add_argument(
        "--quick",
        action="store_true",
        help="a hundred steps, two seeds and no sweeps, to see that it works",
    )


def run(arguments: argparse.Namespace) -> None:
    """Trains, tabulates and draws everything, or tunes, or tabulates what is there."""
    if arguments.seeds < 2:
        raise UserError(
            "a deviation over seeds takes at least 2 of them, got "
            f"--seeds={arguments.seeds}"
        )
    output = cli.path(arguments.output)
    partial = arguments.quick or arguments.dataset or arguments.seeds != SEEDS
    if (
        partial
        and not arguments.tables
        and output.resolve() == cli.path(RELEASED_DIR).resolve()
    ):
        raise UserError(
            f"{RELEASED_DIR} holds the results of both sets over {SEEDS} seeds, which "
            "these would replace; give another --output"
        )
    figures.require()
    cli.load_tensorflow()
    from toy import tables, tuning, whole

    start = time.monotonic()
    data_dir = cli.path(arguments.data_dir)
    datasets = arguments.dataset or toy.NAMES
    tuned = output / tuning.FILE
    command = f"python tools/reproduce.py {shlex.join(sys.argv[1:])}"
    if arguments.tune:
        numbers = tuning.numbers(datasets, data_dir, command, arguments.quick)
        files.write_json(tuned, numbers)
        text = tuning.report(numbers)
        files.write_text(output / "tuning.md", text)
    else:
        if not arguments.tables:
            trained = whole.Whole(
                data_dir, arguments.seeds, arguments.quick, datasets, tuned
            )
            for picture, drawing in trained.pictures().items():
                figures.write(output, picture, drawing)
            files.write_json(output / "toy.json", trained.numbers(command))
        command, models = whole.read(output / "toy.json", arguments.quick, tuned)
        text = tables.report(models, command, whole.SWEPT_STEPS)
        files.write_text(output / "toy.md", text)
    print(text)
    seconds = time.monotonic() - start
    print(f"{seconds:.0f} s; table, numbers and figures are in {output}")
