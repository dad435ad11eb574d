"""The data sets by name: where each lies when prepared, and how to prepare it."""

import contextlib
import dataclasses
import functools
import pathlib
from collections.abc import Callable

from prwn_tf import files, locks
from prwn_tf.data import ingest, sources, tree
from prwn_tf.data.raw import Import, RawClass
from prwn_tf.data.sets import folder, glyphs, imagenet, omniglot, toy
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
DRAWN: dict[str, tuple[int, Callable[[pathlib.Path], None]]] = {
    "glyphs": (glyphs.VERSION, glyphs.build),
    **{name: (toy.VERSION, functools.partial(toy.build, name)) for name in toy.NAMES},
}
# Data sets of points in the plane, not of images.
POINTS = frozenset(toy.NAMES)
# Data set -> the side in pixels that all its images had before they were prepared.
SHRUNK_FROM = {"omniglot": omniglot.DRAWN_SIZE}


def location(name: str, data_dir: pathlib.Path) -> pathlib.Path:
    """The folder of a prepared data set; of a link, say to a larger disk, its end."""
    directory = data_dir / name
    return directory.resolve() if directory.is_symlink() else directory


def is_prepared(directory: pathlib.Path) -> bool:
    """Whether a folder is a complete data set."""
    return (directory / reader.MANIFEST).exists()


def prepare(
    name: str,
    data_dir: pathlib.Path,
    options: Options,
    before_decoding: Callable[[], None] = lambda: None,
) -> None:
    """Builds a data set from raw files, or draws it.

    Args:
        before_decoding: called when the source is found good and TensorFlow is next.
    """
    _check_options(name, options)
    directory = location(name, data_dir)
    writer.check_replaceable(directory)
    if name in DRAWN:
        with _alone(directory, wait=True):
            DRAWN[name][1](directory)
    elif name == "omniglot":
        before_decoding()
        with _alone(directory):
            omniglot.build(directory, source=options.source)
    else:
        _check_sources(name, options)
        with _alone(directory) as scratch:
            _import_images(name, directory, options, scratch, before_decoding)


def _alone(
    directory: pathlib.Path, *, wait: bool = False
) -> contextlib.AbstractContextManager[pathlib.Path]:
    """Keeps others from preparing the same; gives a folder for what is unpacked."""
    return locks.scratch(directory.with_name(f".{directory.name}.scratch"), wait=wait)


def _check_sources(name: str, options: Options) -> None:
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


def _import_images(
    name: str,
    directory: pathlib.Path,
    options: Options,
    scratch: pathlib.Path,
    before_decoding: Callable[[], None],
) -> None:
    unlabeled = contextlib.nullcontext()
    if options.unlabeled_source is not None:
        unlabeled = sources.opened(options.unlabeled_source, scratch / "unlabeled")
    with sources.opened(options.source, scratch / "source") as raw, unlabeled as more:
        plan = _found(name, raw, scratch, more, options)
        plan = dataclasses.replace(plan, source=tree.shown(options.source))
        print(f"found {plan.found} in {plan.source}: {plan.images:,} images")
        if manifest.is_dataset(directory):
            before = files.read_json(directory / manifest.FILE).get("source")
            print(f"this replaces the data set of {tree.plain(str(before))}")
        before_decoding()
        ingest.write(plan, directory, skip_bad_images=bool(options.skip_bad_images))


def _found(
    name: str,
    raw: pathlib.Path,
    scratch: pathlib.Path,
    unlabeled: pathlib.Path | None,
    options: Options,
) -> Import:
    """What is to be written, with the images of no class at the end."""
    exclude = [] if unlabeled is None else [unlabeled]
    given = {"size": options.image_size, "seed": options.seed}
    given |= {"hold_out": options.hold_out, "allow_partial": options.allow_partial}
    given = {key: value for key, value in given.items() if value is not None}
    if name == "folder":
        plan = folder.find(raw, exclude=exclude, **given)
    else:
        plan = imagenet.find(name, raw, scratch=scratch, exclude=exclude, **given)
    if unlabeled is None:
        return plan
    # What is held out for test must not be trained on, wherever it lies.
    images = folder.find_unlabeled(unlabeled, exclude=[raw])
    pool = RawClass(reader.UNLABELED, reader.UNLABELED, images)
    return dataclasses.replace(plan, classes=[*plan.classes, pool])


def _check_options(name: str, options: Options) -> None:
    for field in dataclasses.fields(options):
        given = getattr(options, field.name) is not None
        if given and field.name not in DATASETS[name]:
            fitting = [each for each, names in DATASETS.items() if field.name in names]
            raise UserError(
                f"--{field.name} does not apply to --dataset={name}, only to "
                f"{', '.join(fitting)}; leave it out"
            )


def open_prepared(name: str, data_dir: pathlib.Path) -> dict[str, reader.ClassStore]:
    """The splits of a data set; those made by code are drawn on first use."""
    directory = location(name, data_dir)
    if name in DRAWN:
        _draw_once(name, directory)
    if not is_prepared(directory):
        raise UserError(
            f"data set {name} is not prepared in {data_dir}; {how_to_prepare(name)} "
            f"--data_dir={data_dir}"
        )
    return reader.open_dataset(directory)


def how_to_prepare(name: str) -> str:
    """The command that makes a data set, in words."""
    command = f"python -m prwn_tf.prepare --dataset={name}"
    if name == "omniglot":
        return f"this downloads it, unless you give --source=PATH: {command}"
    return f"run: {command} --source=PATH"


def _draw_once(name: str, directory: pathlib.Path) -> None:
    version, draw = DRAWN[name]
    if _drawn(directory, version):
        return
    # Of several programs that begin together, one draws and the others wait for it.
    with _alone(directory, wait=True):
        if not _drawn(directory, version):
            print(f"drawing the {name} data set into {directory} (once)")
            draw(directory)


def _drawn(directory: pathlib.Path, version: int) -> bool:
    """Whether a drawn data set is there, and of this version."""
    if not is_prepared(directory):
        return False
    return reader.read_manifest(directory).get("version") == version
