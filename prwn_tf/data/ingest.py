"""Raw images -> a prepared data set: decoded in parallel, class by class."""

import concurrent.futures
import functools
import hashlib
import json
import os
import pathlib
from collections.abc import Iterator, Sequence

import numpy as np
import tqdm

from prwn_tf import files
from prwn_tf.data.raw import MIN_IMAGES, Images, Import, RawClass
from prwn_tf.data.store.reader import UNLABELED
from prwn_tf.data.store.writer import StoreWriter
from prwn_tf.errors import StorageError, UserError
from prwn_tf.images.decoder import BATCH, Decoder

VERSION = 3  # to be raised with any change of a decoded pixel
WORKERS = min(8, os.cpu_count() or 1)
DECODED_BYTES = 2**26  # pixels that wait to be written
MAX_LISTED = 20  # bad images that an error names; more are printed line by line
MAX_RECORDED = 1000  # bad images that the manifest names


def write(
    description: Import, directory: pathlib.Path, *, skip_bad_images: bool
) -> None:
    """Decodes all images of an import into a data set at `directory`.

    If a program is killed at it, the next one continues, class by class.
    """
    about = {
        "dataset": description.dataset,
        "version": VERSION,
        "source": description.source,
        "layout": description.layout,
        "fit": description.fit,
        **description.about,
    }
    with StoreWriter(
        directory,
        image_shape=(description.size, description.size, 3),
        about=about,
        resume_key=_resume_key(description, skip_bad_images),
    ) as writer:
        missing = [
            raw for raw in description.classes if not writer.has(raw.split, raw.name)
        ]
        _check_space(missing, description.size, directory)
        _write_classes(description, missing, writer, skip_bad_images)
        skipped = description.skipped | {"unreadable images": len(writer.dropped)}
        writer.about["skipped"] = {
            what: count for what, count in skipped.items() if count
        }
        writer.about["unreadable"] = writer.dropped[:MAX_RECORDED]


def _write_classes(
    description: Import,
    missing: Sequence[RawClass],
    writer: StoreWriter,
    skip_bad_images: bool,
) -> None:
    """Writes the classes that are missing, and checks those that are there."""
    total = description.image_count
    done = total - sum(len(raw.images) for raw in missing)
    if done:
        print(f"continuing where an earlier run was stopped, at image {done:,}")
    decoder = Decoder(description.size, fit=description.fit)
    bad_images = list(writer.dropped)  # by the earlier run
    pool = concurrent.futures.ThreadPoolExecutor(WORKERS)
    bar = tqdm.tqdm(
        desc=description.dataset,
        total=total,
        initial=done,
        unit=" images",
        disable=None,
    )
    try:
        for raw in missing:
            dropped: list[str] = []
            batches = _decoded_batches(raw.images, decoder, pool, dropped, bar)
            writer.add_batches(raw.split, raw.name, batches, dropped)
            bad_images += dropped
    finally:
        pool.shutdown(cancel_futures=True)
        bar.close()
    if bad_images and not skip_bad_images:
        raise UserError(_bad_images_message(bad_images))
    _check_counts(description.classes, writer)


def _decoded_batches(
    images: Images,
    decoder: Decoder,
    pool: concurrent.futures.Executor,
    dropped: list[str],
    bar: tqdm.tqdm,
) -> Iterator[np.ndarray]:
    """Yields the pixels of a class: [n, size, size, 3] of uint8.

    Args:
        dropped: gets the images that cannot be decoded, each with the reason.
        bar: is moved by every image.
    """
    decode = functools.partial(decoder.load, images.load)
    group = max(BATCH, DECODED_BYTES // (decoder.size**2 * 3))
    for start in range(0, len(images), group):
        stop = min(start + group, len(images))
        each = min(BATCH, -(-(stop - start) // WORKERS))  # so that all have work
        parts = [
            range(first, min(first + each, stop)) for first in range(start, stop, each)
        ]
        results = pool.map(decode, parts)
        for part, (pixels, problems) in zip(parts, results, strict=True):
            dropped += [
                f"{images.place(index)} {reason}" for index, reason in problems.items()
            ]
            bar.update(len(part))
            yield pixels


def _check_counts(classes: Sequence[RawClass], writer: StoreWriter) -> None:
    """Raises if too few images of some classes are left to make episodes of."""
    few = [
        f"{raw.name!r} has {kept} of {len(raw.images)}"
        for raw in classes
        if raw.split != UNLABELED
        and (kept := writer.images_of(raw.split, raw.name)) < MIN_IMAGES
    ]
    if few:
        raise UserError(
            f"too few images are left without the unreadable ones: {'; '.join(few)}; "
            f"a class needs {MIN_IMAGES}, so replace them, or remove the class"
        )


def _check_space(
    classes: Sequence[RawClass], size: int, directory: pathlib.Path
) -> None:
    """Raises if the pixels of the classes do not fit on the disk."""
    images = sum(len(raw.images) for raw in classes)
    need, free = images * size**2 * 3, files.free_space(directory)
    if need > free:
        raise StorageError(
            f"{images:,} images of {size}x{size} need {need:,} bytes in "
            f"{directory.parent}, {free:,} are free; free some space, or choose "
            "another --data_dir or a smaller --image_size"
        )


def _bad_images_message(bad_images: list[str]) -> str:
    """Returns the message on images that cannot be decoded; prints them if many."""
    number = f"{len(bad_images):,} image{'s' * (len(bad_images) > 1)}"
    names = f": {'; '.join(bad_images)}"
    if len(bad_images) > MAX_LISTED:
        print("\n".join(bad_images), flush=True)
        names = ", all listed above"
    return (
        f"{number} cannot be decoded{names}; replace or remove them, or leave them out "
        "with --skip_bad_images"
    )


def _resume_key(description: Import, skip_bad_images: bool) -> str:
    """Returns a hash of what is to be written and of the state of its files."""
    digest = hashlib.sha256()
    settings = [
        VERSION,
        description.source,
        description.size,
        description.fit,
        skip_bad_images,
        description.about,
    ]
    digest.update(json.dumps(settings, sort_keys=True).encode())
    for raw in description.classes:
        line = [raw.split, raw.name, raw.images.states()]
        digest.update(json.dumps(line).encode())
    return digest.hexdigest()
