"""Files that are whole or absent: written beside themselves, then renamed."""

import contextlib
import csv
import errno
import fcntl
import glob
import hashlib
import io
import json
import math
import os
import pathlib
import re
import shutil
import tempfile
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, BinaryIO

from prwn_tf.errors import StorageError, UserError

FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
FORMULAS = ("=", "+", "-", "@", "\t", "\r", "'")  # how cells begin that may be one


@contextlib.contextmanager
def storage_errors(path: pathlib.Path) -> Iterator[None]:
    """Turns the system's refusal to write into one line with the reason."""
    try:
        yield
    except OSError as error:
        reason, remedy = error.strerror or error, "choose another folder"
        if error.errno in FULL:
            reason = f"{reason} ({room(path)})"
            remedy = f"free some space or {remedy}"
        raise StorageError(f"cannot write {path}: {reason}; {remedy}") from error


def room(path: pathlib.Path) -> str:
    """Returns what is free on the disk of `path`, in words."""
    inodes = os.statvfs(_existing(path))
    none_left = inodes.f_files > 0 and inodes.f_favail == 0
    return f"{free_space(path):,} bytes free there" + (
        ", but no inode for another file" * none_left
    )


def free_space(path: pathlib.Path) -> int:
    """Returns the bytes free on the disk of `path`, which need not exist yet."""
    return shutil.disk_usage(_existing(path)).free


def _existing(path: pathlib.Path) -> pathlib.Path:
    """Returns a path, or the first of the folders around it that is there."""
    path = path.absolute()
    while not path.exists():
        path = path.parent
    return path


def check_name(path: pathlib.Path) -> None:
    """Raises if TensorFlow would take a path for a pattern of many.

    It would not find its own checkpoints there, and delete those of other folders.
    """
    if signs := sorted(set("*?[\\") & set(str(path))):
        raise UserError(
            f"TensorFlow cannot keep a model in {path}, because of {' '.join(signs)} "
            "in its name; choose another name"
        )


def check_writable(folder: pathlib.Path) -> None:
    """Raises unless files can be written to a folder, which is made if need be."""
    with storage_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass


def write_bytes(path: pathlib.Path, content: bytes) -> None:
    """Replaces `path` by `content` in one step, or leaves it as it was."""
    with storage_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        _remove_abandoned(path)
        writer = f"{os.getpid()}-{threading.get_ident()}"
        beside = path.with_name(f".{path.name}.{writer}.tmp")
        try:
            with beside.open("wb") as file:
                _lock(file)
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            os.replace(beside, path)
        finally:
            beside.unlink(missing_ok=True)


def remove(path: pathlib.Path) -> None:
    """Deletes a file, and what programs left that were killed while they wrote it.

    A folder in its place stays: no program wrote it.
    """
    if not path.is_dir():
        path.unlink(missing_ok=True)
    _remove_abandoned(path)


def _remove_abandoned(path: pathlib.Path) -> None:
    """Deletes what killed programs left of `write_bytes`; others may be at it."""
    for beside in path.parent.glob(f".{glob.escape(path.name)}.*.tmp"):
        with contextlib.suppress(OSError), beside.open("rb") as file:
            if not _is_alive(beside.suffixes[-2]) and _lock(file):
                beside.unlink()


def _is_alive(writer: str) -> bool:
    """Returns whether ".123-45" is of a process of this machine, its 123rd."""
    process, _, _ = writer[1:].partition("-")
    try:
        os.kill(int(process), 0)
    except (ProcessLookupError, ValueError, OverflowError):
        return False
    except PermissionError:
        pass  # somebody else's
    return True


def _lock(file: BinaryIO) -> bool:
    """Locks an open file, and returns whether no other machine has; not all can."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        pass  # a disk without locks
    return True


def write_text(path: pathlib.Path, text: str) -> None:
    """Writes UTF-8 text, as `write_bytes` does."""
    write_bytes(path, text.encode("utf-8"))


def write_json(path: pathlib.Path, content: Any) -> None:
    """Writes readable JSON with a final newline; NaN, which it has not, is null."""
    text = json.dumps(_without_nan(content), indent=2, ensure_ascii=False)
    write_text(path, text + "\n")


def _without_nan(content: Any) -> Any:
    """Returns what JSON can hold, with None for NaN."""
    if isinstance(content, Mapping):
        return {key: _without_nan(value) for key, value in content.items()}
    if isinstance(content, list | tuple):
        return [_without_nan(value) for value in content]
    return None if isinstance(content, float) and math.isnan(content) else content


def read_json(path: pathlib.Path) -> Any:
    """Returns the content of a JSON file; of a broken one the user is told."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path} is not valid JSON: {error}") from error


def is_text(value: Any) -> bool:
    """Returns whether a value is text that can be printed.

    JSON and arrays can hold halves of characters.
    """
    return isinstance(value, str) and not any("\ud800" <= c <= "\udfff" for c in value)


def write_csv(
    path: pathlib.Path, header: Sequence[str], rows: Iterable[Sequence[Any]]
) -> None:
    """Replaces `path` by a table, in UTF-8 whatever the locale.

    A spreadsheet takes cells that begin like a formula for one, and names of files are
    anybody's. So these get a `'` before them, which makes them text; `read_csv` takes
    it away.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    for row in (header, *rows):
        writer.writerow(map(_as_text, row))
    write_text(path, text.getvalue())


def read_csv(path: pathlib.Path) -> list[list[str]]:
    """Returns the rows of a table that `write_csv` wrote, its header first."""
    with path.open(encoding="utf-8", newline="") as file:
        return [[cell.removeprefix("'") for cell in row] for row in csv.reader(file)]


def _as_text(cell: Any) -> Any:
    """Returns a cell with a `'` before it, if it would be taken for a formula."""
    risky = isinstance(cell, str) and cell.startswith(FORMULAS) and not _is_number(cell)
    return f"'{cell}" if risky else cell


def _is_number(text: str) -> bool:
    """Returns whether a text is a number to spreadsheets, too."""
    return re.fullmatch(r"[-+]?[\d.]+(e[-+]?\d+)?", text, re.ASCII) is not None


def sha256(path: pathlib.Path) -> str:
    """Returns the SHA-256 of a file in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
