"""Turns raw data into a verified data set that the other programs read.

    python -m prwn_tf.prepare --dataset=omniglot
    python -m prwn_tf.prepare --dataset=mini --source=mini-imagenet/
    python -m prwn_tf.prepare --dataset=folder --source=pics/ --image_size=64
    python -m prwn_tf.prepare --dataset=folder:pets --source=pets.zip
    python -m prwn_tf.prepare --dataset=tfds:cifar100 --class_splits=cifar_fs
    python -m prwn_tf.prepare --dataset=omniglot --verify

A source is told by its content: pickles, arrays, class folders or files named
by class, in a folder or in one archive. Interrupt it when you like: mini,
tiered and folder continue where they stopped, the others are quick.
"""

import dataclasses
import pathlib
import signal
import sys
from typing import Any

from absl import flags

from prwn_tf import cli, expectation
from prwn_tf.cli import dataset, define
from prwn_tf.config import FITS
from prwn_tf.data import catalog, preparation
from prwn_tf.data.sets import class_splits, folder
from prwn_tf.data.store import reader, summary
from prwn_tf.errors import UserError

FLAGS = flags.FLAGS
define.define_data_flags()
dataset.define(preparation.KINDS, "Data set.")
flags.DEFINE_string(
    "source",
    None,
    "Raw files: a folder or an archive. Unset: omniglot is downloaded, glyphs and the "
    "sets in the plane are drawn.",
)
flags.DEFINE_string(
    "labels",
    None,
    "For folder: csv file with the columns file and label, as the gallery's "
    "corrected.csv, instead of a folder for each class. Names of files start from "
    "--source; images without a label are left out.",
)
flags.DEFINE_integer(
    "image_size",
    None,
    f"Height and width of the images; default: {folder.SIZE}. For images of any size.",
    lower_bound=16,
    upper_bound=512,
)
flags.DEFINE_enum(
    "fit",
    None,
    list(FITS),
    "How images become squares: squeezed (the default, as published), their middle "
    "alone, or whole with black bars. A model trained on them does so to all images.",
)
flags.DEFINE_string(
    "unlabeled_source",
    None,
    "Folder of further images without labels, which join training as unlabelled "
    "points that belong to no class: for folder by themselves, for mini and tiered "
    "as many as --train_extra of train says. Those that have a label in --labels are "
    "left out.",
)
flags.DEFINE_boolean(
    "allow_partial", None, "Accept a copy of mini or tiered that lacks classes."
)
flags.DEFINE_boolean(
    "skip_bad_images", None, "Leave out images that cannot be decoded, and record them."
)
flags.DEFINE_enum(
    "hold_out",
    None,
    list(folder.HOLD_OUT),
    "For folder and tfds: validation and test get classes of their own (the default), "
    "or images of their own of every class, where there are few classes.",
)
flags.DEFINE_integer(
    "seed",
    None,
    "For folder and tfds: draws what is held out; default: 0.",
    lower_bound=0,
)
flags.DEFINE_string(
    "class_splits",
    None,
    f"For folder and tfds: which class is of which split. {class_splits.HELP}",
)
flags.DEFINE_string(
    "tfds_dir",
    None,
    "For tfds: where tensorflow-datasets keeps its sets; default: its own default.",
)
flags.DEFINE_string(
    "image_key", None, "For tfds: the feature that is the image, where it has several."
)
flags.DEFINE_string(
    "label_key", None, "For tfds: the feature that is the class, where it has several."
)
flags.DEFINE_boolean(
    "replace", None, "Make a data set anew that is prepared already; the old one goes."
)
flags.DEFINE_boolean(
    "verify", False, "Only check what is prepared against the hashes in its manifest."
)
flags.adopt_module_key_flags(define)


def main() -> None:
    """Prepares a data set or verifies it, and prints what it holds."""
    # As Ctrl-C, so that what was unpacked goes and what was decoded stays.
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    directory = catalog.location(FLAGS.dataset, cli.data_dir())
    if not FLAGS.verify:
        _prepare()
    elif given := [f"--{name}" for name in _given()]:
        raise UserError(
            f"--verify only checks what is prepared, and {', '.join(given)} would have "
            "no effect; leave it out, or leave --verify out: preparing verifies too"
        )
    elif not catalog.is_prepared(directory):
        raise UserError(
            f"there is nothing to verify: {directory} is not a prepared data set"
        )
    reader.verify(directory)
    print("\n".join(summary.lines(directory)))
    print(f"{FLAGS.dataset} is prepared and verified in {directory}")
    if not FLAGS.verify:
        print("\n".join([*summary.held_out(directory), *_advice(directory)]))


def _advice(directory: pathlib.Path) -> list[str]:
    """Returns what to expect of what was prepared, and the next command."""
    place = f" --data_dir={FLAGS.data_dir}" * FLAGS["data_dir"].present
    command = f"python -m prwn_tf.train --dataset={FLAGS.dataset}{place}"
    train = reader.open_dataset(directory)["train"]
    lines = []
    if expectation.concerns(FLAGS.dataset, train.image_shape):
        lines = expectation.lines(len(train.names), train.smallest)
    return [*lines, f"next: {command}"]


def _prepare() -> None:
    """Prints what was found, and writes it."""
    described = preparation.described(FLAGS.dataset, cli.data_dir(), _options())
    with described as plan:
        for line in plan.lines:
            print(line)
        # Only now: everything that can be said at once is said.
        if plan.needs_tensorflow:
            cli.load_tensorflow()
        plan.write()


def _given() -> dict[str, Any]:
    """Returns the options of a preparation that the flags have, by name."""
    names = (field.name for field in dataclasses.fields(preparation.Options))
    return {name: FLAGS[name].value for name in names if FLAGS[name].value is not None}


def _options() -> preparation.Options:
    """Returns what the flags say of the preparation."""
    values = _given()
    for name in values.keys() & {"source", "labels", "unlabeled_source", "tfds_dir"}:
        values[name] = cli.path(values[name])
    return preparation.Options(**values)


if __name__ == "__main__":
    cli.run(main)
