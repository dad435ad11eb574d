"""What the flags say: a config, kinds of episodes, the names that were chosen.

Nothing here loads TensorFlow, so that mistakes are answered at once.
"""

import dataclasses
import itertools
import typing
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from absl import flags

from prwn_tf import (
    backbones,
    cli,
    dataset_names,
    methods,
    protocols,
    released,
    settings,
)
from prwn_tf.cli import define
from prwn_tf.config import (
    ASKED,
    FITS,
    PARTS,
    TERMS,
    EpisodeSpec,
    OptimizerConfig,
    TrainConfig,
)
from prwn_tf.data import catalog
from prwn_tf.data.store import reader
from prwn_tf.errors import UserError
from prwn_tf.own import OwnPart, check_kind
from prwn_tf.runs import Source
from prwn_tf.serving import models
from prwn_tf.settings import Settings
from prwn_tf.training.workdir import Workdir

FLAGS = flags.FLAGS
S = TypeVar("S", bound=Settings)


def train_config() -> TrainConfig:
    """Returns the published config of the task that the flags name, with changes."""
    own = _own_parts()
    flag_of = {FLAGS.encoder: "encoder", FLAGS.head: "head"}
    for name, part in own.items():
        check_kind(name, part, flag_of.get(name, "regularizers"))
    given = _given(TrainConfig)
    task = protocols.Task(
        dataset=FLAGS.dataset,
        method=FLAGS.method,
        **{name: FLAGS[name].value for name in ASKED},
        prepared=_prepared(),
        terms=_terms(own),
        head=FLAGS.head,
        label_ratio=given.get("label_ratio"),
    )
    base = protocols.protocol(task)
    config = _with_flags(base, own, given)
    if (run := _of_encoder(config)) is not None:
        theirs = run.load_config()
        config = _with_flags(methods.with_encoder(base, theirs), own, given)
        _check_inherited(config, theirs)
    methods.check(config)
    if not _goes_on(config):
        _check_used(config)
    return config


def _goes_on(config: TrainConfig) -> bool:
    """Returns whether the run has begun, and is not begun anew."""
    anew = "restart" in FLAGS and FLAGS.restart
    return not anew and workdir(config).has_config


def _with_flags(
    base: TrainConfig, own: Mapping[str, OwnPart], given: Mapping[str, Any]
) -> TrainConfig:
    """Returns a config with those changes that flags ask for."""
    return dataclasses.replace(
        base,
        train=_changed(base.train, "train_"),
        optimizer=_changed(base.optimizer),
        own={name: _own_changed(part) for name, part in own.items()},
        **{name: _changed(getattr(base, name)) for name in PARTS},
        **given,
        **{
            name: FLAGS[name].value for name in ("encoder", "head") if FLAGS[name].value
        },
    )


def _of_encoder(config: TrainConfig) -> Workdir | None:
    """Returns the run of --init_from, or the one that has begun with it already."""
    if "init_from" not in FLAGS or not FLAGS.init_from:
        return None
    path, begun = released.model(cli.path(FLAGS.init_from)), workdir(config)
    if _goes_on(config):
        known = begun.load_config().init_from
        if known.workdir == str(path.absolute()) or not Workdir(path).has_config:
            return begun
    return Workdir(path) if Workdir(path).has_config else None


def _check_inherited(config: TrainConfig, theirs: TrainConfig) -> None:
    """Raises if a flag asks for what --init_from decides, and for another value."""
    settings = config.part(config.encoder)
    if config.encoder != theirs.encoder:
        return  # which cannot be, for another reason
    for name, value in methods.inherited(theirs).items():
        if getattr(settings, name) != value:
            fields = type(settings).flags().items()
            flag = next(flag for flag, field in fields if field.name == name)
            raise UserError(
                f"--{flag} has no effect here: --init_from brings its own, {value}; "
                "leave it out"
            )


def workdir(config: TrainConfig) -> Workdir:
    """Returns the folder of a run: --workdir, or one for each task."""
    test = config.test
    name = f"{config.dataset}-{config.method}-{test.way}way-{test.shot}shot"
    if test.distractors:
        name += f"-{test.distractors}distractors"
    return Workdir(cli.path(FLAGS.workdir or f"runs/{name}-seed{config.seed}"))


def source() -> Source:
    """Returns the run of --workdir, or a network of Keras as --model has it."""
    if FLAGS.workdir is not None:
        for flag in ("encoder_weights", "dataset"):
            if flag in FLAGS and FLAGS[flag].value is not None:
                raise UserError(
                    f"--{flag} has no effect here: it belongs to --model=keras:NAME; "
                    "leave it out"
                )
        return Workdir(released.model(cli.path(FLAGS.workdir)))
    if not backbones.is_backbone(FLAGS.model):
        known = FLAGS.model if FLAGS.model in released.MODELS else "DIR"
        raise UserError(
            f"--model={FLAGS.model} is no network of Keras, as keras:EfficientNetV2B0 "
            f"is; give a run, or a released model, as --workdir={known}"
        )
    weights = FLAGS.encoder_weights or backbones.IMAGENET
    models.check(FLAGS.model, weights)
    if "dataset" not in FLAGS:
        return protocols.untrained(FLAGS.model, weights)
    if FLAGS.dataset is None:
        raise UserError(
            f"--model={FLAGS.model} is tested on data; give --dataset, one of "
            f"{', '.join(protocols.DATASETS)}"
        )
    config = protocols.untrained(FLAGS.model, weights, FLAGS.dataset, _prepared())
    methods.check(config)
    return config


def _own_parts() -> dict[str, OwnPart]:
    """Returns the parts that the user wrote, by their names in the flags."""
    texts = [FLAGS.encoder or "", FLAGS.head or "", *(FLAGS.regularizers or [])]
    return define.own_parts(name for text in texts for name in text.split(","))


def _check_used(config: TrainConfig) -> None:
    """Raises if a flag was given that nothing in the config looks at."""
    groups = [("", TrainConfig, "")]
    groups += [(name, kind, "") for name, kind in PARTS.items()]
    groups += [("train", EpisodeSpec, "train_"), ("optimizer", OptimizerConfig, "")]
    for part, kind, prefix in groups:
        for name, field in kind.flags().items():
            reason, flag = methods.unused_reason(config, part, field), prefix + name
            if reason and FLAGS[flag].value is not None:
                raise UserError(f"--{flag} has no effect here: {reason}; leave it out")


def _terms(own: Mapping[str, OwnPart]) -> tuple[str, ...]:
    """Returns the loss terms that the flags name or weigh, beside the method's own.

    Those of the user's own count among them, but have no place in a protocol.
    """
    named = methods.METHODS[FLAGS.method].terms
    if FLAGS.regularizers is not None:
        named = chosen("regularizers", [*TERMS, *own])
    weights = {name: FLAGS[f"{name}_weight"].value or 0 for name in TERMS}
    terms = (name for name in TERMS if name in named or weights[name] > 0)
    return (*terms, *(name for name in named if name in own))


def _prepared() -> protocols.Prepared | None:
    """Returns what the data set is like, where only preparing it decides that."""
    directory = catalog.location(FLAGS.dataset, cli.data_dir())
    kind = dataset_names.kind(FLAGS.dataset)
    if kind not in protocols.ANY_SIZE or not catalog.is_prepared(directory):
        return None
    stores = reader.open_dataset(directory)
    held_out = [stores["val"], stores["test"]]
    return protocols.Prepared(
        image_shape=stores["train"].image_shape,
        train_classes=len(stores["train"].names),
        train_images=stores["train"].smallest,
        held_out_classes=min(len(part.names) for part in held_out),
        held_out_images=min(part.smallest for part in held_out),
        extra=len(stores.get(reader.UNLABELED, ())),
        fit=reader.read_manifest(directory).get("fit", FITS[0]),
    )


def task_spec(base: EpisodeSpec) -> EpisodeSpec:
    """Returns the episodes that the task flags describe, unset ones as in `base`."""
    asked = {name: FLAGS[name].value for name in ASKED}
    given = {name: value for name, value in asked.items() if value is not None}
    return dataclasses.replace(base, **given)


def task_specs(base: EpisodeSpec) -> list[EpisodeSpec]:
    """Returns all combinations of numbers in the task flags; the rest as in `base`."""
    numbers = [FLAGS[name].value or [getattr(base, name)] for name in ASKED]
    return [EpisodeSpec(*each) for each in itertools.product(*numbers)]


def check_not_released(name: str) -> None:
    """Raises if what is found would be written into the package."""
    if released.is_ours(name):
        raise UserError(
            f"--workdir={name} is a released model, in whose folder nothing is "
            "written; give an --output"
        )


def chosen(flag: str, known: Sequence[str]) -> list[str]:
    """Returns the names in a flag that takes several, each once, all of them known."""
    for name in names(flag):
        if name not in known:
            raise UserError(f"--{flag} takes {', '.join(known)}, got {name!r}")
    return names(flag)


def names(flag: str) -> list[str]:
    """Returns the names in a flag that takes several, each once."""
    texts = (name for text in FLAGS[flag].value for name in text.split(","))
    return list(dict.fromkeys(texts))


def _given(group: type[Settings], prefix: str = "") -> dict[str, Any]:
    """Returns field -> value of its flag, for the flags that were set."""
    values = {}
    for flag, field in group.flags().items():
        name = prefix + flag
        if name in FLAGS and (value := FLAGS[name].value) is not None:
            kind = settings.kind(group, field)
            values[field.name] = (
                _items(name, value, kind) if type(value) is list else value
            )
    return values


def _changed(base: S, prefix: str = "") -> S:
    """Returns settings with those changes that flags ask for."""
    return dataclasses.replace(base, **_given(type(base), prefix))


def _own_changed(part: OwnPart) -> OwnPart:
    """Returns a part of the user's with those changes that flags ask for."""
    settings = part.settings and _changed(part.settings)
    return dataclasses.replace(part, settings=settings)


def _items(flag: str, texts: list[str], kind: Any) -> tuple:
    """Returns a flag of several values as a tuple of what the setting holds."""
    [item, _] = typing.get_args(kind)
    try:
        return tuple(item(text) for text in texts)
    except ValueError as error:
        raise UserError(f"--{flag} takes values like 2000,4000: {error}") from error


def given_flags(program: str, *left_out: str) -> str:
    """Returns the flags of a program that were set, as a flagfile."""
    key = {flag.name for flag in FLAGS.get_key_flags_for_module(program)}
    given = sorted(name for name in key - {*left_out} if FLAGS[name].present)
    return "".join(f"{FLAGS[name].serialize()}\n" for name in given)
