"""The prepared data sets by name: where each lies, and how it is opened."""

import contextlib
import functools
import pathlib
from collections.abc import Callable, Iterator

from prwn_tf import dataset_names, files, locks, replacing
from prwn_tf.data.sets import glyphs, toy
from prwn_tf.data.store import journal, reader, writer
from prwn_tf.errors import UserError

# Data sets made by code -> version and what draws them into a folder.
DRAWN_DATASETS: dict[str, tuple[int, Callable[[pathlib.Path], None]]] = {
    "glyphs": (glyphs.VERSION, glyphs.build),
    **{name: (toy.VERSION, functools.partial(toy.build, name)) for name in toy.NAMES},
}


def location(name: str, data_dir: pathlib.Path) -> pathlib.Path:
    """Returns the folder of a prepared data set; of a link to one, its end."""
    directory = data_dir / dataset_names.in_folder(name)
    return directory.resolve() if directory.is_symlink() else directory


def is_prepared(directory: pathlib.Path) -> bool:
    """Returns whether a folder is a complete data set."""
    return (directory / reader.MANIFEST).exists()


def open_prepared(name: str, data_dir: pathlib.Path) -> dict[str, reader.ClassStore]:
    """Returns the splits of a data set; those made by code are drawn on first use."""
    directory = location(name, data_dir)
    if name in DRAWN_DATASETS:
        _draw_once(name, directory)
    if not is_prepared(directory):
        raise UserError(
            f"data set {name} is not prepared in {data_dir}; {how_to_prepare(name)} "
            f"--data_dir={data_dir}"
        )
    return reader.open_dataset(directory)


def how_to_prepare(name: str) -> str:
    """Returns the command that makes a data set, in words."""
    command = f"python -m prwn_tf.prepare --dataset={name}"
    if name == "omniglot":
        return f"this downloads it, unless you give --source=PATH: {command}"
    return f"run: {command} --source=PATH"


def _draw_once(name: str, directory: pathlib.Path) -> None:
    """Draws a data set unless it is there, in its present version."""
    version, draw = DRAWN_DATASETS[name]
    if _is_drawn(directory, version):
        return
    # Of several programs that begin together, one draws and the others wait for it.
    with reserved(directory, wait=True):
        if not _is_drawn(directory, version):
            print(f"drawing the {name} data set into {directory} (once)")
            draw(directory)


def _is_drawn(directory: pathlib.Path, version: int) -> bool:
    """Returns whether a drawn data set of a version is there."""
    if not is_prepared(directory) or (directory / journal.JOURNAL).exists():
        return False
    return reader.read_manifest(directory).get("version") == version


@contextlib.contextmanager
def reserved(directory: pathlib.Path, *, wait: bool = False) -> Iterator[pathlib.Path]:
    """Keeps others from preparing the same, and yields a folder for what is unpacked.

    Raises:
        UserError: something else lies there, or another program prepares it; with
            `wait`, that one is waited for.
    """
    writer.check_replaceable(directory)
    scratch = directory.with_name(f".{directory.name}.scratch")
    with locks.scratch(scratch, wait=wait):
        with files.storage_errors(directory):
            replacing.recover(directory)
            journal.remove_journal(directory)
        yield scratch
