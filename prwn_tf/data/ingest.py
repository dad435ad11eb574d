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
from prwn_tf.data.raw import FEWEST, Images, Import, RawClass
from prwn_tf.data.store.reader import UNLABELED
from prwn_tf.data.store.writer import StoreWriter
from prwn_tf.errors import StorageError, UserError
from prwn_tf.images.decoder import BATCH, Decoder

VERSION = 2  # to be raised with any change of a decoded pixel
WORKERS = min(8, os.cpu_count() or 1)
DECODED_BYTES = 2**26  # pixels that wait to be written
LISTED = 20  # images that an error names
RECORDED = 1000  # images that the manifest names


def write(plan: Import, directory: pathlib.Path, *, skip_bad_images: bool) -> None:
    """Decodes all images of an import into a data set at `directory`.

    A program that was killed at it is continued by the next, class by class.
    """
    about = {"dataset": plan.dataset, "version": VERSION, "source": plan.source}
    about |= {"layout": plan.found, **plan.about}
    with StoreWriter(
        directory,
        image_shape=(plan.size, plan.size, 3),
        about=about,
        resume_key=_key(plan, skip_bad_images),
    ) as writer:
        todo = [raw for raw in plan.classes if not writer.has(raw.split, raw.name)]
        _check_space(todo, plan.size, directory)
        _write_classes(plan, todo, writer, skip_bad_images)
        skipped = plan.skipped | {"unreadable images": len(writer.dropped)}
        writer.about["skipped"] = {
            what: count for what, count in skipped.items() if count
        }
        writer.about["unreadable"] = writer.dropped[:RECORDED]


def _write_classes(
    plan: Import, todo: Sequence[RawClass], writer: StoreWriter, skip_bad: bool
) -> None:
    done = plan.images - sum(len(raw.images) for raw in todo)
    if done:
        print(f"continuing where an earlier run was stopped, at image {done:,}")
    decoder = Decoder(plan.size)
    unusable = list(writer.dropped)  # by the earlier run
    if skip_bad or not unusable:
        for raw in plan.classes:
            if writer.has(raw.split, raw.name):
                _check_count(raw, writer.images_of(raw.split, raw.name))
    pool = concurrent.futures.ThreadPoolExecutor(WORKERS)
    bar = tqdm.tqdm(
        desc=plan.dataset,
        total=plan.images,
        initial=done,
        unit=" images",
        disable=None,
    )
    try:
        for raw in todo:
            dropped: list[str] = []
            batches = _decoded(raw.images, decoder, pool, dropped, bar)
            writer.add_batches(raw.split, raw.name, batches, dropped)
            unusable += dropped
            if not skip_bad and len(unusable) >= LISTED:
                break
            if skip_bad or not dropped:
                _check_count(raw, writer.images_of(raw.split, raw.name))
    finally:
        pool.shutdown(cancel_futures=True)
        bar.close()
    if unusable and not skip_bad:
        raise UserError(_unusable_message(unusable))


def _decoded(
    images: Images,
    decoder: Decoder,
    pool: concurrent.futures.Executor,
    dropped: list[str],
    bar: tqdm.tqdm,
) -> Iterator[np.ndarray]:
    """The pixels of a class in batches; what cannot be decoded goes to `dropped`."""
    work = functools.partial(decoder.load, images.load)
    group = max(BATCH, DECODED_BYTES // (decoder.size**2 * 3))
    for start in range(0, len(images), group):
        stop = min(start + group, len(images))
        parts = [
            range(first, min(first + BATCH, stop))
            for first in range(start, stop, BATCH)
        ]
        for part, (pixels, problems) in zip(parts, pool.map(work, parts), strict=True):
            dropped += [
                f"{images.place(index)} {reason}" for index, reason in problems.items()
            ]
            bar.update(len(part))
            yield pixels


def _check_count(raw: RawClass, kept: int) -> None:
    if raw.split != UNLABELED and kept < FEWEST:
        raise UserError(
            f"class {raw.name!r} has {kept} of {len(raw.images)} images left without "
            f"the unreadable ones, at least {FEWEST} are needed; replace them, or "
            "remove the class"
        )


def _check_space(todo: Sequence[RawClass], size: int, directory: pathlib.Path) -> None:
    images = sum(len(raw.images) for raw in todo)
    need, free = images * size**2 * 3, files.free_space(directory)
    if need > free:
        raise StorageError(
            f"{images:,} images of {size}x{size} need {need:,} bytes in "
            f"{directory.parent}, {free:,} are free; free some space, or choose "
            "another --data_dir or a smaller --image_size"
        )


def _unusable_message(unusable: list[str]) -> str:
    number = f"{len(unusable)} image{'s' * (len(unusable) > 1)}"
    if len(unusable) >= LISTED:
        number = f"at least {number}"
    return (
        f"{number} cannot be decoded: {'; '.join(unusable[:LISTED])}; replace or "
        "remove them, or leave them out with --skip_bad_images"
    )


def _key(plan: Import, skip_bad: bool) -> str:
    """Differs for imports that write different things, or from changed files."""
    digest = hashlib.sha256()
    head = [VERSION, plan.source, plan.size, skip_bad, plan.about]
    digest.update(json.dumps(head, sort_keys=True).encode())
    for raw in plan.classes:
        line = [raw.split, raw.name, raw.images.states()]
        digest.update(json.dumps(line).encode())
    return digest.hexdigest()
