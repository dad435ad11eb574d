"""The data sets by name: where each lies when prepared, and how to prepare it."""

import contextlib
import dataclasses
import functools
import pathlib
from collections.abc import Callable, Iterator

from prwn_tf import files, locks
from prwn_tf.data import ingest, sources, tree
from prwn_tf.data.raw import Import, RawClass
from prwn_tf.data.sets import (
    folder,
    glyphs,
    imagenet,
    omniglot,
    omniglot_sources,
    toy,
)
from prwn_tf.data.store import manifest, reader, writer
from prwn_tf.errors import UserError


@dataclasses.dataclass(frozen=True)
class Options:
    """How to prepare a data set; None where nothing was said.

    Attributes:
        source: raw files.
        image_size: height and width of the prepared images.
        unlabeled_source: further images, of no class.
        allow_partial: whether classes may be missing.
        skip_bad_images: whether to leave out images that cannot be decoded.
        hold_out: whether validation and test get "classes" or "images" of their own.
        seed: draws what is held out.
    """

    source: pathlib.Path | None = None
    image_size: int | None = None
    unlabeled_source: pathlib.Path | None = None
    allow_partial: bool | None = None
    skip_bad_images: bool | None = None
    hold_out: str | None = None
    seed: int | None = None


_IMAGES = ("source", "image_size", "unlabeled_source", "skip_bad_images")
# Data set -> the options that apply to it.
DATASETS: dict[str, tuple[str, ...]] = {
    "glyphs": (),
    "spiral": (),
    "gaussian_circles": (),
    "omniglot": ("source",),
    "mini": (*_IMAGES, "allow_partial"),
    "tiered": (*_IMAGES, "allow_partial"),
    "folder": (*_IMAGES, "hold_out", "seed"),
}
# Data sets made by code -> version and what draws them into a folder.
DRAWN_DATASETS: dict[str, tuple[int, Callable[[pathlib.Path], None]]] = {
    "glyphs": (glyphs.VERSION, glyphs.build),
    **{name: (toy.VERSION, functools.partial(toy.build, name)) for name in toy.NAMES},
}


def location(name: str, data_dir: pathlib.Path) -> pathlib.Path:
    """Returns the folder of a prepared data set; of a link to one, its end."""
    directory = data_dir / name
    return directory.resolve() if directory.is_symlink() else directory


def is_prepared(directory: pathlib.Path) -> bool:
    """Returns whether a folder is a complete data set."""
    return (directory / reader.MANIFEST).exists()


# --- Preparing


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
    directory = location(name, data_dir)
    if name in DRAWN_DATASETS:
        _, draw = DRAWN_DATASETS[name]
        with _reserved(directory, wait=True):
            yield Preparation(lambda: draw(directory), needs_tensorflow=False)
    elif name == "omniglot":
        with _described_omniglot(directory, options.source) as preparation:
            yield preparation
    else:
        _check_sources(name, options)
        with _described_images(name, directory, options) as preparation:
            yield preparation


@contextlib.contextmanager
def _described_omniglot(
    directory: pathlib.Path, source: pathlib.Path | None
) -> Iterator[Preparation]:
    """Yields Omniglot from the user's disk, or from its publisher for None."""
    if source is None:
        omniglot_sources.check_connection()
        with _reserved(directory) as scratch:
            yield Preparation(
                lambda: omniglot.write(directory, omniglot_sources.downloaded(scratch))
            )
    else:
        drawings = omniglot_sources.from_disk(source)
        with _reserved(directory):
            yield Preparation(lambda: omniglot.write(directory, drawings))


@contextlib.contextmanager
def _described_images(
    name: str, directory: pathlib.Path, options: Options
) -> Iterator[Preparation]:
    """Yields a data set that is made from image files, pickles or arrays."""
    with contextlib.ExitStack() as stack:
        scratch = stack.enter_context(_reserved(directory))
        source, unlabeled = options.source, options.unlabeled_source
        exclude = [] if unlabeled is None else [unlabeled]
        raw = stack.enter_context(sources.opened(source, scratch / "source", exclude))
        description = _described_classes(name, raw, scratch, options)
        if unlabeled is not None:
            # What is held out for test must not be trained on, wherever it lies.
            opened = sources.opened(unlabeled, scratch / "unlabeled", [source])
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


def _described_classes(
    name: str, raw: tree.Tree, scratch: pathlib.Path, options: Options
) -> Import:
    """Returns the classes of a source, with the options that were given."""
    given = {"size": options.image_size, "seed": options.seed}
    given |= {"hold_out": options.hold_out, "allow_partial": options.allow_partial}
    given = {key: value for key, value in given.items() if value is not None}
    if name == "folder":
        description = folder.describe(raw, **given)
    else:
        description = imagenet.describe(name, raw, scratch=scratch, **given)
    return dataclasses.replace(description, source=tree.shown(options.source))


def _with_unlabeled(description: Import, raw: tree.Tree) -> Import:
    """Returns a description with images of no class after its classes."""
    images = folder.unlabeled_images(raw)
    pool = RawClass(reader.UNLABELED, reader.UNLABELED, images)
    return dataclasses.replace(description, classes=[*description.classes, pool])


def _summary(description: Import, directory: pathlib.Path) -> tuple[str, ...]:
    """Returns what will be written and what it replaces, for people."""
    lines = [
        f"found {description.layout} in {description.source}: "
        f"{description.image_count:,} images"
    ]
    if manifest.is_dataset(directory):
        before = files.read_json(directory / manifest.FILE).get("source")
        lines.append(f"this replaces the data set of {tree.plain(str(before))}")
    return tuple(lines)


@contextlib.contextmanager
def _reserved(directory: pathlib.Path, *, wait: bool = False) -> Iterator[pathlib.Path]:
    """Keeps others from preparing the same, and yields a folder for what is unpacked.

    Raises:
        UserError: something else lies there, or another program prepares it; with
            `wait`, that one is waited for.
    """
    writer.check_replaceable(directory)
    scratch = directory.with_name(f".{directory.name}.scratch")
    with locks.scratch(scratch, wait=wait):
        yield scratch


def _check_options(name: str, options: Options) -> None:
    """Raises if an option was given that does not apply to the data set."""
    for field in dataclasses.fields(options):
        given = getattr(options, field.name) is not None
        if given and field.name not in DATASETS[name]:
            fitting = [each for each, names in DATASETS.items() if field.name in names]
            raise UserError(
                f"--{field.name} does not apply to --dataset={name}, only to "
                f"{', '.join(fitting)}; leave it out"
            )


def _check_sources(name: str, options: Options) -> None:
    """Raises unless the sources are there, and are two."""
    if options.source is None:
        raise UserError(
            f"data set {name} is made from files of yours, no program can download it; "
            "give them as --source=PATH"
        )
    sources.check(options.source, "source")
    if options.unlabeled_source is None:
        return
    sources.check(options.unlabeled_source, "unlabeled_source")
    if options.unlabeled_source.samefile(options.source):
        raise UserError(
            f"--source and --unlabeled_source are both {options.source}; the second "
            "is for images that have no label, leave it out"
        )


# --- Opening


def open_prepared(name: str, data_dir: pathlib.Path) -> dict[str, reader.ClassStore]:
    """Returns the splits of a data set; those made by code are drawn on first use."""
    directory = location(name, data_dir)
    if name in DRAWN_DATASETS:
        _draw_once(name, directory)
    if not is_prepared(directory):
        raise UserError(
            f"data set {name} is not prepared in {data_dir}; {how_to_prepare(name)} "
            f"--data_dir={data_dir}"
        )
    return reader.open_dataset(directory)


def how_to_prepare(name: str) -> str:
    """Returns the command that makes a data set, in words."""
    command = f"python -m prwn_tf.prepare --dataset={name}"
    if name == "omniglot":
        return f"this downloads it, unless you give --source=PATH: {command}"
    return f"run: {command} --source=PATH"


def _draw_once(name: str, directory: pathlib.Path) -> None:
    """Draws a data set unless it is there, in its present version."""
    version, draw = DRAWN_DATASETS[name]
    if _is_drawn(directory, version):
        return
    # Of several programs that begin together, one draws and the others wait for it.
    with _reserved(directory, wait=True):
        if not _is_drawn(directory, version):
            print(f"drawing the {name} data set into {directory} (once)")
            draw(directory)


def _is_drawn(directory: pathlib.Path, version: int) -> bool:
    """Returns whether a drawn data set of a version is there."""
    if not is_prepared(directory):
        return False
    return reader.read_manifest(directory).get("version") == version
