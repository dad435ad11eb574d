"""Omniglot (Lake et al., 2015): 1,623 handwritten characters, 20 drawings of each.

Every character becomes four classes, one for each quarter turn, and the splits are
those of Vinyals et al. (2016), as used by Ren et al. (2018) and by the paper.
"""

import contextlib
import os
import pathlib
import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import tqdm

from prwn_tf import files
from prwn_tf.data import archives, splits
from prwn_tf.data.store import StoreWriter
from prwn_tf.errors import UserError

DRAWERS = 20
DRAWN_SIZE = 105
SIZE = 28
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


def build(
    directory: pathlib.Path,
    *,
    source: pathlib.Path | None,
    characters: Mapping[str, Sequence[str]] | None = None,
) -> None:
    """Writes Omniglot as a prepared data set of 28x28 images, ink 255 on 0.

    Args:
        directory: where the data set is to appear.
        source: what the user has of Omniglot on disk (see `ACCEPTED`), or None to get
            it through tensorflow_datasets.
        characters: the `Alphabet/characterNN` of each split; all of them by default.
    """
    characters = characters or splits.omniglot_characters()
    if source is None:
        origin, found, drawings = _through_tfds()
    else:
        origin, found, drawings = _from_disk(source)
    images = _read(drawings, {name for names in characters.values() for name in names})
    _check_complete(origin, images)
    about = {"dataset": "omniglot", "version": 1, "source": found}
    with StoreWriter(directory, image_shape=(SIZE, SIZE, 1), about=about) as writer:
        for split, names in characters.items():
            for name in names:
                by_drawer = [image for _, image in sorted(images[name].items())]
                _add_rotations(writer, split, name, np.stack(by_drawer)[..., None])


def _add_rotations(
    writer: StoreWriter, split: str, name: str, images: np.ndarray
) -> None:
    for turns in range(4):
        turned = np.rot90(images, turns, axes=(1, 2))
        writer.add(split, f"{name}/rot{90 * turns:03d}", turned)


# --- Pixels


def shrink(image: np.ndarray) -> np.ndarray:
    """A drawing [105, 105], ink 0 on 255, as [28, 28], ink 255 on 0.

    Equals `255 - cv2.resize(image, (28, 28), interpolation=cv2.INTER_CUBIC)`, which
    is what the data of Ren et al. was made with, on every drawing of Omniglot.
    """
    resized = _SHRINK @ image.astype(np.float64) @ _SHRINK.T  # [28, 28]
    return 255 - np.clip(np.rint(resized), 0, 255).astype(np.uint8)


def cubic_weights(size: int, new_size: int) -> np.ndarray:
    """OpenCV's bicubic resizing of one axis as a matrix: [new_size, size].

    Pixels are squares around half-integer centres, the border is repeated, and there
    is no smoothing before the image is sampled.
    """
    centers = (np.arange(new_size) + 0.5) * size / new_size - 0.5
    first = np.floor(centers).astype(int) - 1
    weights = np.zeros((new_size, size))
    for position in (first, first + 1, first + 2, first + 3):
        inside = np.clip(position, 0, size - 1)
        np.add.at(
            weights, (np.arange(new_size), inside), _cubic(np.abs(centers - position))
        )
    return weights


def _cubic(distance: np.ndarray) -> np.ndarray:
    a = -0.75
    near = ((a + 2) * distance - (a + 3)) * distance**2 + 1
    far = a * (((distance - 5) * distance + 8) * distance - 4)
    return np.where(distance <= 1, near, far)


_SHRINK = cubic_weights(DRAWN_SIZE, SIZE)  # [28, 105]


# --- Drawings to images


class _UnusableError(Exception):
    """A drawing that is not what Omniglot has."""


def _read(
    drawings: Iterable[Drawing], wanted: set[str]
) -> dict[str, dict[int, np.ndarray]]:
    """The image of each drawer for each wanted character."""
    images: dict[str, dict[int, np.ndarray]] = {name: {} for name in wanted}
    unusable = []
    total = DRAWERS * len(wanted)
    with tqdm.tqdm(desc="omniglot", total=total, unit=" drawings", disable=None) as bar:
        for drawing in drawings:
            if drawing.character not in wanted:
                continue
            try:
                image = shrink(_decode(drawing))
                _keep(images[drawing.character], drawing, image)
            except _UnusableError as error:
                unusable.append(str(error))
            bar.update()
    if unusable:
        raise UserError(
            f"{_count(unusable, 'drawing')} cannot be used: {_some(sorted(unusable))}; "
            f"Omniglot has PNG images of {DRAWN_SIZE}x{DRAWN_SIZE} pixels, download it "
            "again"
        )
    return images


def _decode(drawing: Drawing) -> np.ndarray:
    """The pixels of a drawing: [105, 105]."""
    # Here and not above, so that importing the module does not load TensorFlow.
    import tensorflow as tf

    # All drawings take 4 s one by one. Two threads are slower: they wait for the
    # interpreter's lock.
    try:
        content = tf.constant(drawing.content)
        image = tf.io.decode_png(content, channels=1).numpy()
    except tf.errors.InvalidArgumentError as error:
        raise _UnusableError(f"{drawing.place} is not a PNG image") from error
    if image.shape != (DRAWN_SIZE, DRAWN_SIZE, 1):
        height, width, _ = image.shape
        raise _UnusableError(f"{drawing.place} has {height}x{width} pixels")
    return image[..., 0]


def _keep(images: dict[int, np.ndarray], drawing: Drawing, image: np.ndarray) -> None:
    # A merged folder may lie beside the two it was made from: copies are no fault.
    known = images.setdefault(drawing.drawer, image)
    if not np.array_equal(known, image):
        raise UserError(
            f"{drawing.place} differs from another drawing {drawing.drawer} of "
            f"{drawing.character} in the same source; remove one of the two"
        )


def _check_complete(origin: str, images: Mapping[str, Mapping[int, Any]]) -> None:
    missing = sorted(name for name, found in images.items() if not found)
    if len(missing) == len(images):
        raise UserError(
            f"{origin} holds no Omniglot drawing (Alphabet/characterNN/NNNN_NN.png); "
            f"{ACCEPTED}"
        )
    if missing:
        raise UserError(
            f"{origin} lacks {len(missing):,} of {_count(images, 'character')}: "
            f"{_some(missing)}; {ACCEPTED}"
        )
    uneven = [
        f"{name} has {len(found)}"
        for name, found in sorted(images.items())
        if len(found) != DRAWERS
    ]
    if uneven:
        raise UserError(
            f"{_count(uneven, 'character')} of {origin} should have {DRAWERS} drawings "
            f"each: {_some(uneven)}; download Omniglot again"
        )


def _some(names: Sequence[str]) -> str:
    shown = ", ".join(names[:5])
    return shown if len(names) <= 5 else f"{shown} and {len(names) - 5:,} more"


def _count(things: Sequence[Any] | Mapping[str, Any], what: str) -> str:
    return f"{len(things):,} {what}" + "s" * (len(things) != 1)


# --- From the user's disk


def _from_disk(
    source: pathlib.Path,
) -> tuple[str, list[dict[str, str]], Iterator[Drawing]]:
    if not source.exists():
        raise UserError(f"{source} does not exist; {ACCEPTED}")
    try:
        parts = _parts(source)
        found = [_describe(part) for part in parts]
    except OSError as error:
        raise UserError(f"cannot read {source}: {error.strerror}") from error
    origin = " and ".join(str(part) for part in parts)
    return origin, found, (drawing for part in parts for drawing in _drawings(part))


def _parts(source: pathlib.Path) -> list[pathlib.Path]:
    """The folders or archives that make up the source."""
    if source.is_dir() and not any(_paths(source)):
        return _archives_in(source) or [source]
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
            f"{_some([path.name for path in found])}; give --source the one of Omniglot"
        )
    return found


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


def _through_tfds() -> tuple[str, list[dict[str, str]], Iterator[Drawing]]:
    with _tfds_errors():
        import tensorflow_datasets as tfds

        builder = tfds.builder("omniglot")
        if not builder.data_path.exists():
            _check_connection()
            builder.download_and_prepare()
        origin = f"tensorflow_datasets in {builder.data_dir}"
        found = [{"tensorflow_datasets": builder.info.full_name}]
    return origin, found, tfds_drawings(builder)


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
