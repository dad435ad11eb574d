"""The help of a program: its flags in groups, with the defaults of what is asked."""

import re
import textwrap
from collections.abc import Mapping

from absl import flags

from prwn_tf.settings import MAX_INT

# Flag -> group. Those of settings join them where their flags are defined.
_WHAT = (
    *("dataset", "method", "encoder", "head", "regularizers", "init_from", "channels"),
    *("augment", "label_ratio", "episodes", "compare"),
)
_FILES = ("workdir", "data_dir", "output", "print_config", "restart", "verify_data")
GROUPS = dict.fromkeys(_WHAT, "what to learn") | dict.fromkeys(_FILES, "files")
ORDER = (
    *("what to learn", "episodes", "losses", "encoders and heads", "optimizer"),
    *("files", "flags", "expert"),
)
WIDTH, INDENT = 80, 27
FEW = 12  # flags need no groups


def help_text(description: str, values: Mapping[str, str]) -> str:
    """Returns what a program does, and its flags by group.

    Args:
        values: flag -> its default as one would type it, where absl has another.
    """
    listed = flags.FLAGS.get_key_flags_for_module("__main__")
    order = {name: place for place, name in enumerate(GROUPS)}
    by_group: dict[str, list[str]] = {}
    for flag in sorted(listed, key=lambda flag: order.get(flag.name, len(order))):
        group = "flags" if len(listed) <= FEW else GROUPS.get(flag.name, "flags")
        by_group.setdefault(group, []).append(_entry(flag, values.get(flag.name)))
    sections = [
        "\n".join([group.upper(), *by_group[group]])
        for group in ORDER
        if group in by_group
    ]
    return "\n\n".join([description.strip(), *sections])


def _entry(flag: flags.Flag, value: str | None) -> str:
    """Returns a flag with its default, beside or above what it means."""
    if value is None:
        value = _default(flag)
    name = f"  --{'[no]' * bool(flag.boolean)}{flag.name}{value}"
    text = f"{_meaning(flag)} {_choices(flag)}".strip()
    space = " " * INDENT
    lines = textwrap.wrap(text, WIDTH, initial_indent=space, subsequent_indent=space)
    if len(name) < INDENT:
        lines[0] = name.ljust(INDENT) + lines[0].strip()
        return "\n".join(lines)
    return "\n".join([name, *lines])


def _meaning(flag: flags.Flag) -> str:
    """Returns the help of a flag without what absl writes around it."""
    text = re.sub(r"^<[^>]*>: ", "", flag.help or "")
    return text.removesuffix(";\n    repeat this option to specify a list of values")


def _default(flag: flags.Flag) -> str:
    """Returns the default of a flag as one would type it."""
    default = flag.default
    if isinstance(default, list):
        default = ",".join(map(str, default)) or None
    return "" if default is None or flag.boolean else f"={default}"


def _choices(flag: flags.Flag) -> str:
    """Returns what a flag may be, where that is a list or a range."""
    syntax = flag.parser.syntactic_help or ""
    if isinstance(flag, flags.EnumFlag):
        syntax = f"<{'|'.join(flag.parser.enum_values)}>"
    if syntax.startswith("<"):
        return f"One of {', '.join(syntax[1:-1].split('|'))}."
    _, ranged, bounds = syntax.partition(" in the range ")
    return f"In {bounds}." if ranged and str(MAX_INT) not in bounds else ""
