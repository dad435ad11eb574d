"""Preparing a data set: raw files of any kind -> a verified store."""

import contextlib
import dataclasses
import functools
import itertools
import pathlib
from collections.abc import Callable, Iterator

from prwn_tf import dataset_names, files
from prwn_tf.data import catalog, ingest, label_table, sources, tree
from prwn_tf.data.raw import Import, RawClass
from prwn_tf.data.sets import (
    class_splits,
    folder,
    imagenet,
    omniglot,
    omniglot_sources,
    tfds_sets,
)
from prwn_tf.data.store import manifest, reader
from prwn_tf.errors import UserError


@dataclasses.dataclass(frozen=True)
class Options:
    """How to prepare a data set; None where nothing was said.

    Attributes:
        source: raw files.
        labels: a table of the class of each image, where folders do not tell it.
        image_size: height and width of the prepared images.
        fit: how images become squares, one of `config.FITS`.
        unlabeled_source: further images, of no class; those that `labels` names have
            one, and are left out of it.
        allow_partial: whether classes may be missing.
        skip_bad_images: whether to leave out images that cannot be decoded.
        hold_out: whether validation and test get "classes" or "images" of their own.
        seed: draws what is held out.
        class_splits: a list of which class is of which split, by name or as a file.
        tfds_dir: where tensorflow-datasets keeps its sets.
        image_key: which feature of such a set is the image.
        label_key: which one is its class.
        replace: whether what is prepared already may go.
    """

    source: pathlib.Path | None = None
    labels: pathlib.Path | None = None
    image_size: int | None = None
    fit: str | None = None
    unlabeled_source: pathlib.Path | None = None
    allow_partial: bool | None = None
    skip_bad_images: bool | None = None
    hold_out: str | None = None
    seed: int | None = None
    class_splits: str | None = None
    tfds_dir: pathlib.Path | None = None
    image_key: str | None = None
    label_key: str | None = None
    replace: bool | None = None


_IMAGES = ("image_size", "fit", "unlabeled_source", "skip_bad_images", "replace")
_SPLIT = ("hold_out", "seed", "class_splits")
# Kind of data set -> the options that apply to it.
KINDS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(catalog.DRAWN_DATASETS, ()),
    "omniglot": ("source",),
    "mini": ("source", *_IMAGES, "allow_partial"),
    "tiered": ("source", *_IMAGES, "allow_partial"),
    "folder": ("source", "labels", *_IMAGES, *_SPLIT),
    "tfds": (*_IMAGES, *_SPLIT, "tfds_dir", "image_key", "label_key"),
}


@dataclasses.dataclass(frozen=True)
class Preparation:
    """A data set that is checked and described, and can be written.

    Attributes:
        write: writes it.
        lines: what it will be made from, for people.
        needs_tensorflow: whether `write` does.
    """

    write: Callable[[], None]
    lines: tuple[str, ...] = ()
    needs_tensorflow: bool = True


def prepare(name: str, data_dir: pathlib.Path, options: Options) -> None:
    """Builds a data set from raw files, or draws it."""
    with described(name, data_dir, options) as preparation:
        preparation.write()


@contextlib.contextmanager
def described(
    name: str, data_dir: pathlib.Path, options: Options
) -> Iterator[Preparation]:
    """Checks all that can be checked without TensorFlow, and yields what to write.

    Until the end, nobody else can prepare the same, and archives stay unpacked.
    """
    _check_options(name, options)
    directory = catalog.location(name, data_dir)
    if name in catalog.DRAWN_DATASETS:
        _, draw = catalog.DRAWN_DATASETS[name]
        with catalog.reserved(directory, wait=True):
            yield Preparation(lambda: draw(directory), needs_tensorflow=False)
    elif name == "omniglot":
        with _described_omniglot(directory, options.source) as preparation:
            yield preparation
    else:
        _check_sources(name, options)
        _check_replaceable(name, directory, options)
        with _described_images(name, directory, options) as preparation:
            yield preparation


@contextlib.contextmanager
def _described_omniglot(
    directory: pathlib.Path, source: pathlib.Path | None
) -> Iterator[Preparation]:
    """Yields Omniglot from the user's disk, or from its publisher for None."""
    if source is None:
        omniglot_sources.check_connection()
        with catalog.reserved(directory) as scratch:
            yield Preparation(
                lambda: omniglot.write(directory, omniglot_sources.downloaded(scratch))
            )
    else:
        drawings = omniglot_sources.from_disk(source)
        with catalog.reserved(directory):
            yield Preparation(lambda: omniglot.write(directory, drawings))


@contextlib.contextmanager
def _described_images(
    name: str, directory: pathlib.Path, options: Options
) -> Iterator[Preparation]:
    """Yields a data set that is made from image files, pickles or arrays."""
    with contextlib.ExitStack() as stack:
        scratch = stack.enter_context(catalog.reserved(directory))
        source, unlabeled = options.source, options.unlabeled_source
        raw = stack.enter_context(_opened(name, scratch / "source", options))
        paths_of = _labelled(options.labels, raw)
        description = _described_classes(name, raw, paths_of, scratch, options)
        if unlabeled is not None:
            # What is held out for test must not be trained on, wherever it lies.
            exclude = [] if source is None else [source]
            exclude += map(pathlib.Path, itertools.chain(*paths_of.values()))
            opened = sources.opened(unlabeled, scratch / "unlabeled", exclude)
            description = _with_unlabeled(description, stack.enter_context(opened))
        yield Preparation(
            functools.partial(
                ingest.write,
                description,
                directory,
                skip_bad_images=bool(options.skip_bad_images),
            ),
            _summary(description, directory),
        )


def _opened(
    name: str, scratch: pathlib.Path, options: Options
) -> contextlib.AbstractContextManager[tree.Tree]:
    """Returns what yields the raw files: the user's, or those in a set of tfds."""
    if dataset_names.kind(name) == "tfds":
        own = name.partition(":")[2]
        keys = options.image_key, options.label_key
        return contextlib.nullcontext(
            tfds_sets.unpacked(own, scratch, options.tfds_dir, *keys)
        )
    unlabeled = options.unlabeled_source
    exclude = [] if unlabeled is None else [unlabeled]
    return sources.opened(options.source, scratch, exclude)


def _described_classes(
    name: str,
    raw: tree.Tree,
    paths_of: dict[str, list[str]],
    scratch: pathlib.Path,
    options: Options,
) -> Import:
    """Returns the classes of a source, with the options that were given."""
    given = {"size": options.image_size, "seed": options.seed}
    given |= {"hold_out": options.hold_out, "allow_partial": options.allow_partial}
    given = {key: value for key, value in given.items() if value is not None}
    if dataset_names.kind(name) in ("mini", "tiered"):
        description = imagenet.describe(name, raw, scratch=scratch, **given)
    else:
        if options.class_splits is not None:
            given["split_of"] = class_splits.read(options.class_splits)
        if paths_of:
            given["paths_of"] = paths_of
        description = folder.describe(raw, **given)
    source = name if options.source is None else tree.shown(options.source)
    fit = options.fit or description.fit
    return dataclasses.replace(description, dataset=name, source=source, fit=fit)


def _labelled(table: pathlib.Path | None, raw: tree.Tree) -> dict[str, list[str]]:
    """Returns the images of each class by a table of labels, none without a table."""
    if table is None:
        return {}
    flag = f"--labels={tree.shown(table)}"
    labels = label_table.read(table, flag)
    root, remedy = raw.folders[0].path, "names in the table start from --source"
    return label_table.by_class(labels, root, flag, remedy)


def _with_unlabeled(description: Import, raw: tree.Tree) -> Import:
    """Returns a description with images of no class after its classes."""
    images = folder.unlabeled_images(raw)
    pool = RawClass(reader.UNLABELED, reader.UNLABELED, images)
    return dataclasses.replace(description, classes=[*description.classes, pool])


def _summary(description: Import, directory: pathlib.Path) -> tuple[str, ...]:
    """Returns what will be written and what it replaces, for people."""
    lines = [
        f"found {description.layout} in {description.source}: "
        f"{description.image_count:,} images",
        *description.notes,
    ]
    if manifest.is_dataset(directory):
        before = files.read_json(directory / manifest.FILE).get("source")
        lines.append(f"this replaces the data set of {tree.plain(str(before))}")
    return tuple(lines)


def _check_options(name: str, options: Options) -> None:
    """Raises if an option was given that does not apply to the data set."""
    for field in dataclasses.fields(options):
        given = getattr(options, field.name) is not None
        if given and field.name not in KINDS[dataset_names.kind(name)]:
            fitting = [each for each, names in KINDS.items() if field.name in names]
            raise UserError(
                f"--{field.name} does not apply to --dataset={name}, only to "
                f"{', '.join(fitting)}; leave it out"
            )


def _check_sources(name: str, options: Options) -> None:
    """Raises unless the sources are there, and are two."""
    source, unlabeled = options.source, options.unlabeled_source
    if "source" in KINDS[dataset_names.kind(name)]:
        if source is None:
            raise UserError(
                f"data set {name} is made from files of yours, no program can download "
                "it; give them as --source=PATH"
            )
        sources.check(source, "source")
    if unlabeled is None:
        return
    sources.check(unlabeled, "unlabeled_source")
    if source is not None and unlabeled.samefile(source):
        raise UserError(
            f"--source and --unlabeled_source are both {source}; the second "
            "is for images that have no label, leave it out"
        )


def _check_replaceable(name: str, directory: pathlib.Path, options: Options) -> None:
    """Raises if a data set is there already, and may not be replaced."""
    if options.replace or not manifest.is_dataset(directory):
        return
    before = files.read_json(directory / manifest.FILE).get("source")
    own = dataset_names.kind(name) == "folder"
    beside = ", or call the new one --dataset=folder:NAME" if own else ""
    raise UserError(
        f"{name} is prepared already, from {tree.plain(str(before))}; to make it anew "
        f"give --replace{beside}"
    )
