"""What a user gives as --source: a folder, or an archive, unpacked for a while."""

import contextlib
import pathlib
from collections.abc import Iterator

from prwn_tf.data import archives, legacy_pickle, tree
from prwn_tf.errors import StorageError, UserError


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
        scratch: folder to unpack an archive in.
    """
    try:
        if source.is_dir() or legacy_pickle.looks_like_one(tree.beginning(source)):
            yield source
        else:
            print(f"unpacking {source}", flush=True)
            archives.unpack(source, scratch)
            yield scratch
    except StorageError:
        raise  # it is about the disk that is written to
    except UserError as error:
        # The user knows the archive, and not where it was unpacked.
        raise type(error)(str(error).replace(str(scratch), str(source))) from error
