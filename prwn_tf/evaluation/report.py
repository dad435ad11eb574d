"""The files and lines that say how a run ended."""

import pathlib
from collections.abc import Sequence
from typing import Any

from prwn_tf import config as config_lib
from prwn_tf import files
from prwn_tf.config import TrainConfig
from prwn_tf.evaluation.evaluate import Evaluation


def result(
    config: TrainConfig, step: int, seconds: float, test: Sequence[Evaluation]
) -> dict[str, Any]:
    """The content of a run's result.json."""
    return {
        "method": config.method,
        "dataset": config.dataset,
        "step": step,
        "seconds": round(seconds, 1),
        "seed": config.seed,
        "label_ratio": config.label_ratio,
        "train_spec": config_lib.to_dict(config.train),
        "test_spec": config_lib.to_dict(config.test),
        "test": [evaluation.row() for evaluation in test],
    }


def write_episodes(path: pathlib.Path, test: Sequence[Evaluation]) -> None:
    """One row an episode, a column for each way to adapt."""
    columns = [evaluation.accuracies for evaluation in test]
    header = ["episode", *(f"accuracy_{evaluation.adapt}" for evaluation in test)]
    rows = (
        [index, *(f"{value:.6f}" for value in values)]
        for index, values in enumerate(zip(*columns, strict=True))
    )
    files.write_csv(path, header, rows)
