"""Omniglot (Lake et al., 2015): 1,623 handwritten characters, 20 drawings of each.

Every character becomes four classes, one for each quarter turn, and the splits are
those of Vinyals et al. (2016), as used by Ren et al. (2018) and by the paper.
"""

import pathlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import tqdm

from prwn_tf.data import tree
from prwn_tf.data.sets import omniglot_sources as sources
from prwn_tf.data.sets import omniglot_splits
from prwn_tf.data.store.writer import StoreWriter
from prwn_tf.errors import UserError

DRAWN_SIZE = 105
SIZE = 28


def build(
    directory: pathlib.Path,
    *,
    source: pathlib.Path,
    characters: Mapping[str, Sequence[str]] | None = None,
) -> None:
    """Writes Omniglot as a data set at `directory`, from what the user has of it.

    Args:
        source: a folder or an archive, as `omniglot_sources.from_disk` takes it.
        characters: as in `write`.
    """
    write(directory, sources.from_disk(source), characters)


def write(
    directory: pathlib.Path,
    source: sources.Source,
    characters: Mapping[str, Sequence[str]] | None = None,
) -> None:
    """Writes Omniglot as a data set at `directory`: 28x28 images, ink 255 on 0.

    Args:
        source: the drawings.
        characters: the `Alphabet/characterNN` of each split; all of them by default.
    """
    characters = characters or omniglot_splits.omniglot_characters()
    wanted = {name for names in characters.values() for name in names}
    images = _read_images(source.drawings, wanted)
    _check_complete(source.origin, images)
    about = {"dataset": "omniglot", "version": 1, "source": source.files}
    with StoreWriter(directory, image_shape=(SIZE, SIZE, 1), about=about) as writer:
        for split, names in characters.items():
            for name in names:
                by_drawer = [image for _, image in sorted(images[name].items())]
                _add_rotations(writer, split, name, np.stack(by_drawer)[..., None])


def _add_rotations(
    writer: StoreWriter, split: str, name: str, images: np.ndarray
) -> None:
    """Writes a character [20, 28, 28, 1] as four classes, one for each quarter turn."""
    for turns in range(4):
        turned = np.rot90(images, turns, axes=(1, 2))
        writer.add(split, f"{name}/rot{90 * turns:03d}", turned)


# --- Pixels


def shrink(image: np.ndarray) -> np.ndarray:
    """Returns a drawing [105, 105], ink 0 on 255, as [28, 28], ink 255 on 0.

    It equals `255 - cv2.resize(image, (28, 28), interpolation=cv2.INTER_CUBIC)`, which
    is what the data of Ren et al. was made with, on every drawing of Omniglot.
    """
    resized = _SHRINK @ image.astype(np.float64) @ _SHRINK.T  # [28, 28]
    return 255 - np.clip(np.rint(resized), 0, 255).astype(np.uint8)


def cubic_weights(size: int, new_size: int) -> np.ndarray:
    """Returns OpenCV's bicubic resizing of one axis as a matrix: [new_size, size].

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
    """Returns the weight of a pixel by its distance from 0 to 2."""
    a = -0.75
    near = ((a + 2) * distance - (a + 3)) * distance**2 + 1
    far = a * (((distance - 5) * distance + 8) * distance - 4)
    return np.where(distance <= 1, near, far)


_SHRINK = cubic_weights(DRAWN_SIZE, SIZE)  # [28, 105]


# --- Drawings to images


class _UnusableDrawingError(Exception):
    """A drawing that is not what Omniglot has."""


def _read_images(
    drawings: Iterable[sources.Drawing], wanted: set[str]
) -> dict[str, dict[int, np.ndarray]]:
    """Returns images [28, 28] of the wanted characters: character -> drawer -> image.

    Raises:
        UserError: some drawings are no PNG images, or of another size.
    """
    images: dict[str, dict[int, np.ndarray]] = {name: {} for name in wanted}
    problems = []
    total = sources.DRAWERS * len(wanted)
    with tqdm.tqdm(desc="omniglot", total=total, unit=" drawings", disable=None) as bar:
        for drawing in drawings:
            if drawing.character not in wanted:
                continue
            try:
                image = shrink(_decode(drawing))
                _keep(images[drawing.character], drawing, image)
            except _UnusableDrawingError as error:
                problems.append(str(error))
            bar.update()
    if problems:
        raise UserError(
            f"{_count(problems, 'drawing')} cannot be used: "
            f"{tree.listed(sorted(problems))}; Omniglot has PNG images of "
            f"{DRAWN_SIZE}x{DRAWN_SIZE} pixels, download it again"
        )
    return images


def _decode(drawing: sources.Drawing) -> np.ndarray:
    """Returns the pixels of a drawing: [105, 105]."""
    # Here and not above, so that importing the module does not load TensorFlow.
    import tensorflow as tf

    # All drawings take 4 s one by one. Two threads are slower: they wait for the
    # interpreter's lock.
    try:
        content = tf.constant(drawing.content)
        image = tf.io.decode_png(content, channels=1).numpy()
    except tf.errors.InvalidArgumentError as error:
        raise _UnusableDrawingError(f"{drawing.place} is not a PNG image") from error
    if image.shape != (DRAWN_SIZE, DRAWN_SIZE, 1):
        height, width, _ = image.shape
        raise _UnusableDrawingError(f"{drawing.place} has {height}x{width} pixels")
    return image[..., 0]


def _keep(
    images: dict[int, np.ndarray], drawing: sources.Drawing, image: np.ndarray
) -> None:
    """Adds the image of a drawer, or raises if another is there.

    A merged folder may lie beside the two it was made from: copies are no fault.
    """
    known = images.setdefault(drawing.drawer, image)
    if not np.array_equal(known, image):
        raise UserError(
            f"{drawing.place} differs from another drawing {drawing.drawer} of "
            f"{drawing.character} in the same source; remove one of the two"
        )


def _check_complete(origin: str, images: Mapping[str, Mapping[int, Any]]) -> None:
    """Raises unless every character has a drawing of every drawer."""
    missing = sorted(name for name, by_drawer in images.items() if not by_drawer)
    if len(missing) == len(images):
        raise UserError(
            f"{origin} holds no Omniglot drawing (Alphabet/characterNN/NNNN_NN.png); "
            f"{sources.REMEDY}"
        )
    if missing:
        raise UserError(
            f"{origin} lacks {len(missing):,} of {_count(images, 'character')}: "
            f"{tree.listed(missing)}; {sources.REMEDY}"
        )
    uneven = [
        f"{name} has {len(by_drawer)}"
        for name, by_drawer in sorted(images.items())
        if len(by_drawer) != sources.DRAWERS
    ]
    if uneven:
        raise UserError(
            f"{_count(uneven, 'character')} of {origin} should have {sources.DRAWERS} "
            f"drawings each: {tree.listed(uneven)}; download Omniglot again"
        )


def _count(things: Sequence[Any] | Mapping[str, Any], noun: str) -> str:
    """Returns a number with its noun, as in "1 drawing" and "2 drawings"."""
    return f"{len(things):,} {noun}" + "s" * (len(things) != 1)
