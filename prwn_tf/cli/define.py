"""The flags that several programs share, in sets that a program takes or leaves.

A flag of a setting follows from where the setting is declared.
"""

import dataclasses
import itertools
import os
import signal
import sys
from collections.abc import Iterable, Iterator, Sequence

from absl import flags

from prwn_tf import cli, methods, protocols, settings
from prwn_tf.backbones import BackboneConfig
from prwn_tf.cli import dataset, flagfiles, show, streams, words
from prwn_tf.config import (
    ASKED,
    ENCODERS,
    PARTS,
    TERMS,
    EpisodeSpec,
    OptimizerConfig,
    TrainConfig,
)
from prwn_tf.errors import UserError
from prwn_tf.own import OwnPart, is_own, own_part
from prwn_tf.settings import MAX_INT, Choice, Interval, Settings

OF_TASK = ("eval_episodes", "eval_seed")  # settings of a run that describe its task
DATA_DIR = os.environ.get("PRWN_DATA_DIR", "~/.cache/prwn_tf")  # unless a flag says


def define_data_flags() -> None:
    """Defines where prepared data lies."""
    flags.DEFINE_string(
        "data_dir",
        DATA_DIR,
        "Folder of prepared data sets; the variable PRWN_DATA_DIR changes the default.",
    )


def define_task_flags(
    *,
    several: bool = False,
    default_episodes: str = "",
) -> None:
    """Defines the task to be good at: validation and test episodes.

    Args:
        several: whether each flag takes several numbers, for `task_specs`.
        default_episodes: in words, where help does not show it.
    """
    fields = EpisodeSpec.flags()
    for name in ASKED:
        _note(name, EpisodeSpec, fields[name])
        text, within = (fields[name].metadata[key] for key in ("text", "within"))
        if several:
            define_integers(name, None, text, lower_bound=int(within.low))
        else:
            flags.DEFINE_integer(name, None, text, lower_bound=int(within.low))
    defaults = {"eval_episodes": default_episodes, "eval_seed": "as trained"}
    for name in OF_TASK:
        field = TrainConfig.flags()[name]
        text = field.metadata["text"]
        if default_episodes:
            text = f"{text.rstrip('.')}; default: {defaults[name]}."
        _note(name, EpisodeSpec, field)
        _define(name, TrainConfig, field, text)


class _Several(flags.ArgumentParser):
    """Numbers with commas between them."""

    syntactic_help = "numbers with commas between them"

    def __init__(self, number: flags.ArgumentParser):
        self._number = number

    def parse(self, argument: str | list) -> list:
        texts = argument.split(",") if isinstance(argument, str) else argument
        return [self._number.parse(text) for text in texts]


def define_integers(
    name: str, default: list[int] | None, text: str, lower_bound: int
) -> None:
    """Defines a flag of whole numbers with commas between them."""
    _define_several(name, default, text, flags.IntegerParser(lower_bound))


def define_floats(
    name: str, default: list[float], text: str, lower_bound: float
) -> None:
    """Defines a flag of numbers with commas between them."""
    _define_several(name, default, text, flags.FloatParser(lower_bound))


def _define_several(
    name: str, default: list | None, text: str, number: flags.ArgumentParser
) -> None:
    flags.DEFINE(
        _Several(number),
        name,
        default,
        f"{text} Several with commas between them.",
        serializer=flags.ListSerializer(","),
    )


def define_source_flags(run: str) -> None:
    """Defines where a model comes from: a run, or a network of Keras as published.

    Args:
        run: what --workdir is.
    """
    flags.DEFINE_string("workdir", None, run)
    flags.DEFINE_string(
        "model",
        None,
        "Instead of a run: keras:NAME, a network of keras.applications that needs no "
        "training, or keras_hub:PRESET.",
    )
    flags.mark_flags_as_mutual_exclusive(["workdir", "model"], required=True)
    define_weights_flag()


def define_weights_flag() -> None:
    """Defines the weights of a network of Keras."""
    name = "encoder_weights"
    field = BackboneConfig.flags()[name]
    _define(name, BackboneConfig, field, field.metadata["text"])


def define_analysis_flags() -> None:
    """Defines which finished runs to look into, and through which episodes."""
    flags.DEFINE_multi_string(
        "workdir",
        None,
        "Folder of a finished run. Give it several times to compare runs.",
        required=True,
    )
    flags.DEFINE_multi_string(
        "label",
        [],
        "Name of each run in tables and figures; default: its method, and its folder "
        "where two have the same.",
    )
    flags.DEFINE_enum("split", "test", ["val", "test"], "Classes to look at.")
    flags.DEFINE_string(
        "output",
        None,
        "Folder for the results; default: analysis/ in the first workdir.",
    )
    flags.DEFINE_integer(
        "episode", 0, "The episode whose picture is drawn.", 0, MAX_INT
    )
    flags.DEFINE_float(
        "graph_smoothing",
        0.1,
        "Uniform share mixed into steps from and to prototypes, for all runs.",
        lower_bound=0,
        upper_bound=0.99,
    )


def define_train_flags() -> None:
    """Defines what and how to train; unset flags take the published value."""
    dataset.define(
        protocols.DATASETS,
        "What to learn from; folder and any folder:NAME are yours, as prepared.",
    )
    flags.DEFINE_enum("method", "prwn", list(methods.METHODS), "How to learn.")
    flags.DEFINE_string(
        "encoder",
        None,
        f"Network from image to embedding: {', '.join(ENCODERS)} (one of "
        "keras.applications), keras_hub:PRESET, or your own as module:Class.",
    )
    flags.DEFINE_string(
        "head", None, "Your own head as module:Class, in the place of the method's."
    )
    flags.DEFINE_multi_string(
        "regularizers",
        None,
        f"Loss terms instead of the method's own, of {', '.join(TERMS)}, each with its "
        "published weight, or your own as module:Class. Several with commas.",
    )
    for name, field in EpisodeSpec.flags().items():
        text = (
            field.metadata["text"] if name == "extra" else f"As --{name}, in training."
        )
        _define(f"train_{name}", EpisodeSpec, field, text)
    for group in (TrainConfig, OptimizerConfig, *PARTS.values()):
        for name, field in group.flags().items():
            if name not in OF_TASK:
                _define(name, group, field, field.metadata["text"])
    for name, part in own_parts(_part_names(sys.argv[1:])).items():
        if part.settings:
            _define_own(name, type(part.settings))


def _define_own(part: str, group: type[Settings]) -> None:
    """Defines the flags of a part of the user's; a name that is taken is an error."""
    for name, field in group.flags().items():
        if name in flags.FLAGS:
            taken = (
                f"--{name}, a setting of {part}, is a flag already; call it otherwise"
            )
            sys.exit(cli.failed(UserError(taken)))
        _define(name, group, field, field.metadata["text"])


def own_parts(names: Iterable[str]) -> dict[str, OwnPart]:
    """Returns those of some parts that the user wrote; a broken one ends the program.

    Their settings are flags as well, so they are loaded before flags are read.
    """
    streams.open_closed()  # before TensorFlow opens anything
    try:
        return {name: own_part(name) for name in names if is_own(name)}
    except UserError as error:
        sys.exit(cli.failed(error))
    except KeyboardInterrupt:
        sys.exit(128 + signal.SIGINT)


def _part_names(arguments: Sequence[str]) -> Iterator[str]:
    """Yields the parts that a command line names, flagfiles included."""
    try:
        arguments = flags.FLAGS.read_flags_from_files(
            flagfiles.located(arguments), force_gnu=False
        )
    except (flags.Error, ValueError):
        return  # cli.run says what is wrong with the flagfile
    for argument, following in itertools.zip_longest(arguments, arguments[1:]):
        flag, equals, value = argument.lstrip("-").partition("=")
        if argument.startswith("-") and flag in ("encoder", "head", "regularizers"):
            yield from (value if equals else following or "").split(",")


def _note(name: str, group: type[Settings], field: dataclasses.Field) -> None:
    """Notes where help lists the flag of a setting, and what others call it."""
    show.GROUPS.setdefault(name, group.group)
    for other in field.metadata["also"]:
        words.SYNONYMS.setdefault(other, name)


def _define(
    name: str, group: type[Settings], field: dataclasses.Field, text: str
) -> None:
    """Defines the flag of a setting; unset, it takes the published value."""
    _note(name, group, field)
    within, kind = field.metadata["within"], settings.kind(group, field)
    if kind is not str and isinstance(within, Choice) and within:
        few = "One" if kind in (int, float) else "Any"
        text = f"{text} {few} of {', '.join(map(str, within))}."
    if kind is bool:
        flags.DEFINE_boolean(name, None, text)
    elif kind is int and isinstance(within, Interval):
        high = None if within.high >= MAX_INT else int(within.high)
        flags.DEFINE_integer(name, None, text, int(within.low), high)
    elif kind is int:
        flags.DEFINE_integer(name, None, text)
    elif kind is float:
        flags.DEFINE_float(name, None, text)
    elif kind is str and within:
        flags.DEFINE_enum(name, None, within, text)
    elif kind is str:
        flags.DEFINE_string(name, None, text)
    else:  # a tuple of whole numbers or of names
        flags.DEFINE_list(name, None, text)
