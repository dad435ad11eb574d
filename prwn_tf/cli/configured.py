"""Where each setting of a run comes from: a flag, a flagfile, a paper, or us."""

import pathlib
import sys
from collections.abc import Iterator
from typing import Any, NamedTuple

from absl import flags

from prwn_tf import methods, protocols
from prwn_tf.cli import flagfiles, read
from prwn_tf.config import ASKED, PARTS, TrainConfig
from prwn_tf.errors import UserError
from prwn_tf.task import Task

FLAGS = flags.FLAGS
COMMAND_LINE, DEFAULT = "the command line", "the default of every data set and method"


class Row(NamedTuple):
    """A setting as its flag would give it."""

    flag: str
    value: Any
    origin: str

    def __str__(self) -> str:
        if isinstance(self.value, bool):
            return f"--{'' if self.value else 'no'}{self.flag}"
        several = isinstance(self.value, tuple)
        text = ",".join(map(str, self.value)) if several else str(self.value)
        return f"--{self.flag}={text}"


def flagfile(config: TrainConfig) -> str:
    """Returns a config as a flagfile, by where its values come from."""
    by_origin: dict[str, list[str]] = {}
    for row in rows(config):
        by_origin.setdefault(row.origin, []).append(str(row))
    first = [COMMAND_LINE, *sorted(by_origin.keys() - {COMMAND_LINE, DEFAULT}), DEFAULT]
    blocks = [
        [f"# {origin}", *by_origin[origin]] for origin in first if origin in by_origin
    ]
    shape = "x".join(map(str, config.image_shape))
    return "\n\n".join(["\n".join(block) for block in blocks] + [f"# images: {shape}"])


def defaults() -> dict[str, str]:
    """Returns flag -> its value for what is asked, as typed behind the flag's name.

    Where something else is wrong with what is asked, there are none.
    """
    try:
        every = list(rows(read.train_config()))
    except UserError:
        return {}
    texts = {row.flag: str(row) for row in every if not isinstance(row.value, bool)}
    return {flag: text.removeprefix(f"--{flag}") for flag, text in texts.items()}


def rows(config: TrainConfig) -> Iterator[Row]:
    """Yields all settings that a flag sets and that something looks at."""
    given = _given()
    published = _published(config)
    begun = _of_first_weights(config)

    def row(flag: str, value: Any, default: Any) -> Row:
        otherwise = DEFAULT if value == default else begun.get(flag, published)
        return Row(flag, value, given.get(flag, otherwise))

    yield row("dataset", config.dataset, config.dataset)
    yield row("method", config.method, config.method)
    yield row("encoder", config.encoder, TrainConfig.encoder)
    for name in ("head", "regularizers", "init_from"):
        if (value := FLAGS[name].value) is not None:
            yield row(name, tuple(value) if type(value) is list else value, None)
    for name in ASKED:
        yield row(name, getattr(config.test, name), None)
    own = {name: part.settings for name, part in config.own.items() if part.settings}
    parts = {name: getattr(config, name) for name in PARTS}
    groups = {"train": config.train, "": config, "optimizer": config.optimizer}
    for name, settings in (groups | parts | own).items():
        prefix = "train_" if name == "train" else ""
        for flag, field in settings.flags().items():
            if name in own or not methods.unused_reason(config, name, field):
                yield row(prefix + flag, getattr(settings, field.name), field.default)


def _published(config: TrainConfig) -> str:
    """Returns whose settings a config begins with."""
    if config.dataset not in protocols.PUBLISHED:
        return f"ours for {config.dataset}"
    task = Task(config.dataset, config.method, terms=config.terms)
    authors = protocols.authors_of(task.trained_as)
    return f"{authors} for {config.dataset}, or ours where they are silent"


def _of_first_weights(config: TrainConfig) -> dict[str, str]:
    """Returns flag -> where it comes from, for an encoder that was trained before."""
    if "init_from" not in FLAGS or not FLAGS.init_from:
        return {}
    settings = config.part(config.encoder)
    flags_of_it = ("encoder", "channels", *(settings.flags() if settings else ()))
    return dict.fromkeys(flags_of_it, f"the encoder of {FLAGS.init_from}")


def _given() -> dict[str, str]:
    """Returns where each flag was given: flag -> flagfile or command line."""
    places = {name: COMMAND_LINE for name in FLAGS if FLAGS[name].present}
    for path in flagfiles.paths(sys.argv[1:]):
        direct = {_flag(each) for each in sys.argv[1:]}
        for line in pathlib.Path(path).read_text(encoding="utf-8").splitlines():
            if (name := _flag(line.strip())) in places and name not in direct:
                places[name] = str(path)
    return places


def _flag(argument: str) -> str:
    """Returns the flag that an argument sets; a negated one by its own name."""
    name = argument.lstrip("-").partition("=")[0]
    negated = name.removeprefix("no")
    return negated if name not in FLAGS and negated in FLAGS else name
