"""Where the checkpoints of a run lie. Nothing here loads TensorFlow."""

import pathlib
import re


def place(directory: pathlib.Path, select: str) -> pathlib.Path:
    """Returns where the "last" or the "best" checkpoint of a run lies."""
    return directory / "best" if select == "best" else directory


def steps(directory: pathlib.Path) -> list[int]:
    """Returns the steps that a folder has checkpoints of."""
    names = (path.name for path in directory.glob("ckpt-*.index"))
    return [
        int(m.group(1)) for n in names if (m := re.fullmatch(r"ckpt-(\d+).index", n))
    ]


def values(checkpoint: pathlib.Path) -> pathlib.Path:
    """Returns the file that holds the numbers of a checkpoint, all in one."""
    return checkpoint.with_name(f"{checkpoint.name}.data-00000-of-00001")


def drop(directory: pathlib.Path, kept: int) -> None:
    """Deletes all checkpoints but the newest, and numbers without their index."""
    whole = sorted(steps(directory))[-kept:]
    for path in directory.glob("ckpt-*.*"):
        step = path.name.removeprefix("ckpt-").partition(".")[0]
        if step.isdecimal() and int(step) not in whole:
            path.unlink()
