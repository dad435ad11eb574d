"""What a user gives as --source: a folder, or an archive, unpacked for a while."""

import contextlib
import os
import pathlib
from collections.abc import Iterator

from prwn_tf.data import tree
from prwn_tf.data.formats import archives, pickles, streams
from prwn_tf.data.sets import imagenet
from prwn_tf.errors import StorageError, UserError

Named = dict[pathlib.Path, str]


def check(source: pathlib.Path, flag: str) -> None:
    """Raises unless the value of a flag is a file or a folder."""
    if not source.exists():
        raise UserError(f"{source} does not exist; give what you have as --{flag}")
    if not source.is_dir() and not source.is_file():
        raise UserError(f"{source} is neither a file nor a folder; save it to a file")


@contextlib.contextmanager
def opened(source: pathlib.Path, scratch: pathlib.Path) -> Iterator[pathlib.Path]:
    """The folder of raw files; a single pickle is given as it is.

    Args:
        scratch: folder to unpack archives in.
    """
    packed, lists = _archives(source)
    try:
        for path, called in packed.items():
            print(f"unpacking {tree.shown(path)}", flush=True)
            archives.unpack(path, scratch, called)
        for path, called in lists.items():
            with path.open("rb") as stream:
                streams.save(stream, scratch / called, path)
        yield scratch if packed else source
    except StorageError:
        raise  # it is about the disk that is written to
    except UserError as error:
        # The user knows the archive, and not where it was unpacked.
        raise type(error)(str(error).replace(str(scratch), str(source))) from error


def _archives(source: pathlib.Path) -> tuple[Named, Named]:
    """What is to be unpacked, and the lists of images that lie beside it.

    Each with its name in the source, if that is a folder.
    """
    if not source.is_dir():
        is_pickle = pickles.looks_like_one(tree.beginning(source))
        return ({} if is_pickle else {source: ""}), {}
    packed, lists = {}, {}
    for folder in tree.walk(source):
        # They are what was in the archives, or what is used beside them.
        if folder.images or any(map(_is_packed_data, folder.others)):
            return {}, {}
        for name in folder.others:
            path = pathlib.Path(folder.path, name)
            called = os.path.relpath(path, os.path.abspath(source))
            if name.lower().endswith(archives.SUFFIXES):
                packed[path] = called
            elif name.lower().endswith(".csv"):
                lists[path] = called
    return packed, lists if packed else {}


def _is_packed_data(name: str) -> bool:
    return name.lower().endswith(imagenet.PACKED_SUFFIXES)
