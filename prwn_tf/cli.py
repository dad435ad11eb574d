"""What the programs share: flags, flags -> config, exit codes.

Nothing here loads TensorFlow, so that --help and mistakes are answered at once.
"""

import dataclasses
import functools
import itertools
import os
import pathlib
import sys
import tempfile
from collections.abc import Callable, Sequence
from typing import Any

from absl import app, flags, logging

from prwn_tf import flagfiles, methods, protocols
from prwn_tf.config import TERMS, EpisodeSpec, TrainConfig
from prwn_tf.data import catalog, store
from prwn_tf.errors import Stopped, UserError
from prwn_tf.evaluation import figures
from prwn_tf.evaluation.settings import Settings

FLAGS = flags.FLAGS


def run(main: Callable[[], None]) -> None:
    """Runs a program and turns its errors into one line and an exit code."""
    flagfiles.check(sys.argv[1:])
    app.run(functools.partial(_guarded, main))


def load_tensorflow() -> None:
    """Imports TensorFlow without its greeting of a dozen lines.

    Its C++ part writes to standard error while it loads, whatever the log level says;
    if the import fails, what it wrote is shown.
    """
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    logging.set_verbosity(logging.WARNING)
    sys.stderr.flush()
    kept = os.dup(2)
    with tempfile.TemporaryFile() as greeting:
        os.dup2(greeting.fileno(), 2)
        try:
            import tensorflow as tf

            tf.config.list_physical_devices()
        except BaseException:
            greeting.seek(0)
            os.write(kept, greeting.read())
            raise
        finally:
            os.dup2(kept, 2)
            os.close(kept)


def _guarded(main: Callable[[], None], argv: list[str]) -> int:
    if len(argv) > 1:
        raise app.UsageError(f"unexpected argument {argv[1]!r}; all settings are flags")
    try:
        main()
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    except Stopped as stopped:
        print(stopped, file=sys.stderr)
        return stopped.exit_code
    except KeyboardInterrupt:
        return 130
    return 0


def define_data_flags() -> None:
    """Where prepared data lies."""
    flags.DEFINE_string(
        "data_dir",
        os.environ.get("PRWN_DATA_DIR", "~/.cache/prwn_tf"),
        "Folder of prepared data sets; the variable PRWN_DATA_DIR changes the default.",
    )


def define_task_flags(*, several: bool = False) -> None:
    """The task to be good at: validation and test episodes.

    Args:
        several: whether each flag takes several numbers, for `task_specs`.
    """
    define = define_integers if several else flags.DEFINE_integer
    define("way", None, "Classes to tell apart.", lower_bound=2)
    define("shot", None, "Labelled images a class.", lower_bound=1)
    define("query", None, "Images a class to classify.", lower_bound=1)
    define("unlabeled", None, "Unlabelled images a class.", lower_bound=0)
    define(
        "distractors",
        None,
        "Further classes present among the unlabelled images only.",
        lower_bound=0,
    )
    flags.DEFINE_integer(
        "eval_episodes", None, "Test episodes to average over.", lower_bound=1
    )


class _Integers(flags.ArgumentParser):
    """Whole numbers with commas between them."""

    syntactic_help = "whole numbers with commas between them"

    def __init__(self, lower_bound: int):
        self._number = flags.IntegerParser(lower_bound=lower_bound)

    def parse(self, argument: str | list[int]) -> list[int]:
        texts = argument.split(",") if isinstance(argument, str) else argument
        return [self._number.parse(text) for text in texts]


def define_integers(
    name: str, default: list[int] | None, text: str, lower_bound: int
) -> None:
    """A flag of whole numbers with commas between them."""
    flags.DEFINE(
        _Integers(lower_bound),
        name,
        default,
        f"{text} Several with commas between them.",
        serializer=flags.ListSerializer(","),
    )


def define_analysis_flags() -> None:
    """Which finished runs to look into, and through which episodes."""
    flags.DEFINE_multi_string(
        "workdir",
        None,
        "Folder of a finished run. Give it several times to compare runs.",
        required=True,
    )
    flags.DEFINE_multi_string(
        "label", [], "Name of each run in tables and figures; default: its method."
    )
    flags.DEFINE_enum("split", "test", ["val", "test"], "Classes to look at.")
    flags.DEFINE_string(
        "output", None, "Folder for the results; default: analysis/ in the workdir."
    )
    flags.DEFINE_integer(
        "episode", 0, "The episode whose picture is drawn.", lower_bound=0
    )
    flags.DEFINE_float(
        "graph_smoothing",
        0.1,
        "Uniform share mixed into steps from and to prototypes, for all runs.",
        lower_bound=0,
        upper_bound=0.99,
    )


def define_train_flags() -> None:
    """What and how to train; unset flags take the published value."""
    flags.DEFINE_enum("dataset", "glyphs", protocols.DATASETS, "Data set.")
    flags.DEFINE_enum("method", "prwn", list(methods.METHODS), "Method.")
    flags.DEFINE_enum("encoder", None, sorted(methods.ENCODERS), "Encoder.")
    flags.DEFINE_integer("channels", None, "Channels of a block.", lower_bound=1)
    flags.DEFINE_integer("train_way", None, "As --way, in training.", lower_bound=2)
    flags.DEFINE_integer("train_shot", None, "As --shot, in training.", lower_bound=1)
    flags.DEFINE_integer("train_query", None, "As --query, in training.", lower_bound=1)
    flags.DEFINE_integer(
        "train_unlabeled", None, "As --unlabeled, in training.", lower_bound=0
    )
    flags.DEFINE_integer(
        "train_distractors", None, "As --distractors, in training.", lower_bound=0
    )
    flags.DEFINE_integer(
        "train_extra",
        None,
        "Unlabelled images of a training episode that belong to no class, from what "
        "prepare took as --unlabeled_source.",
        lower_bound=0,
    )
    flags.DEFINE_integer("episodes", None, "Training episodes.", lower_bound=1)
    flags.DEFINE_integer("seed", None, "Of weights and episodes.", lower_bound=0)
    flags.DEFINE_float("label_ratio", None, "Labelled share of a training class.")
    flags.DEFINE_integer(
        "label_seed", None, "Draws which images are labelled.", lower_bound=0
    )
    define_term_flags()
    flags.DEFINE_float("learning_rate", None, "Adam's rate at the start.")
    flags.DEFINE_list("halve_at", None, "Steps at which the rate is halved.")
    flags.DEFINE_float("beta_2", None, "Adam's second beta.")
    flags.DEFINE_float("weight_decay", None, "Of the convolution kernels.")
    flags.DEFINE_enum(
        "select", None, ["last", "best"], "Test the last or the best checkpoint."
    )
    flags.DEFINE_integer(
        "validate_every", None, "Steps between validations.", lower_bound=1
    )
    flags.DEFINE_integer(
        "validation_episodes", None, "Episodes of a validation.", lower_bound=1
    )
    flags.DEFINE_integer(
        "checkpoint_every", None, "Steps between checkpoints.", lower_bound=1
    )
    flags.DEFINE_integer(
        "report_every", None, "Steps between points of the curves.", lower_bound=1
    )
    flags.DEFINE_enum(
        "conv_block",
        None,
        ["auto", "plain", "fast"],
        "Train by Keras layers, or by the same function arranged for a CPU; auto: fast "
        "unless there is a GPU.",
    )
    flags.DEFINE_enum(
        "xla",
        None,
        ["auto", "off", "walk", "step"],
        "Compile nothing, the walk, or the whole step; auto: step on a GPU, else off.",
    )
    flags.DEFINE_boolean(
        "deterministic", None, "The same bits on every run, on a GPU too; slower there."
    )


def define_term_flags() -> None:
    """The loss terms that can join any method; weight 0 leaves one out."""
    flags.DEFINE_multi_string(
        "regularizers",
        None,
        f"Loss terms instead of the method's own, of {', '.join(TERMS)}; each with its "
        "published weight. Several with commas.",
    )
    flags.DEFINE_float("walk_weight", None, "Of the walk in the loss; 0 leaves it out.")
    flags.DEFINE_integer("walk_steps", None, "Inner steps.", lower_bound=0)
    flags.DEFINE_float("walk_decay", None, "Weight of t inner steps: decay ** t.")
    flags.DEFINE_float("visit_weight", None, "Of the visit loss beside the walker's.")
    flags.DEFINE_float(
        "graph_smoothing",
        None,
        "Uniform share mixed into steps from and to prototypes.",
    )
    flags.DEFINE_float("vat_weight", None, "Of virtual adversarial training.")
    flags.DEFINE_float("vat_epsilon", None, "Length of the change of an image.")
    flags.DEFINE_float("vat_xi", None, "Length at which the worst change is sought.")
    flags.DEFINE_float("vat_query_weight", None, "Of the queries in it.")
    flags.DEFINE_float("entropy_weight", None, "Of the unlabelled points' entropy.")
    flags.DEFINE_float("association_weight", None, "Of learning by association.")
    flags.DEFINE_float("cluster_radius", None, "First radius of cluster_kmeans.")
    flags.DEFINE_integer("mask_power", None, "masked_kmeans counts mask ** power.")


def train_config() -> TrainConfig:
    """The published config of the task that the flags name, with their changes."""
    task = protocols.Task(
        dataset=FLAGS.dataset,
        method=FLAGS.method,
        **{name: FLAGS[name].value for name in _SPEC},
        prepared=_prepared(),
        terms=_terms(),
    )
    base = protocols.protocol(task)
    halve_at = None if FLAGS.halve_at is None else _steps(FLAGS.halve_at)
    config = dataclasses.replace(
        base,
        train=_changed(
            base.train, {name: f"train_{name}" for name in (*_SPEC, "extra")}
        ),
        **{
            part: _changed(getattr(base, part), names) for part, names in _PARTS.items()
        },
        optimizer=_changed(base.optimizer, _OPTIMIZER, halve_at=halve_at),
        **_given({name: name for name in _PLAIN}),
    )
    methods.check(config)
    return config


def _terms() -> tuple[str, ...]:
    """The loss terms that the flags name or give a weight, beside the method's own."""
    named = methods.METHODS[FLAGS.method].terms
    if FLAGS.regularizers is not None:
        named = chosen("regularizers", TERMS)
    weights = {name: FLAGS[f"{name}_weight"].value or 0 for name in TERMS}
    return tuple(name for name in TERMS if name in named or weights[name] > 0)


def _prepared() -> protocols.Prepared | None:
    """What the data set is like, where that is not known before it is prepared."""
    directory = catalog.location(FLAGS.dataset, data_dir())
    if FLAGS.dataset not in protocols.ANY_SIZE or not catalog.is_prepared(directory):
        return None
    stores = store.open_dataset(directory)
    held_out = [stores["val"], stores["test"]]
    return protocols.Prepared(
        image_shape=stores["train"].image_shape,
        train_classes=len(stores["train"].names),
        train_images=stores["train"].smallest,
        held_out_classes=min(len(part.names) for part in held_out),
        held_out_images=min(part.smallest for part in held_out),
        extra=len(stores.get(store.UNLABELED, ())),
    )


def task_spec(base: EpisodeSpec) -> EpisodeSpec:
    """The episodes that the task flags describe, unset ones as in `base`."""
    return _changed(base, {name: name for name in _SPEC})


def task_specs(base: EpisodeSpec) -> list[EpisodeSpec]:
    """All combinations of the numbers in the task flags, unset ones as in `base`."""
    numbers = [FLAGS[name].value or [getattr(base, name)] for name in _SPEC]
    return [EpisodeSpec(*each) for each in itertools.product(*numbers)]


def analysis_settings(spec: EpisodeSpec, **more: Any) -> Settings:
    """What the flags of an analysis say, beside its episodes."""
    figures.require()
    return Settings(
        spec=spec,
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


_SPEC = ("way", "shot", "query", "unlabeled", "distractors")
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


def data_dir() -> pathlib.Path:
    """The folder of prepared data sets."""
    return pathlib.Path(FLAGS.data_dir).expanduser()
