"""The files of a run among others in its folder, and how they are deleted."""

import logging
import pathlib
import shutil

from prwn_tf import files
from prwn_tf.errors import UserError

LOCK = ".lock"
DELETED = ".deleted"
# What is known of a model at the step that is the last.
MEASURED = (
    "result.json",
    "losses.json",
    "calibration.json",
    "episodes.csv",
    "episodes_summary.json",
    "evaluation.json",
    "evaluation_episodes.csv",
    "evaluation_images.csv",
    "evaluation_strangers.json",
)
ANALYSIS = "analysis"
OWN = {
    LOCK,
    DELETED,
    "config.json",
    "flags.txt",
    "versions.json",
    "label_split.json",
    "data.json",
    "checkpoints",
    "tensorboard",
    "projector",
    "projector_config.pbtxt",
    "nan_report.json",
    "validation.csv",
    ANALYSIS,
    "without_walk",
    *MEASURED,
}
CURVES = "events.out.tfevents."  # how TensorBoard's files begin


def is_own(name: str) -> bool:
    """Returns whether a file or folder of a workdir may be of a run."""
    return name in OWN or name.startswith(CURVES)


def remove_leftovers(folder: pathlib.Path) -> None:
    """Removes files that a killed process was about to rename."""
    leftovers = [each for name in OWN for each in folder.glob(f".{name}.*.tmp")]
    leftovers += (folder / "checkpoints").rglob(".*.tmp")
    leftovers += folder.glob(f".{CURVES}*.tmp")
    leftovers += (folder / "tensorboard").rglob(".*.tmp")  # of earlier versions
    leftovers += (folder / "projector").glob(".*.tmp")
    for path in leftovers:
        logging.warning("removing %s, left by a killed run", path)
        path.unlink()


def remove_measured(folder: pathlib.Path) -> None:
    """Removes all that was measured of another model, or at another step."""
    for name in MEASURED:
        files.remove(folder / name)
    shutil.rmtree(folder / ANALYSIS, ignore_errors=True)


def delete(folder: pathlib.Path) -> None:
    """Deletes the run in a folder, all of it or nothing.

    It is moved together first; where that is begun and not finished, the next start
    ends it.
    """
    kept = (LOCK, DELETED)
    own = [p for p in folder.iterdir() if is_own(p.name) and p.name not in kept]
    if links := [path.name for path in own if path.is_symlink()]:
        raise UserError(
            f"--restart would delete the run in {folder}, but {links[0]} in it is a "
            "link; delete the run yourself, or choose another --workdir"
        )
    together = folder / DELETED
    with files.storage_errors(folder):
        together.mkdir(exist_ok=True)
        try:
            for path in own:
                path.rename(together / path.name)
        except OSError:
            for path in together.iterdir():
                path.rename(folder / path.name)
            together.rmdir()
            raise
        shutil.rmtree(together)
