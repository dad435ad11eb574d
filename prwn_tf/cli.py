"""What the programs share: flags, flags -> config, exit codes.

Nothing here loads TensorFlow, so that --help and mistakes are answered at once.
"""

import dataclasses
import errno
import functools
import itertools
import os
import pathlib
import signal
import sys
import tempfile
from collections.abc import Callable, Sequence
from typing import Any

from absl import app, flags, logging

from prwn_tf import flagfiles, methods, protocols
from prwn_tf.config import ASKED, TERMS, EpisodeSpec, TrainConfig
from prwn_tf.data import catalog, store
from prwn_tf.errors import Stopped, StorageError, UserError
from prwn_tf.evaluation import figures
from prwn_tf.evaluation.settings import Settings

FLAGS = flags.FLAGS
FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS}  # or not to be written


def run(main: Callable[[], None]) -> None:
    """Runs a program and turns its errors into one line and an exit code."""
    flagfiles.check(sys.argv[1:])
    try:
        try:
            app.run(functools.partial(_guarded, main))
        finally:
            if sys.stdout is not None:
                sys.stdout.flush()
    except BrokenPipeError:  # whoever read our output is gone, as head is
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(128 + signal.SIGPIPE)


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
        return _failed(error)
    except BrokenPipeError:
        raise
    except OSError as error:
        return _failed(_explained(error))
    except Stopped as stopped:
        print(stopped, file=sys.stderr)
        return stopped.exit_code
    except KeyboardInterrupt:
        return 130
    return 0


def _failed(error: UserError) -> int:
    print(f"error: {error}", file=sys.stderr)
    return error.exit_code


def _explained(error: OSError) -> UserError:
    """What the system refused, where nobody foresaw it: a forbidden or long name."""
    kind = StorageError if error.errno in FULL else UserError
    named = error.filename is not None and error.strerror is not None
    return kind(f"{error.filename}: {error.strerror}" if named else str(error))


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


def data_dir() -> pathlib.Path:
    """The folder of prepared data sets."""
    return path(FLAGS.data_dir)


def path(text: str | pathlib.Path) -> pathlib.Path:
    """The path that a flag names; a shell leaves the ~ in --flag=~/here as it is."""
    return pathlib.Path(os.path.expanduser(text))
