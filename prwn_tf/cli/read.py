"""What the flags say: a config, kinds of episodes, the names that were chosen.

Nothing here loads TensorFlow, so that mistakes are answered at once.
"""

import dataclasses
import itertools
from collections.abc import Sequence
from typing import Any

from absl import flags

from prwn_tf import cli, methods, protocols
from prwn_tf.analysis import figures
from prwn_tf.analysis.settings import Settings
from prwn_tf.config import ASKED, TERMS, EpisodeSpec, TrainConfig
from prwn_tf.data import catalog
from prwn_tf.data.store import reader
from prwn_tf.errors import UserError

FLAGS = flags.FLAGS


def train_config() -> TrainConfig:
    """The published config of the task that the flags name, with their changes."""
    task = protocols.Task(
        dataset=FLAGS.dataset,
        method=FLAGS.method,
        **{name: FLAGS[name].value for name in ASKED},
        prepared=_prepared(),
        terms=_terms(),
    )
    base = protocols.protocol(task)
    halve_at = None if FLAGS.halve_at is None else _steps(FLAGS.halve_at)
    config = dataclasses.replace(
        base,
        train=_changed(
            base.train, {name: f"train_{name}" for name in (*ASKED, "extra")}
        ),
        **{
            part: _changed(getattr(base, part), names) for part, names in _PARTS.items()
        },
        optimizer=_changed(base.optimizer, _OPTIMIZER, halve_at=halve_at),
        **_given({name: name for name in _PLAIN}),
    )
    methods.check(config)
    _check_used(config)
    return config


def _check_used(config: TrainConfig) -> None:
    """Raises if a flag was given that nothing in the config looks at."""
    unused = {
        flag: f"--{term}_weight is 0"
        for term in TERMS
        if term not in config.terms
        for flag in _PARTS[term].values()
        if flag != f"{term}_weight"
    }
    for flag, method in (
        ("cluster_radius", "cluster_kmeans"),
        ("mask_power", "masked_kmeans"),
    ):
        if config.method != method:
            unused[flag] = f"it belongs to --method={method}"
    for flag, reason in unused.items():
        if FLAGS[flag].value is not None:
            raise UserError(f"--{flag} has no effect here: {reason}; leave it out")


def _terms() -> tuple[str, ...]:
    """The loss terms that the flags name or give a weight, beside the method's own."""
    named = methods.METHODS[FLAGS.method].terms
    if FLAGS.regularizers is not None:
        named = chosen("regularizers", TERMS)
    weights = {name: FLAGS[f"{name}_weight"].value or 0 for name in TERMS}
    return tuple(name for name in TERMS if name in named or weights[name] > 0)


def _prepared() -> protocols.Prepared | None:
    """What the data set is like, where that is not known before it is prepared."""
    directory = catalog.location(FLAGS.dataset, cli.data_dir())
    if FLAGS.dataset not in protocols.ANY_SIZE or not catalog.is_prepared(directory):
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
    )


def task_spec(base: EpisodeSpec) -> EpisodeSpec:
    """The episodes that the task flags describe, unset ones as in `base`."""
    return _changed(base, {name: name for name in ASKED})


def task_specs(base: EpisodeSpec) -> list[EpisodeSpec]:
    """All combinations of the numbers in the task flags, unset ones as in `base`."""
    numbers = [FLAGS[name].value or [getattr(base, name)] for name in ASKED]
    return [EpisodeSpec(*each) for each in itertools.product(*numbers)]


def analysis_settings(spec: EpisodeSpec, test: EpisodeSpec, **more: Any) -> Settings:
    """What the flags of an analysis say, beside its episodes."""
    figures.require()
    return Settings(
        spec=spec,
        test=test,
        episodes=FLAGS.eval_episodes or 300,
        smoothing=FLAGS.graph_smoothing,
        episode=FLAGS.episode,
        **more,
    )


def chosen(flag: str, known: Sequence[str]) -> list[str]:
    """The names in a flag that takes several, each once, all of them known."""
    names = [name for text in FLAGS[flag].value for name in text.split(",")]
    for name in names:
        if name not in known:
            raise UserError(f"--{flag} takes {', '.join(known)}, got {name!r}")
    return list(dict.fromkeys(names))


# Field -> flag, for each part of a config.
_PARTS = {
    "walk": {
        "weight": "walk_weight",
        "steps": "walk_steps",
        "decay": "walk_decay",
        "visit_weight": "visit_weight",
        "smoothing": "graph_smoothing",
    },
    "vat": {
        "weight": "vat_weight",
        "epsilon": "vat_epsilon",
        "xi": "vat_xi",
        "query_weight": "vat_query_weight",
    },
    "entropy": {"weight": "entropy_weight"},
    "association": {"weight": "association_weight"},
    "kmeans": {"radius": "cluster_radius", "mask_power": "mask_power"},
}
_OPTIMIZER = {name: name for name in ("learning_rate", "beta_2", "weight_decay")}
_PLAIN = (
    "encoder",
    "channels",
    "episodes",
    "eval_episodes",
    "seed",
    "label_ratio",
    "label_seed",
    "select",
    "validate_every",
    "validation_episodes",
    "checkpoint_every",
    "report_every",
    "conv_block",
    "xla",
    "deterministic",
)


def _given(names: dict[str, str]) -> dict[str, object]:
    """Field -> value of its flag, for the flags that were set."""
    values = {field: FLAGS[flag].value for field, flag in names.items()}
    return {field: value for field, value in values.items() if value is not None}


def _changed(base, names: dict[str, str], **more):
    changes = _given(names) | {k: v for k, v in more.items() if v is not None}
    return dataclasses.replace(base, **changes)


def _steps(texts: list[str]) -> tuple[int, ...]:
    try:
        return tuple(int(text) for text in texts)
    except ValueError as error:
        raise UserError(f"--halve_at takes steps like 2000,4000: {error}") from error


def given_flags(program: str, *left_out: str) -> str:
    """The flags of a program that were set, as a flagfile that does the same again."""
    key = {flag.name for flag in FLAGS.get_key_flags_for_module(program)}
    given = sorted(name for name in key - {*left_out} if FLAGS[name].present)
    return "".join(f"{FLAGS[name].serialize()}\n" for name in given)
