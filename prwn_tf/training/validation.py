"""The validations of a run, as a table in its workdir."""

import csv
import logging
import pathlib
from typing import NamedTuple

from prwn_tf import files
from prwn_tf.errors import StorageError


class Validation(NamedTuple):
    """The accuracy on validation episodes after some steps, and its 95 % interval."""

    step: int
    accuracy: float
    interval: float
    episodes: int


def record(path: pathlib.Path, validation: Validation) -> None:
    """Adds a validation to a table, in place of those of its step and later.

    A resumed run repeats them. Where the table cannot be written, a warning says so:
    it is not worth a run.
    """
    earlier = [each for each in read(path) if each.step < validation.step]
    try:
        files.write_csv(path, Validation._fields, [*earlier, validation])
    except StorageError as error:
        logging.warning("%s", error)


def read(path: pathlib.Path) -> list[Validation]:
    """Returns the validations of a table, none if it is not there or no such table."""
    try:
        with path.open(encoding="utf-8", newline="") as file:
            return [
                Validation(
                    int(row["step"]),
                    float(row["accuracy"]),
                    float(row["interval"]),
                    int(row["episodes"]),
                )
                for row in csv.DictReader(file)
            ]
    except (OSError, KeyError, TypeError, ValueError, csv.Error):
        return []
