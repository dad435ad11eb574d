"""Command lines to flags; help and mistakes are answered before anything else."""

import re
import sys
from collections.abc import Callable, Mapping

from absl import flags

from prwn_tf.cli import show, words

HELP = {"--help", "-help", "--helpshort", "-h", "-?"}
VALUES = {"model": "MODEL", "query": "IMAGES"}  # of required flags; others are folders
_EITHER = r"Exactly one of \(([\w, ]+)\)"
_MISSING = r"Flag --(\w+) must have a value other than None"


def parsed(
    arguments: list[str], defaults: Callable[[], Mapping[str, str]]
) -> list[str]:
    """Returns what is left of a command line when its flags are read, or exits.

    Args:
        defaults: answers those that depend on other flags, for the help.
    """
    rest = [each for each in arguments if each not in HELP]
    asked = len(rest) < len(arguments)
    try:
        left = flags.FLAGS(rest)
    except flags.UnrecognizedFlagError as error:
        problem = words.unknown(error.flagname)
    except flags.Error as error:
        problem = _problem(str(error))
    else:
        if not asked:
            return left
    if asked:
        flags.FLAGS.mark_as_parsed()  # as far as they could be
        print(show.help_text(sys.modules["__main__"].__doc__, defaults()))
        sys.exit(0)
    print(f"error: {problem}; --help lists the flags", file=sys.stderr)
    sys.exit(1)


def _problem(message: str) -> str:
    """Returns what absl says in one line, and what must be given as one gives it."""
    if missing := re.findall(_MISSING, message):
        return "give " + ", ".join(map(_example, missing))
    if either := re.search(_EITHER, message):
        names = " and ".join(map(_example, either.group(1).split(", ")))
        return f"give one of {names}, not both"
    return message.replace("\n", "; ").rstrip(".")


def _example(name: str) -> str:
    """Returns a flag with what one gives it."""
    return f"--{name}={VALUES.get(name, 'DIR')}"
