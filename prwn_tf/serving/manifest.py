"""What an exported model says of itself, and whether it is still what was exported.

A SavedModel is a program, so it is run only if every file of it has its hash.
"""

import dataclasses
import hashlib
import json
import pathlib
from collections.abc import Iterable
from typing import Any

import numpy as np

from prwn_tf import config_json, files
from prwn_tf.errors import UserError

NAME = "manifest.json"
FORMAT = "prwn_tf export"
VERSION = 2


def write(folder: pathlib.Path, about: dict[str, Any]) -> None:
    """Describes a folder in which every file is in place."""
    hashes = {name: files.sha256(folder / name) for name in _files(folder)}
    content = {"format": FORMAT, "version": VERSION, **about, "files": hashes}
    files.write_json(folder / NAME, content)


def fingerprint(preprocess: Any, weights: Iterable[np.ndarray]) -> str:
    """Returns the SHA-256 that tells models apart: of all weights, and of settings.

    Settings with a default came later. Where they have it, models are what they were.
    """
    digest = hashlib.sha256()
    defaults = {each.name: each.default for each in dataclasses.fields(preprocess)}
    settings = {
        name: value
        for name, value in config_json.to_dict(preprocess).items()
        if value != defaults[name]
    }
    digest.update(json.dumps(settings, sort_keys=True).encode())
    for values in weights:
        digest.update(str(values.shape).encode())
        digest.update(values.tobytes())
    return digest.hexdigest()


def is_export(folder: pathlib.Path) -> bool:
    """Returns whether a folder looks like a SavedModel that `export` wrote."""
    return (folder / NAME).is_file() and (folder / "saved_model.pb").is_file()


def identity(folder: pathlib.Path) -> tuple[int, ...]:
    """Returns what changes when a folder is replaced by another export."""
    try:
        status = (folder / NAME).stat()
    except OSError:
        return ()
    return status.st_dev, status.st_ino, status.st_mtime_ns


def check_output(output: pathlib.Path) -> None:
    """Raises unless a folder can be made, or is an export to be replaced."""
    files.check_name(output)
    empty = not output.exists() or (output.is_dir() and not any(output.iterdir()))
    if not empty and not _is_export_alone(output):
        raise UserError(
            f"--output={output} holds something else than an exported model; give an "
            "empty or a new folder"
        )
    files.check_writable(output.absolute().parent)


def _is_export_alone(folder: pathlib.Path) -> bool:
    """Returns whether everything in a folder was written by `export`."""
    try:
        expected = _content(folder)["files"]
    except UserError:
        return False
    return set(_files(folder)) <= expected.keys()


def read(folder: pathlib.Path) -> dict[str, Any]:
    """Returns the description of an exported model, after verifying its files."""
    content = _content(folder)
    if content.get("version") != VERSION:
        raise UserError(
            f"{folder} was exported in version {content.get('version')!r}, this is "
            f"version {VERSION}; export the run again"
        )
    _verify(folder, content["files"])
    return content


def _content(folder: pathlib.Path) -> dict[str, Any]:
    """Returns the manifest of an export, of whatever version."""
    content = files.read_json(folder / NAME)
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise UserError(
            f"{folder / NAME} does not describe an exported model; export one with "
            "python -m prwn_tf.export"
        )
    if not isinstance(content.get("files"), dict):
        raise UserError(f"{folder / NAME} lists no files; export the run again")
    return content


def _verify(folder: pathlib.Path, expected: dict[str, str]) -> None:
    """Raises unless a folder holds the expected files with the expected hashes."""
    present = set(_files(folder))
    for name in sorted(present ^ set(expected)):
        if name in present:
            raise UserError(
                f"{folder} has a file that was not exported: {name}; remove it"
            )
        raise UserError(f"{folder} lacks a file: {name}; export the run again")
    for name, digest in expected.items():
        actual = files.sha256(folder / name)
        if actual != digest:
            raise UserError(
                f"{folder / name} was altered after the export: sha256 is {actual}, "
                f"expected {digest}; export the run again"
            )


def _files(folder: pathlib.Path) -> list[str]:
    """Returns the names of all files of a folder but the manifest."""
    names = (path.relative_to(folder) for path in folder.rglob("*") if path.is_file())
    return sorted(name.as_posix() for name in names if name.as_posix() != NAME)
