"""Where Omniglot comes from: from the user's disk, or from its publisher."""

import contextlib
import os
import pathlib
import re
import textwrap
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from prwn_tf import files
from prwn_tf.data import tree
from prwn_tf.data.formats import archives, pickles
from prwn_tf.errors import UserError

DRAWERS = 20
HOMEPAGE = "https://github.com/brendenlake/omniglot"
ZIPS_URL = f"{HOMEPAGE}/raw/master/python"
# Name -> SHA-256.
ZIPS = {
    "images_background.zip": (
        "ad41ab679c8b5d90b271ef46be6987cc81211774a695c29dcc5367b2b26ee640"
    ),
    "images_evaluation.zip": (
        "1f61a8f3366785b057fc117d9228e78a16e3d976c8953b2a10fcc74cf0609cee"
    ),
}
REMEDY = (
    "give --source the folder with images_background and images_evaluation, the folder "
    "of their two zips, or one archive of both"
)

_DRAWING = re.compile(
    r"(?:.*/)?(?P<character>[^/]+/character\d+)/\d+_(?P<drawer>\d+)\.png", re.IGNORECASE
)


class Drawing(NamedTuple):
    """One drawing, not decoded yet."""

    character: str  # Alphabet/characterNN
    drawer: int
    place: str  # for messages
    content: bytes  # a PNG file


class Source(NamedTuple):
    """Drawings, and what is to be said of them."""

    origin: str  # for messages
    files: list[dict[str, str]]  # for the manifest
    drawings: Iterator[Drawing]


# --- From the user's disk


def from_disk(source: pathlib.Path) -> Source:
    """Returns the drawings in a folder or an archive."""
    if not source.exists():
        raise UserError(f"{source} does not exist; {REMEDY}")
    try:
        parts = _parts(source)
        described = [_described(part) for part in parts]
    except OSError as error:
        raise UserError(f"cannot read {source}: {error.strerror}") from error
    origin = " and ".join(str(part) for part in parts)
    return Source(origin, described, _drawings(parts))


def _parts(source: pathlib.Path) -> list[pathlib.Path]:
    """Returns the folders or archives that make up the source."""
    if source.is_dir() and not any(_drawing_paths(source)):
        if paths := _archives_in(source):
            return paths
        _check_pickles(sorted(source.iterdir()))
        return [source]
    _check_pickles([source])
    # `--source=.` has no name to look beside.
    source = pathlib.Path(os.path.abspath(source))
    swap = {"background": "evaluation", "evaluation": "background"}
    other = source.with_name(
        re.sub("background|evaluation", lambda half: swap[half[0]], source.name)
    )
    return sorted({source, other}) if other.exists() else [source]


def _archives_in(folder: pathlib.Path) -> list[pathlib.Path]:
    """Returns the official zips in a folder, or else its only archive."""
    official = [folder / name for name in ZIPS if (folder / name).exists()]
    if official:
        return official
    paths = [
        path
        for path in sorted(folder.iterdir())
        if path.is_file() and archives.is_archive(path)
    ]
    if len(paths) > 1:
        raise UserError(
            f"{folder} holds {len(paths)} archives: "
            f"{tree.listed([path.name for path in paths])}; give --source the one of "
            "Omniglot"
        )
    return paths


def _check_pickles(paths: Sequence[pathlib.Path]) -> None:
    """Raises if one of the files is a pickle, which does not say who drew what."""
    for path in paths:
        if path.is_file() and pickles.looks_like_one(tree.beginning(path)):
            raise UserError(
                f"{path} is a pickle; that of Ren et al., train_vinyals_aug90.pkl, has "
                "drawings that are shrunk and turned already, and not who drew them: "
                f"{REMEDY}"
            )


def _described(part: pathlib.Path) -> dict[str, str]:
    """Returns what the manifest says of a folder or an archive."""
    if part.is_dir():
        return {"folder": part.name}
    return {"file": part.name, "sha256": files.sha256(part)}


def _drawings(parts: Sequence[pathlib.Path]) -> Iterator[Drawing]:
    """Yields the drawings of folders and archives."""
    for part in parts:
        contents = _folder_files(part) if part.is_dir() else archives.members(part)
        for name, content in contents:
            if match := _DRAWING.fullmatch(name):
                yield Drawing(match["character"], int(match["drawer"]), name, content)


def _folder_files(folder: pathlib.Path) -> Iterator[tuple[str, bytes]]:
    """Yields the name and content of every drawing in a folder."""
    for path in _drawing_paths(folder):
        try:
            yield path.relative_to(folder).as_posix(), path.read_bytes()
        except OSError as error:
            raise UserError(f"cannot read {path}: {error.strerror}") from error


def _drawing_paths(folder: pathlib.Path) -> Iterator[pathlib.Path]:
    """Yields the files in a folder that are named like drawings."""
    # Fixed depths follow the links of a merged images_all, and cannot go in circles.
    for alphabets in ("*", "*/*", "*/*/*"):
        for path in folder.glob(f"{alphabets}/character*/[!.]*"):
            if _DRAWING.fullmatch(path.as_posix()):
                yield path


# --- From its publisher


def check_connection() -> None:
    """Raises if the publisher cannot be reached.

    Without a network, tensorflow_datasets tries for over three minutes and prints forty
    warnings. It downloads by requests, so what this meets is what it would.
    """
    import requests

    with _download_errors():
        requests.head(HOMEPAGE, timeout=20).raise_for_status()


def downloaded(folder: pathlib.Path) -> Source:
    """Downloads the two official zips into a folder, and returns their drawings."""
    with _download_errors():
        import tensorflow_datasets as tfds

        manager = tfds.download.DownloadManager(download_dir=str(folder))
        urls = {name: f"{ZIPS_URL}/{name}" for name in ZIPS}
        paths = {
            name: pathlib.Path(path) for name, path in manager.download(urls).items()
        }
    described = [
        {"file": name, "sha256": files.sha256(path)} for name, path in paths.items()
    ]
    for zip_file in described:
        _check_hash(zip_file["file"], zip_file["sha256"])
    return Source(" and ".join(paths), described, _drawings([*paths.values()]))


def _check_hash(name: str, sha256: str) -> None:
    """Raises unless a downloaded zip is the one that was published."""
    if sha256 != ZIPS[name]:
        raise UserError(
            f"{ZIPS_URL}/{name} is not what it was: expected sha256 {ZIPS[name]}, "
            f"found {sha256}; try again, or give a copy of Omniglot as --source"
        )


@contextlib.contextmanager
def _download_errors() -> Iterator[None]:
    """Turns whatever a failed download leads to into a UserError."""
    # Everything, because it shows as errors of several libraries.
    try:
        yield
    except Exception as error:
        reason = textwrap.shorten(f"{type(error).__name__}: {error}", 240)
        raise UserError(
            f"cannot get Omniglot through tensorflow_datasets ({reason}); download "
            f"{' and '.join(ZIPS)} from {HOMEPAGE}/tree/master/python and give their "
            "folder as --source"
        ) from error
