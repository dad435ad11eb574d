"""The `toy` experiment: the table and figures of the two sets in the plane."""

import argparse
import os
import pathlib
import shlex
import sys
import time

from prwn_tf import cli, files
from prwn_tf.data import toy
from prwn_tf.evaluation import figures

ABOUT = "The experiments in the plane: spiral and Gaussian circles, over many seeds."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The settings of the experiment."""
    parser.add_argument("--output", default="results/toy", help="folder of the results")
    parser.add_argument(
        "--dataset",
        action="append",
        choices=toy.NAMES,
        help="only this set; give it several times for several",
    )
    parser.add_argument("--seeds", type=int, default=10, help="runs of each model")
    parser.add_argument(
        "--data_dir",
        default=os.environ.get("PRWN_DATA_DIR", "~/.cache/prwn_tf"),
        help="folder of prepared data sets, where the points are drawn",
    )
    parser.add_argument(
        "--tune",
        action="store_true",
        help="instead, try many settings on validation with other seeds (longer)",
    )
    parser.add_argument(
        "--quick",
        action="store_true",
        help="a hundred steps, two seeds and no sweeps, to see that it works",
    )


def run(arguments: argparse.Namespace) -> None:
    """Trains, tabulates and draws everything, or tunes."""
    figures.require()
    cli.load_tensorflow()
    from toy import tables, tuning, whole

    start = time.monotonic()
    output = pathlib.Path(arguments.output)
    data_dir = pathlib.Path(arguments.data_dir).expanduser()
    datasets = arguments.dataset or toy.NAMES
    command = f"python tools/reproduce.py {shlex.join(sys.argv[1:])}"
    if arguments.tune:
        text, numbers = tuning.report(datasets, data_dir, command, arguments.quick)
        name = "tuning"
    else:
        found = whole.Whole(data_dir, arguments.seeds, arguments.quick, datasets)
        for picture, content in found.pictures().items():
            files.write_bytes(output / f"{picture}.png", content)
        text = tables.report(found.trained, command, whole.SWEPT_STEPS)
        numbers = found.numbers(command)
        name = "toy"
    files.write_text(output / f"{name}.md", text)
    files.write_json(output / f"{name}.json", numbers)
    print(text)
    seconds = time.monotonic() - start
    print(f"{seconds:.0f} s; table, numbers and figures are in {output}")
