"""The results of an analysis, on their way to files and TensorBoard."""

import dataclasses
import math
import pathlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from prwn_tf import files
from prwn_tf.analysis import figures
from prwn_tf.analysis.figures import Drawing
from prwn_tf.errors import StorageError, first_line
from prwn_tf.evaluation.intervals import half_width, plus_minus

Row = Mapping[str, Any]


@dataclasses.dataclass(frozen=True)
class Finding:
    """The numbers, tables and figures of one analysis."""

    name: str
    lines: Sequence[str]  # for the reader at the terminal
    numbers: Mapping[str, Any]  # the content of its JSON file
    tables: Mapping[str, Sequence[Row]]  # file name -> rows of a CSV file
    figures: Mapping[str, Drawing]  # file name -> its files

    def publish(self, folder: pathlib.Path) -> None:
        """Writes all files, and the figures for TensorBoard as well."""
        files.write_json(folder / f"{self.name}.json", self.numbers)
        for name, rows in self.tables.items():
            header = list(rows[0])
            files.write_csv(
                folder / f"{name}.csv",
                header,
                ([_cell(row[column]) for column in header] for row in rows),
            )
        for name, drawing in self.figures.items():
            figures.write(folder, name, drawing)
        _write_summaries(self, folder / "tensorboard")


def _cell(value: Any) -> Any:
    """Returns a value as a table has it; six digits are enough to plot it."""
    if not isinstance(value, float):
        return value
    return "" if math.isnan(value) else f"{value:.6g}"


def _write_summaries(finding: Finding, folder: pathlib.Path) -> None:
    """Writes the figures for TensorBoard, in the place of those of an earlier call."""
    suffix = f".{finding.name}"
    with files.storage_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
        for earlier in folder.glob(f"events.*{suffix}"):
            earlier.unlink()
    try:
        writer = tf.summary.create_file_writer(str(folder), filename_suffix=suffix)
        with writer.as_default(step=0):
            for name, drawing in finding.figures.items():
                image = tf.io.decode_png(drawing["png"], channels=3)
                tf.summary.image(f"analysis/{name}", image[None])
            writer.flush()  # closing would not say that it cannot be written
        writer.close()
    except tf.errors.OpError as error:
        raise StorageError(f"cannot write to {folder}: {first_line(error)}") from error


def mean_and_interval(values: np.ndarray) -> tuple[float, float]:
    """Returns the mean over episodes and the half-width of its 95 % interval."""
    return float(np.mean(values)), half_width(values)


def format_mean(values: np.ndarray) -> str:
    """Returns the mean over episodes with its interval, as it is printed."""
    mean, interval = mean_and_interval(values)
    return f"{mean:.3f}{plus_minus(interval, 3)}"


def as_floats(pairs: Iterable[tuple[str, Any]]) -> dict[str, float]:
    """Converts numbers of NumPy to those of Python, which JSON can hold."""
    return {name: float(value) for name, value in pairs}
