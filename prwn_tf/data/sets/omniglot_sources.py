"""Where Omniglot comes from: what the user has on disk, or tensorflow_datasets."""

import contextlib
import os
import pathlib
import re
import textwrap
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from prwn_tf import files
from prwn_tf.data import tree
from prwn_tf.data.formats import archives, pickles
from prwn_tf.errors import UserError

DRAWERS = 20
HOMEPAGE = "https://github.com/brendenlake/omniglot"
OFFICIAL_ZIPS = ("images_background.zip", "images_evaluation.zip")
ACCEPTED = (
    "give --source the folder with images_background and images_evaluation, the folder "
    "of their two zips, or one archive of both"
)

_DRAWING = re.compile(
    r"(?:.*/)?(?P<character>[^/]+/character\d+)/\d+_(?P<drawer>\d+)\.png", re.IGNORECASE
)


class Drawing(NamedTuple):
    """One drawing as it was found."""

    character: str  # Alphabet/characterNN
    drawer: int
    place: str  # for messages
    content: bytes  # a PNG file


class Source(NamedTuple):
    """Drawings, not yet decoded, and what is to be said of them."""

    origin: str  # for messages
    found: list[dict[str, str]]  # for the manifest
    drawings: Iterator[Drawing]


def some(names: Sequence[str]) -> str:
    shown = ", ".join(names[:5])
    return shown if len(names) <= 5 else f"{shown} and {len(names) - 5:,} more"


# --- From the user's disk


def from_disk(source: pathlib.Path) -> Source:
    """Finds Omniglot in a folder or an archive."""
    if not source.exists():
        raise UserError(f"{source} does not exist; {ACCEPTED}")
    try:
        parts = _parts(source)
        found = [_describe(part) for part in parts]
    except OSError as error:
        raise UserError(f"cannot read {source}: {error.strerror}") from error
    origin = " and ".join(str(part) for part in parts)
    drawings = (drawing for part in parts for drawing in _drawings(part))
    return Source(origin, found, drawings)


def _parts(source: pathlib.Path) -> list[pathlib.Path]:
    """The folders or archives that make up the source."""
    if source.is_dir() and not any(_paths(source)):
        if found := _archives_in(source):
            return found
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
    official = [folder / name for name in OFFICIAL_ZIPS if (folder / name).exists()]
    if official:
        return official
    found = [
        path
        for path in sorted(folder.iterdir())
        if path.is_file() and archives.is_archive(path)
    ]
    if len(found) > 1:
        raise UserError(
            f"{folder} holds {len(found)} archives: "
            f"{some([path.name for path in found])}; give --source the one of Omniglot"
        )
    return found


def _check_pickles(paths: Sequence[pathlib.Path]) -> None:
    for path in paths:
        if path.is_file() and pickles.looks_like_one(tree.beginning(path)):
            raise UserError(
                f"{path} is a pickle; that of Ren et al., train_vinyals_aug90.pkl, has "
                "drawings that are shrunk and turned already, and not who drew them: "
                f"{ACCEPTED}"
            )


def _describe(part: pathlib.Path) -> dict[str, str]:
    if part.is_dir():
        return {"folder": part.name}
    return {"file": part.name, "sha256": files.sha256(part)}


def _drawings(part: pathlib.Path) -> Iterator[Drawing]:
    contents = _folder_members(part) if part.is_dir() else archives.members(part)
    for name, content in contents:
        if match := _DRAWING.fullmatch(name):
            yield Drawing(match["character"], int(match["drawer"]), name, content)


def _folder_members(folder: pathlib.Path) -> Iterator[tuple[str, bytes]]:
    for path in _paths(folder):
        try:
            yield path.relative_to(folder).as_posix(), path.read_bytes()
        except OSError as error:
            raise UserError(f"cannot read {path}: {error.strerror}") from error


def _paths(folder: pathlib.Path) -> Iterator[pathlib.Path]:
    # Fixed depths follow the links of a merged images_all, and cannot go in circles.
    for alphabets in ("*", "*/*", "*/*/*"):
        for path in folder.glob(f"{alphabets}/character*/[!.]*"):
            if _DRAWING.fullmatch(path.as_posix()):
                yield path


# --- Through tensorflow_datasets


def through_tfds() -> Source:
    """Downloads Omniglot, or takes it from where tensorflow_datasets keeps it."""
    with _tfds_errors():
        import tensorflow_datasets as tfds

        builder = tfds.builder("omniglot")
        if not builder.data_path.exists():
            _check_connection()
            builder.download_and_prepare()
        origin = f"tensorflow_datasets in {builder.data_dir}"
        found = [{"tensorflow_datasets": builder.info.full_name}]
    return Source(origin, found, tfds_drawings(builder))


def _check_connection() -> None:
    # Without a network, tensorflow_datasets tries for over three minutes and prints
    # forty warnings. It downloads by requests, so what this meets is what it would.
    import requests

    requests.head(HOMEPAGE, timeout=20).raise_for_status()


def tfds_drawings(builder: Any) -> Iterator[Drawing]:
    """The drawings of a prepared `tfds.builder("omniglot")`."""
    with _tfds_errors():
        import tensorflow_datasets as tfds

        alphabets = builder.info.features["alphabet"].names
        keys = ("alphabet", "alphabet_char_id", "label", "image")
        for split in ("train", "test"):
            batches = builder.as_dataset(
                split=split,
                batch_size=1000,
                decoders={"image": tfds.decode.SkipDecoding()},
                read_config=tfds.ReadConfig(interleave_cycle_length=1),
            )
            drawers = _DrawersInOrder(split)
            for batch in batches.as_numpy_iterator():
                columns = (batch[key].tolist() for key in keys)
                for alphabet, character, label, content in zip(*columns, strict=True):
                    drawer = drawers.next(alphabets[alphabet], character, label)
                    name = f"{alphabets[alphabet]}/character{character + 1:02d}"
                    yield Drawing(name, drawer, f"{name}, drawing {drawer}", content)


class _DrawersInOrder:
    """Who made each drawing, which tensorflow_datasets does not store.

    It stores the drawings in the order of a hash of their names instead, so that
    the drawers of a character can be told from the order of its drawings. Without
    them, the same seed would label other images than it does for data from disk.
    """

    def __init__(self, split: str):
        from tensorflow_datasets.core import hashing

        self._hash = hashing.Hasher(split).hash_key
        self._waiting: dict[int, Iterator[int]] = {}

    def next(self, alphabet: str, character: int, label: int) -> int:
        """The drawer of the next drawing of a character; both numbers begin at 0."""
        if label not in self._waiting:
            stem = f"{alphabet}_{character}_{label + 1:04d}"
            self._waiting[label] = iter(
                sorted(
                    range(1, DRAWERS + 1),
                    key=lambda drawer: self._hash(f"{stem}_{drawer:02d}.png"),
                )
            )
        # One drawing too many is counted with the others of its character.
        return next(self._waiting[label], DRAWERS + 1)


@contextlib.contextmanager
def _tfds_errors() -> Iterator[None]:
    # Everything, because a failed download shows as errors of several libraries.
    try:
        yield
    except Exception as error:
        reason = textwrap.shorten(f"{type(error).__name__}: {error}", 240)
        raise UserError(
            f"cannot get Omniglot through tensorflow_datasets ({reason}); download "
            f"{' and '.join(OFFICIAL_ZIPS)} from {HOMEPAGE}/tree/master/python and "
            "give their folder as --source"
        ) from error
