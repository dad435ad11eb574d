"""What the programs share: flags, flags -> config, exit codes.

Nothing here loads TensorFlow, so that --help and mistakes are answered at once.
"""

import dataclasses
import functools
import os
import pathlib
import sys
import tempfile
from collections.abc import Callable

from absl import app, flags, logging

from prwn_tf import flagfiles, methods, protocols
from prwn_tf.config import EpisodeSpec, TrainConfig
from prwn_tf.errors import Stopped, UserError

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


def define_task_flags() -> None:
    """The task to be good at: validation and test episodes."""
    flags.DEFINE_integer("way", None, "Classes to tell apart.", lower_bound=2)
    flags.DEFINE_integer("shot", None, "Labelled images a class.", lower_bound=1)
    flags.DEFINE_integer("query", None, "Images a class to classify.", lower_bound=1)
    flags.DEFINE_integer("unlabeled", None, "Unlabelled images a class.", lower_bound=0)
    flags.DEFINE_integer(
        "distractors",
        None,
        "Further classes present among the unlabelled images only.",
        lower_bound=0,
    )
    flags.DEFINE_integer(
        "eval_episodes", None, "Test episodes to average over.", lower_bound=1
    )


def define_train_flags() -> None:
    """What and how to train; unset flags take the published value."""
    flags.DEFINE_enum("dataset", "glyphs", protocols.DATASETS, "Data set.")
    flags.DEFINE_enum("method", "prwn", sorted(methods.METHODS), "Method.")
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
    flags.DEFINE_integer("episodes", None, "Training episodes.", lower_bound=1)
    flags.DEFINE_integer("seed", None, "Of weights and episodes.", lower_bound=0)
    flags.DEFINE_float("label_ratio", None, "Labelled share of a training class.")
    flags.DEFINE_integer(
        "label_seed", None, "Draws which images are labelled.", lower_bound=0
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


def train_config() -> TrainConfig:
    """The published config of the task that the flags name, with their changes."""
    task = protocols.Task(
        dataset=FLAGS.dataset,
        method=FLAGS.method,
        **{name: FLAGS[name].value for name in _SPEC},
    )
    base = protocols.protocol(task)
    halve_at = None if FLAGS.halve_at is None else _steps(FLAGS.halve_at)
    return dataclasses.replace(
        base,
        train=_changed(base.train, {name: f"train_{name}" for name in _SPEC}),
        walk=_changed(base.walk, _WALK),
        optimizer=_changed(base.optimizer, _OPTIMIZER, halve_at=halve_at),
        **_given({name: name for name in _PLAIN}),
    )


def task_spec(base: EpisodeSpec) -> EpisodeSpec:
    """The episodes that the task flags describe, unset ones as in `base`."""
    return _changed(base, {name: name for name in _SPEC})


_SPEC = ("way", "shot", "query", "unlabeled", "distractors")
_WALK = {
    "weight": "walk_weight",
    "steps": "walk_steps",
    "decay": "walk_decay",
    "visit_weight": "visit_weight",
    "smoothing": "graph_smoothing",
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
