"""Reproduces experiments of the paper, one command each.

    python tools/reproduce.py omniglot
    python tools/reproduce.py mini --source=mini-imagenet/ --rows=prwn,pn
    python tools/reproduce.py photos --source=mini-imagenet/
    python tools/reproduce.py own_photos --source=mini-imagenet/
    python tools/reproduce.py toy
    python tools/reproduce.py toy --help

An experiment has `ABOUT`, `add_arguments(parser)` and `run(arguments)`; a new one is a
line in EXPERIMENTS. The columns of a data set are a description in `paper_tables`.
"""

import argparse
import functools
import sys

from glyphs import command as glyphs
from own_photos import command as own_photos
from paper_tables import mini, omniglot
from paper_tables.command import Command
from photos import command as photos
from toy import command as toy

from prwn_tf import cli

EXPERIMENTS = {
    "glyphs": glyphs,
    "toy": toy,
    "omniglot": Command(omniglot.TABLES),
    "mini": Command(mini.TABLES),
    "photos": photos,
    "own_photos": own_photos,
}


def main() -> int:
    """Runs the experiment that the command line names, and returns its exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    experiments = parser.add_subparsers(dest="experiment", required=True)
    for name, experiment in EXPERIMENTS.items():
        about = experiment.ABOUT
        experiment.add_arguments(
            experiments.add_parser(name, help=about, description=about)
        )
    arguments = parser.parse_args()
    run = EXPERIMENTS[arguments.experiment].run
    return cli.exit_code(functools.partial(run, arguments))


if __name__ == "__main__":
    sys.exit(main())
