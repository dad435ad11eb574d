"""Reproduces experiments of the paper, one command each.

    python tools/reproduce.py omniglot
    python tools/reproduce.py toy
    python tools/reproduce.py toy --help

An experiment is a package beside this file whose module `command` has `ABOUT`,
`add_arguments(parser)` and `run(arguments)`; a new one is a line in EXPERIMENTS.
"""

import argparse
import functools
import importlib
import sys

from prwn_tf import cli

EXPERIMENTS = {"toy": "toy.command", "omniglot": "omniglot.command"}


def main() -> int:
    """Runs the experiment that the command line names, and returns its exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    experiments = parser.add_subparsers(dest="experiment", required=True)
    commands = {}
    for name, module in EXPERIMENTS.items():
        commands[name] = importlib.import_module(module)
        about = commands[name].ABOUT
        commands[name].add_arguments(
            experiments.add_parser(name, help=about, description=about)
        )
    arguments = parser.parse_args()
    run = commands[arguments.experiment].run
    return cli.exit_code(functools.partial(run, arguments))


if __name__ == "__main__":
    sys.exit(main())
