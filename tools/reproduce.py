"""Reproduces experiments of the paper, one command each.

    python tools/reproduce.py omniglot
    python tools/reproduce.py toy
    python tools/reproduce.py toy --help

An experiment is a package beside this file whose module `command` has `ABOUT`,
`add_arguments(parser)` and `run(arguments)`; a new one is a line in EXPERIMENTS.
"""

import argparse
import importlib
import sys

from prwn_tf.errors import UserError

EXPERIMENTS = {"toy": "toy.command", "omniglot": "omniglot.command"}


def main() -> int:
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
    try:
        commands[arguments.experiment].run(arguments)
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
