"""Any classification set of tensorflow-datasets: unpacked to a folder for each class.

From there on it is like anyone's own images. The images stay as they were encoded.
"""

import os
import pathlib
import textwrap
from typing import Any

import tqdm

from prwn_tf import imports
from prwn_tf.data import tree
from prwn_tf.data.tree import Tree
from prwn_tf.errors import UserError

LONGEST_NAME = 120  # of a file or folder that is made, in characters


def unpacked(
    name: str,
    scratch: pathlib.Path,
    tfds_dir: pathlib.Path | None = None,
    image_key: str | None = None,
    label_key: str | None = None,
) -> Tree:
    """Returns the files of a set, all its splits together, each image in its class.

    Args:
        name: as tensorflow-datasets has it, such as eurosat/rgb.
        scratch: a folder for them, which the caller removes.
        tfds_dir: where prepared sets lie, and new ones are downloaded to.
    """
    imports.load_tensorflow()
    builder = _prepared_builder(name, tfds_dir)
    image_key, label_key = _keys(name, builder.info, image_key, label_key)
    labels = builder.info.features[label_key].names
    folders = [scratch / _file_name(label) for label in labels]
    if len(set(folders)) < len(folders):
        raise UserError(f"classes of tfds:{name} cannot be told apart as folders")
    for folder in folders:
        folder.mkdir(parents=True, exist_ok=True)
    for split, info in builder.info.splits.items():
        examples = tqdm.tqdm(
            _examples(builder, split, image_key),
            desc=f"{name}, {split}",
            total=info.num_examples,
            unit=" images",
            disable=None,
        )
        for place, example in enumerate(examples):
            label = int(example[label_key])
            if label < 0:  # a test set whose labels are kept secret
                continue
            _write(folders[label], f"{split}-{place:08d}", example[image_key])
    for folder in folders:
        if not any(folder.iterdir()):
            folder.rmdir()
    return tree.scan(scratch)


def _prepared_builder(name: str, tfds_dir: pathlib.Path | None) -> Any:
    """Returns the builder of a set that is on this disk, downloaded if it was not."""
    import tensorflow_datasets as tfds

    try:
        builder = tfds.builder(name, data_dir=tfds_dir)
    except tfds.core.DatasetNotFoundError as error:
        raise UserError(
            f"tensorflow-datasets has no set {name!r}, and none lies in "
            f"{tfds_dir or 'its folder'}; see tfds.list_builders(), or give --tfds_dir"
        ) from error
    except Exception as error:  # of any library that a set needs
        raise UserError(_failed(name, error)) from error
    if not builder.info.splits:
        print(
            f"downloading tfds:{name} ({builder.info.download_size}) to "
            f"{builder.data_dir}",
            flush=True,
        )
        try:
            builder.download_and_prepare()
        except (Exception, SystemExit) as error:
            raise UserError(_failed(name, error)) from error
    return builder


def _failed(name: str, error: BaseException) -> str:
    """Returns the message on a set that cannot be had."""
    reason = textwrap.shorten(f"{type(error).__name__}: {error}", 240)
    return (
        f"cannot get tfds:{name} ({reason}); download it by hand into downloads/manual "
        "of --tfds_dir, or give its images in class folders to --dataset=folder "
        "--source=PATH"
    )


def _keys(
    name: str, info: Any, image_key: str | None, label_key: str | None
) -> tuple[str, str]:
    """Returns which features of a set are the image and its class."""
    from tensorflow_datasets import features

    return (
        _key(name, info, "image", features.Image, image_key),
        _key(name, info, "label", features.ClassLabel, label_key),
    )


def _key(name: str, info: Any, what: str, kind: type, asked: str | None) -> str:
    """Returns the feature that is asked for, or else the only one of a kind."""
    fitting = [
        key for key, feature in dict(info.features).items() if isinstance(feature, kind)
    ]
    usual = [key for key in info.supervised_keys or () if key in fitting]
    if not fitting:
        raise UserError(
            f"tfds:{name} has no {what} for each example, so classes cannot be learned "
            f"from it; its features are {', '.join(info.features)}"
        )
    if asked is not None and asked not in fitting:
        raise UserError(
            f"--{what}_key={asked} is not a feature of tfds:{name} that could be the "
            f"{what}; choose of {', '.join(fitting)}"
        )
    if asked is None and not usual and len(fitting) > 1:
        raise UserError(
            f"tfds:{name} has several features that could be the {what}: "
            f"{', '.join(fitting)}; choose with --{what}_key"
        )
    return asked or [*usual, *fitting][0]


def _examples(builder: Any, split: str, image_key: str) -> Any:
    """Returns the examples of a split in an order that is always the same."""
    import tensorflow_datasets as tfds

    dataset = builder.as_dataset(
        split=split,
        shuffle_files=False,
        decoders={image_key: tfds.decode.SkipDecoding()},
        read_config=tfds.ReadConfig(interleave_cycle_length=1),
    )
    return tfds.as_numpy(dataset)


def _write(folder: pathlib.Path, name: str, content: bytes) -> None:
    """Writes an image; its time is always the same, so that a killed import resumes."""
    path = folder / f"{name}.jpg"  # whatever it is: images are told by their content
    path.write_bytes(content)
    os.utime(path, (0, 0))


def _file_name(label: str) -> str:
    """Returns a class as the name of a folder."""
    name = "".join("_" if letter in "/\\\0" else letter for letter in label)
    return name.lstrip(".")[:LONGEST_NAME] or "_"
