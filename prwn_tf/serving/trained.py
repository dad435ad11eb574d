"""The model of a finished run, rebuilt from its workdir alone, without its data."""

import pathlib
from typing import Any, NamedTuple

from prwn_tf import build, files, methods, runs
from prwn_tf import config as config_lib
from prwn_tf.config import TrainConfig
from prwn_tf.errors import UserError
from prwn_tf.serving.preprocess import Preprocess
from prwn_tf.serving.signatures import Functions
from prwn_tf.training import weights
from prwn_tf.training.workdir import Workdir


class Trained(NamedTuple):
    """A trained model, and what is known of it."""

    functions: Functions
    preprocess: Preprocess
    about: dict[str, Any]


def load(path: pathlib.Path) -> Trained:
    """The selected checkpoint of the run in a folder."""
    workdir = Workdir(path)
    config = workdir.load_config()
    runs.check_finished(workdir)
    preprocess = Preprocess.from_config(config)
    model = build.build_model(build.resolved(config))
    step = weights.restore(workdir.checkpoints, model, config.select)
    if step == 0:
        raise UserError(f"the run in {path} has not been trained for a step")
    functions = Functions(model, preprocess)
    about = {
        "method": config.method,
        "dataset": config.dataset,
        "step": step,
        "preprocess": config_lib.to_dict(preprocess),
        "embedding_size": functions.size,
        "fingerprint": functions.fingerprint(),
        "accuracy": _accuracy(config, path / "result.json"),
        "config": config_lib.to_dict(config),
    }
    return Trained(functions, preprocess, about)


def _accuracy(config: TrainConfig, path: pathlib.Path) -> list[dict[str, Any]]:
    """The rows that were measured with prototypes, which is what is exported.

    Heads that learn from unlabelled points answer "none" in a way of their own.
    """
    result = files.read_json(path)
    rows = result.get("test") if isinstance(result, dict) else None
    if not isinstance(rows, list) or not all(map(_is_row, rows)):
        raise UserError(f"{path} holds no test rows; the training command makes it")
    refines = methods.METHODS[config.method].refines
    return [row for row in rows if not (refines and row["adapt"] == "none")]


def _is_row(row: Any) -> bool:
    return isinstance(row, dict) and row.keys() >= {"adapt", "way", "shot", "accuracy"}
