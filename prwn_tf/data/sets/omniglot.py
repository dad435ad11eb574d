"""Omniglot (Lake et al., 2015): 1,623 handwritten characters, 20 drawings of each.

Every character becomes four classes, one for each quarter turn, and the splits are
those of Vinyals et al. (2016), as used by Ren et al. (2018) and by the paper.
"""

import pathlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import tqdm

from prwn_tf.data.sets import omniglot_sources as sources
from prwn_tf.data.sets import omniglot_splits
from prwn_tf.data.store.writer import StoreWriter
from prwn_tf.errors import UserError

DRAWN_SIZE = 105
SIZE = 28


def build(
    directory: pathlib.Path,
    *,
    source: pathlib.Path | None,
    characters: Mapping[str, Sequence[str]] | None = None,
) -> None:
    """Writes Omniglot as a prepared data set of 28x28 images, ink 255 on 0.

    Args:
        directory: where the data set is to appear.
        source: what the user has of Omniglot on disk, in any of the ways that
            `omniglot_sources` knows; None gets it through tensorflow_datasets.
        characters: the `Alphabet/characterNN` of each split; all of them by default.
    """
    characters = characters or omniglot_splits.omniglot_characters()
    if source is None:
        origin, found, drawings = sources.through_tfds()
    else:
        origin, found, drawings = sources.from_disk(source)
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
    drawings: Iterable[sources.Drawing], wanted: set[str]
) -> dict[str, dict[int, np.ndarray]]:
    """The image of each drawer for each wanted character."""
    images: dict[str, dict[int, np.ndarray]] = {name: {} for name in wanted}
    unusable = []
    total = sources.DRAWERS * len(wanted)
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
            f"{_count(unusable, 'drawing')} cannot be used: "
            f"{sources.some(sorted(unusable))}; Omniglot has PNG images of "
            f"{DRAWN_SIZE}x{DRAWN_SIZE} pixels, download it again"
        )
    return images


def _decode(drawing: sources.Drawing) -> np.ndarray:
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


def _keep(
    images: dict[int, np.ndarray], drawing: sources.Drawing, image: np.ndarray
) -> None:
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
            f"{sources.ACCEPTED}"
        )
    if missing:
        raise UserError(
            f"{origin} lacks {len(missing):,} of {_count(images, 'character')}: "
            f"{sources.some(missing)}; {sources.ACCEPTED}"
        )
    uneven = [
        f"{name} has {len(found)}"
        for name, found in sorted(images.items())
        if len(found) != sources.DRAWERS
    ]
    if uneven:
        raise UserError(
            f"{_count(uneven, 'character')} of {origin} should have {sources.DRAWERS} "
            f"drawings each: {sources.some(uneven)}; download Omniglot again"
        )


def _count(things: Sequence[Any] | Mapping[str, Any], what: str) -> str:
    return f"{len(things):,} {what}" + "s" * (len(things) != 1)
