"""Files and folders that one program at a time works on.

A lock is freed by the system with the process, so it is never stale. What is locked is
a file and not its folder: disks over a network refuse the latter.
"""

import contextlib
import fcntl
import os
import pathlib
import shutil
from collections.abc import Iterator
from typing import TextIO

from prwn_tf import files
from prwn_tf.errors import UserError

LOCK = "lock"


def hold(path: pathlib.Path, *, wait: bool = False) -> TextIO:
    """Opens a file to read and append that no other program holds, until it is closed.

    Args:
        wait: whether to wait for another program; else it is an error.
    """
    while True:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            file = path.open("a+", encoding="utf-8")
        except FileNotFoundError:
            continue  # its folder was removed in between
        try:
            fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError as error:
            file.close()
            raise UserError(
                f"another process is writing {path.parent}; wait for it, or choose "
                "another folder"
            ) from error
        if _is_at(file, path):
            return file
        file.close()  # its owner moved or removed it before the lock was ours


@contextlib.contextmanager
def scratch(folder: pathlib.Path, *, wait: bool = False) -> Iterator[pathlib.Path]:
    """A folder of one's own: empty at first, whoever was killed in it, gone at last."""
    with files.storage_errors(folder):
        lock = hold(folder / LOCK, wait=wait)
    with lock:
        try:
            _clear(folder / LOCK)
            yield folder
        finally:
            remove(folder / LOCK)


def remove(lock: pathlib.Path) -> None:
    """Deletes a file that is held and everything beside it, as far as possible."""
    _clear(lock)
    # Last, so that nobody else can be in the folder while it is cleared.
    with contextlib.suppress(OSError):
        lock.unlink()
        lock.parent.rmdir()


def _is_at(file: TextIO, path: pathlib.Path) -> bool:
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except FileNotFoundError:
        return False


def _clear(lock: pathlib.Path) -> None:
    with contextlib.suppress(OSError):
        for path in lock.parent.iterdir():
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path, ignore_errors=True)
            elif path != lock:
                path.unlink()
