"""Files that are whole or absent: written beside themselves, then renamed."""

import contextlib
import csv
import hashlib
import io
import json
import os
import pathlib
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from prwn_tf.errors import StorageError, UserError


@contextlib.contextmanager
def storage_errors(path: pathlib.Path) -> Iterator[None]:
    """Turns the system's refusal to write into one line with the free space."""
    try:
        yield
    except OSError as error:
        raise StorageError(
            f"cannot write {path}: {error.strerror or error} "
            f"({free_space(path):,} bytes free there); free some space or choose "
            "another folder"
        ) from error


def free_space(path: pathlib.Path) -> int:
    """Returns the bytes free on the disk of `path`, which need not exist yet."""
    path = path.absolute()
    while not path.exists():
        path = path.parent
    return shutil.disk_usage(path).free


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
        beside = path.with_name(f".{path.name}.{os.getpid()}.tmp")
        try:
            with beside.open("wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            os.replace(beside, path)
        finally:
            beside.unlink(missing_ok=True)


def write_text(path: pathlib.Path, text: str) -> None:
    """Writes UTF-8 text, as `write_bytes` does."""
    write_bytes(path, text.encode("utf-8"))


def write_json(path: pathlib.Path, content: Any) -> None:
    """Writes readable JSON with a final newline."""
    write_text(path, json.dumps(content, indent=2, ensure_ascii=False) + "\n")


def read_json(path: pathlib.Path) -> Any:
    """Returns the content of a JSON file; of a broken one the user is told."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path} is not valid JSON: {error}") from error


def write_csv(
    path: pathlib.Path, header: Sequence[str], rows: Iterable[Sequence[Any]]
) -> None:
    """Replaces `path` by a table, in UTF-8 whatever the locale."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    write_text(path, text.getvalue())


def sha256(path: pathlib.Path) -> str:
    """Returns the SHA-256 of a file in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
