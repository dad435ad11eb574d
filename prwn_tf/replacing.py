"""Folders that take the place of others: at every moment a whole one is there."""

import contextlib
import ctypes
import os
import pathlib
import shutil

HERE, EXCHANGE = -100, 2  # AT_FDCWD and RENAME_EXCHANGE of Linux


def replace(new: pathlib.Path, target: pathlib.Path) -> None:
    """Moves the folder `new` to `target`, and deletes what was there.

    Where the disk can, the two change places in one step. Elsewhere the old one steps
    aside first; of a program that is killed right then, `recover` puts it back.
    """
    recover(target)
    if not target.exists():
        new.rename(target)
        return
    aside = _aside(target)
    try:
        _exchange(new, target)
    except OSError:  # a disk that cannot
        target.rename(aside)
        try:
            new.rename(target)
        except OSError:
            aside.rename(target)
            raise
    else:
        new.rename(aside)
    shutil.rmtree(aside, ignore_errors=True)


def recover(target: pathlib.Path) -> None:
    """Puts back what a killed `replace` had moved aside, or deletes it if replaced.

    For a program that nobody else replaces `target` beside.
    """
    aside = _aside(target)
    if not aside.exists():
        return
    if target.exists():
        shutil.rmtree(aside, ignore_errors=True)
    else:
        aside.rename(target)


def _aside(target: pathlib.Path) -> pathlib.Path:
    """Returns where the old folder waits to be deleted."""
    return target.with_name(f".{target.name}.old")


def _exchange(first: pathlib.Path, second: pathlib.Path) -> None:
    """Lets two paths change places in one step, or raises OSError."""
    system = ctypes.CDLL(None, use_errno=True)
    with contextlib.suppress(AttributeError):  # not Linux, or an old one
        paths = (HERE, os.fsencode(first), HERE, os.fsencode(second))
        if system.renameat2(*paths, EXCHANGE) == 0:
            return
    raise OSError(ctypes.get_errno(), "the two cannot change places")
