"""What users give as --source: a folder, or an archive that is unpacked for a while."""

import contextlib
import os
import pathlib
from collections.abc import Iterator, Sequence

from prwn_tf.data import tree
from prwn_tf.data.formats import archives, pickles, streams
from prwn_tf.data.tree import Tree
from prwn_tf.errors import StorageError, UserError

# Beside files that are called so, archives are left alone: they are what was in them.
PACKED_SUFFIXES = (".pkl", ".pickle", ".npz")


def check(source: pathlib.Path, flag: str) -> None:
    """Raises unless the value of a flag is a file or a folder."""
    if not source.exists():
        raise UserError(f"{source} does not exist; give what you have as --{flag}")
    if not source.is_dir() and not source.is_file():
        raise UserError(f"{source} is neither a file nor a folder; save it to a file")


@contextlib.contextmanager
def opened(
    source: pathlib.Path,
    scratch: pathlib.Path,
    exclude: Sequence[pathlib.Path] = (),
) -> Iterator[Tree]:
    """Yields the raw files of a source, which is scanned once.

    Args:
        source: a folder, an archive, or a single pickle.
        scratch: a folder for what is unpacked, which the caller removes.
        exclude: folders and files inside that belong to something else.
    """
    raw = tree.scan(source, exclude)
    archive_names = _archives_of(source, raw, exclude)
    try:
        if archive_names:
            for path, name in archive_names.items():
                print(f"unpacking {tree.shown(path)}", flush=True)
                archives.unpack(path, scratch, name)
            _copy_lists(source, raw, scratch)
            raw = tree.scan(scratch)
        yield raw.without(exclude)
    except StorageError:
        raise  # it is about the disk that is written to
    except UserError as error:
        # The user knows the archive, and not where it was unpacked.
        message = error.with_flags.replace(str(scratch), str(source))
        raise type(error)(message) from error


def _archives_of(
    source: pathlib.Path, raw: Tree, exclude: Sequence[pathlib.Path]
) -> dict[pathlib.Path, str]:
    """Returns the archives that are to be unpacked, with their names in the source.

    Those that lie beside what was in them stay packed, whoever that belongs to.
    """
    if not source.is_dir():
        is_pickle = pickles.looks_like_one(tree.beginning(source))
        return {} if is_pickle else {source: ""}
    others = [path for folder in raw.folders for path in folder.other_paths()]
    if raw.image_count or any(_ends_with(path, PACKED_SUFFIXES) for path in others):
        return {}
    return {
        path: _name_in(source, path)
        for folder in raw.without(exclude).folders
        for path in folder.other_paths()
        if _ends_with(path, archives.SUFFIXES)
    }


def _copy_lists(source: pathlib.Path, raw: Tree, scratch: pathlib.Path) -> None:
    """Copies the csv files that lie beside archives to where these are unpacked."""
    if not source.is_dir():
        return
    for folder in raw.folders:
        for path in folder.other_paths():
            if _ends_with(path, (".csv",)):
                with path.open("rb") as stream:
                    streams.save(stream, scratch / _name_in(source, path), path)


def _ends_with(path: pathlib.Path, suffixes: tuple[str, ...]) -> bool:
    """Returns whether a file is called so, in letters of any case."""
    return path.name.lower().endswith(suffixes)


def _name_in(source: pathlib.Path, path: pathlib.Path) -> str:
    """Returns the way from the source to a file in it."""
    return os.path.relpath(path, os.path.abspath(source))
