"""What is run and killed: every program, on small data, with all that it needs."""

import pathlib

import numpy as np
from soaking.killing import Killer

from prwn_tf.data.sets import glyphs

# Those whose result is there at every moment once it was there: a later run replaces
# it. The folder that is replaced, in the place of the program.
REPLACED = {"prepare": "data", "export": "exported", "predict": "found"}
TRAINING = {
    "nocompare": None,
    "channels": 4,
    "conv_block": "plain",
    "train_way": 3,
    "train_unlabeled": 2,
    "validation_episodes": 10,
    "eval_episodes": 10,
    "report_every": 1,
}


def commands(
    shared: pathlib.Path, place: pathlib.Path, training: dict[str, object]
) -> dict[str, list[str]]:
    """Returns program -> module and flags.

    Args:
        shared: a folder that `make_shared` filled.
        place: the folder that programs write to.
        training: further flags of the training.
    """
    run = {"workdir": shared / "run", "data_dir": shared / "data"}
    small = {"eval_episodes": 5, "output": place / "analysis"}
    images = shared / "images"
    flags = {
        "train": {
            "dataset": "spiral",
            "workdir": place / "run",
            "data_dir": place / "data",
            **_without_images(TRAINING),
            **training,
        },
        "prepare": {
            "dataset": "folder",
            "source": images,
            "image_size": 16,
            "data_dir": place / "data",
            "replace": None,
        },
        "export": {"workdir": shared / "run", "output": place / "exported"},
        "predict": {
            "model": shared / "exported",
            "support": images,
            "query": images,
            "unlabeled": images,
            "output": place / "found",
        },
        "evaluate": {**run, "eval_episodes": 5, "output": place / "evaluated"},
        "analyze": {**run, **small, "what": "landing,ways", "ways": 5},
        "distractors": {**run, **small},
    }
    return {
        name: [f"prwn_tf.{name}", *_as_flags(values)] for name, values in flags.items()
    }


def make_shared(shared: pathlib.Path, killer: Killer) -> None:
    """Makes what programs read: images by class, a finished run, and its export."""
    import tensorflow as tf

    for label in range(6):
        folder = shared / "images" / f"class {label}"
        folder.mkdir(parents=True)
        for index, drawing in enumerate(glyphs.draw_class(0, "test", label)[:4]):
            image = tf.io.encode_png(np.repeat(drawing, 3, axis=-1))
            (folder / f"{index}.png").write_bytes(image.numpy())
    flags = TRAINING | {"workdir": shared / "run", "data_dir": shared / "data"}
    flags |= {"episodes": 2, "validate_every": 2, "checkpoint_every": 2}
    for command in (
        ["prwn_tf.train", *_as_flags(flags)],
        [
            "prwn_tf.export",
            f"--workdir={shared / 'run'}",
            f"--output={shared}/exported",
        ],
    ):
        if killer.run(command).code != 0:
            raise SystemExit(f"{command[0]} failed: {killer.log()}")


def _without_images(values: dict[str, object]) -> dict[str, object]:
    """Returns flags without those of networks for images."""
    return {k: v for k, v in values.items() if k not in ("channels", "conv_block")}


def _as_flags(values: dict[str, object]) -> list[str]:
    """Returns flags as a command line has them."""
    return [f"--{k}" if v is None else f"--{k}={v}" for k, v in values.items()]
