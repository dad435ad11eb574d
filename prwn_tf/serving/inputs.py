"""Images as people have them, in arrays, files or bytes -> pixels in batches.

Labels, too, as people write them -> numbers.
"""

import os
import pathlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.multiclass import check_classification_targets

from prwn_tf.config import ADAPTATIONS
from prwn_tf.data import raw
from prwn_tf.errors import UserError
from prwn_tf.evaluation.calibration import AUTO
from prwn_tf.images.decoder import Decoder
from prwn_tf.images.header import UnusableImageError
from prwn_tf.serving import folders
from prwn_tf.serving.models import ServedModel

CHANNELS = (1, 3, 4)
MAX_NAMED = 20  # unusable images that an error names
# Kinds of Pillow's images whose numbers are not shades of gray, or of red, green, blue.
PILLOW_MODES = ("P", "PA", "LA", "La", "RGBa", "RGBX", "CMYK", "YCbCr", "LAB", "HSV")
FORMS = (
    "an array [images, height, width] or [images, height, width, channels], a list of "
    "arrays, file paths or encoded images, one of these (an array [height, width, "
    "channels]), or a folder of images"
)


class InputError(UserError, UnusableImageError, ValueError):
    """Images or labels that cannot be used; ValueError is scikit-learn's convention."""


class LoadedBatch(NamedTuple):
    """Some of the images, in order."""

    pixels: np.ndarray  # [B, height, width, channels] of uint8, the usable ones
    places: list[int]  # [B] where each of them was
    problems: dict[int, str]  # place -> why it is not among them


def listed(images: Any) -> Any:
    """Returns a single image and those of a folder as a list, all else as it is."""
    if isinstance(images, str | os.PathLike) and os.path.isdir(images):
        return folders.images(pathlib.Path(images), "images").paths
    one = isinstance(images, str | os.PathLike | bytes) or _is_pillow(images)
    return [images] if one or _is_one_array(images) else images


def _is_one_array(images: Any) -> bool:
    """Returns whether an array is one image, [height, width, channels]."""
    shape = tuple(getattr(images, "shape", ()))
    return len(shape) == 3 and shape[-1] in CHANNELS


def by_folders(images: Any) -> tuple[list[str], list[str]]:
    """Returns the images of a folder of class folders, and the class of each."""
    if not isinstance(images, str | os.PathLike):
        raise InputError(
            "FewShotClassifier requires y to be passed, but the target y is None; give "
            "a label for each image, or a folder with a folder of images for each class"
        )
    classes = folders.support(pathlib.Path(images))
    labels = [name for name, paths in classes.items() for _ in paths]
    return [path for paths in classes.values() for path in paths], labels


def count(images: Any) -> int:
    """Returns the number of images in any of the forms."""
    images = listed(images)
    sequence = hasattr(images, "__len__") and hasattr(images, "__getitem__")
    if not sequence or isinstance(images, Mapping):
        remedy = "; give list(images.as_numpy_iterator())" * hasattr(
            images, "as_numpy_iterator"
        )
        raise InputError(
            f"images must be {FORMS}, found {type(images).__name__}{remedy}"
        )
    return len(images)


def batches(images: Any, model: ServedModel) -> Iterator[LoadedBatch]:
    """Loads images in any form, as many at a time as the model is best given."""
    total, images = count(images), _as_array(images)
    as_array = isinstance(images, np.ndarray) and images.dtype.kind not in "OSU"
    decoder = None if as_array else model.preprocess.decoder()
    for start in range(0, total, model.batch_size):
        part = images[start : start + model.batch_size]
        if as_array:
            places = list(range(start, start + len(part)))
            yield LoadedBatch(as_bytes(_with_channels(part)), places, {})
        else:
            yield _decode(part, start, decoder, model.preprocess.background)


def embeddings(images: Any, model: ServedModel) -> np.ndarray:
    """Embeds all images: -> [images, D]. Raises if one of them cannot be used."""
    none = np.empty((0, model.size), np.float32)
    return np.concatenate([none, *embedding_batches(images, model)])


def embedding_batches(images: Any, model: ServedModel) -> Iterator[np.ndarray]:
    """Embeds images a batch at a time: -> [B, D], [B, D], ..."""
    images = _as_array(listed(images))
    loaded = batches(images, model)
    for batch in loaded:
        if batch.problems:
            later = [each.problems for each in loaded]  # to tell of all at once
            raise InputError(_unusable(images, [batch.problems, *later]))
        yield model.embed(batch.pixels)


def _unusable(images: Any, problems: Sequence[dict[int, str]]) -> str:
    """Returns what is wrong with images, by their places, in a line."""
    reasons = []
    for place, reason in (item for each in problems for item in each.items()):
        image = images[place]
        name = f" ({image})" if isinstance(image, str | os.PathLike) else ""
        reasons.append(f"image {place}{name} {reason}")
    more = len(reasons) - MAX_NAMED
    return "; ".join(reasons[:MAX_NAMED]) + f"; and {more:,} more" * (more > 0)


def check_embeddings(points: Any, name: str, size: int) -> np.ndarray:
    """Returns embeddings [n, size] in float32, or raises if they are something else."""
    points = np.asarray(points)
    if points.dtype.kind not in "iuf" or points.shape != (len(points), size):
        raise InputError(
            f"{name} must be embeddings of the model, [n, {size}] numbers; found an "
            f"array of shape {points.shape} and type {points.dtype}"
        )
    with np.errstate(over="ignore"):
        points = points.astype(np.float32, copy=False)
    usable = np.isfinite(points).all(axis=1)  # [n]
    if not usable.all():
        raise InputError(
            f"{name} must be finite numbers; row {np.argmin(usable)} holds NaN or "
            "infinity"
        )
    return points


def as_bytes(pixels: np.ndarray) -> np.ndarray:
    """Converts numbers from 0 to 1, or whole numbers from 0 to 255, to uint8."""
    if pixels.dtype == np.uint8 or not pixels.size:
        return pixels.astype(np.uint8, copy=False)
    if pixels.dtype.kind not in "biuf":
        raise InputError(f"pixels must be numbers, found {pixels.dtype}")
    white = 1 if pixels.dtype.kind in "bf" else 255
    low, high = pixels.min(), pixels.max()
    if not (low >= 0 and high <= white):  # NaN is neither
        raise InputError(
            f"pixels of type {pixels.dtype} must be from 0 to {white}, found {low} to "
            f"{high}; scale them"
        )
    if white == 1:
        return np.rint(pixels * np.float32(255)).astype(np.uint8)
    return pixels.astype(np.uint8)


def _as_array(value: Any) -> Any:
    """Converts tensors, series and Pillow's images to arrays of NumPy."""
    if _is_pillow(value) and value.mode in PILLOW_MODES:
        value = value.convert("RGBA")
    if _is_pillow(value):
        from PIL import ImageOps

        value = ImageOps.exif_transpose(value)  # as files are
    known = hasattr(value, "__array__") or hasattr(value, "__array_interface__")
    return np.asarray(value) if known else value


def _is_pillow(value: Any) -> bool:
    return hasattr(value, "mode") and hasattr(value, "convert")


def _with_channels(pixels: np.ndarray) -> np.ndarray:
    """Adds the channel that [B, height, width] lacks."""
    if 0 in pixels.shape[1:]:
        raise InputError(f"images of shape {pixels.shape[1:]} have no pixels")
    if pixels.ndim == 3 and pixels.shape[-1] not in CHANNELS:
        return pixels[..., None]
    if pixels.ndim == 4 and pixels.shape[-1] in CHANNELS:
        return pixels
    raise InputError(
        f"images must be {FORMS}, with {', '.join(map(str, CHANNELS))} channels; found "
        f"an array of shape {pixels.shape}"
    )


def _decode(
    images: Sequence[Any], start: int, decoder: Decoder, background: int | None
) -> LoadedBatch:
    """Decodes images whose first one has place `start` among all of them."""
    places = range(start, start + len(images))
    pixels, problems = decoder.load(
        lambda place: _content(images[place - start], background), places
    )
    usable = [place for place in places if place not in problems]
    return LoadedBatch(pixels, usable, problems)


def _content(image: Any, background: int | None) -> bytes | np.ndarray:
    """Returns an image as the decoder takes it: encoded, or [height, width, 3]."""
    if isinstance(image, str | os.PathLike):
        return raw.read_file(image)
    if isinstance(image, bytes):
        return image
    image = _as_array(image)
    if not isinstance(image, np.ndarray):
        raise InputError(f"is a {type(image).__name__}; give {FORMS}")
    if image.ndim == 2:
        image = image[..., None]
    if image.ndim != 3 or image.shape[-1] not in CHANNELS or 0 in image.shape:
        raise InputError(f"is an array of shape {image.shape}")
    image = as_bytes(image)
    if image.shape[-1] == 1:
        return np.repeat(image, 3, axis=-1)
    if image.shape[-1] == 4 and background is not None:
        from prwn_tf.images import decoding

        return decoding.over(image[..., :3], image[..., 3:], background).numpy()
    return image[..., :3]


def adaptation(adapt: str | None, unlabeled: Any) -> str:
    """Returns what unlabelled images do, "auto" by default, if that can be done."""
    adapt = adapt or AUTO
    known = (*ADAPTATIONS, AUTO)
    if adapt not in known:
        raise InputError(f"adapt is one of {', '.join(known)}, got {adapt!r}")
    if unlabeled is None and adapt == AUTO:
        return "none"
    if unlabeled is None and adapt != "none":
        raise InputError(
            f"adapt={adapt!r} moves the prototypes by unlabelled images, and none were "
            "given; give some, or use adapt='none'"
        )
    if unlabeled is not None and not count(unlabeled):
        raise InputError("unlabeled holds no image; leave it out, or give some")
    return adapt


def _is_missing(label: Any) -> bool:
    """Returns whether a label is None or NaN, as an empty cell of a table is."""
    return label is None or (isinstance(label, float) and label != label)


def encode_labels(labels: Any, images: int) -> tuple[np.ndarray, np.ndarray]:
    """Returns the classes [N], sorted, and the index of each image's class: [n]."""
    each = np.asarray(labels, dtype=object).ravel()
    missing = [place for place, label in enumerate(each) if _is_missing(label)]
    if missing:
        what = "None" if each[missing[0]] is None else "NaN"
        raise InputError(
            f"label {missing[0]} of 0 to {len(each) - 1} is {what}; leave images "
            "without a label out, or give them as unlabeled"
        )
    labels = np.asarray(labels)
    if labels.dtype == object and all(isinstance(each, str) for each in labels):
        labels = labels.astype(str)
    if labels.ndim != 1 or labels.dtype.kind not in "biufU":
        raise InputError(
            "Unknown label type: labels must be a list of strings or numbers, one for "
            f"each image, found an array of shape {labels.shape}, type {labels.dtype}"
        )
    check_classification_targets(labels)
    if len(labels) != images:
        raise InputError(f"found {images} images and {len(labels)} labels")
    names, codes = np.unique(labels, return_inverse=True)
    if len(names) < 2:
        raise InputError(
            f"found {len(names)} class among {images} labelled images; there must be "
            "two at least to tell apart"
        )
    return names, codes
