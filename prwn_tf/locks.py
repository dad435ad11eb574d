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
MAX_ATTEMPTS = 1000  # to open a file before its folder is removed


class HeldError(UserError):
    """Another program holds the lock."""


class LockingError(OSError):
    """The disk has no locks."""


def hold(path: pathlib.Path, *, wait: bool = False) -> TextIO:
    """Opens a file that no other program holds until it is closed.

    The file and its folder are made if need be. It can be read and appended to.

    Args:
        wait: whether to wait for another program that holds it.

    Raises:
        HeldError: another program holds it, and it is not waited for.
        LockingError: it cannot be locked.
        OSError: it cannot be written.
    """
    while True:
        file = _open(path)
        try:
            _lock(file, path, wait=wait)
        except BaseException:
            file.close()
            raise
        if _is_at(file, path):
            return file
        file.close()  # its owner moved or removed it before the lock was ours


@contextlib.contextmanager
def scratch(folder: pathlib.Path, *, wait: bool = False) -> Iterator[pathlib.Path]:
    """Makes an empty folder that no other program uses, and removes it at the end.

    Whatever a killed program left in it is removed at the beginning.

    Args:
        wait: whether to wait for another program that uses it.
    """
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


def _open(path: pathlib.Path) -> TextIO:
    """Opens a file in a folder that other programs may be removing."""
    attempts = 0
    while True:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            return path.open("a+", encoding="utf-8")
        except FileNotFoundError:
            attempts += 1
            if attempts == MAX_ATTEMPTS:
                raise


def _lock(file: TextIO, path: pathlib.Path, *, wait: bool) -> None:
    """Locks an open file, or raises as `hold` does."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except BlockingIOError as error:
        raise HeldError(
            f"another process is writing {path.parent}; wait for it, or choose another "
            "folder"
        ) from error
    except OSError as error:
        raise LockingError(error.errno, error.strerror, str(path)) from error


def _is_at(file: TextIO, path: pathlib.Path) -> bool:
    """Returns whether an open file is still the one at a path."""
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except FileNotFoundError:
        return False


def _clear(lock: pathlib.Path) -> None:
    """Deletes everything beside a file, as far as possible."""
    with contextlib.suppress(OSError):
        for path in lock.parent.iterdir():
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path, ignore_errors=True)
            elif path != lock:
                path.unlink()
