"""The data sets by name: where each lies when prepared, and how to prepare it."""

import pathlib
from collections.abc import Callable

from prwn_tf.data import glyphs, omniglot, store
from prwn_tf.errors import UserError

Builder = Callable[[pathlib.Path, pathlib.Path | None], None]

# Data set -> what makes its folder from a source.
BUILDERS: dict[str, Builder] = {
    "glyphs": lambda directory, unused_source: glyphs.build(directory),
    "omniglot": lambda directory, source: omniglot.build(directory, source=source),
}


def location(name: str, data_dir: pathlib.Path) -> pathlib.Path:
    """The folder of a prepared data set."""
    return data_dir / name


def prepare(name: str, data_dir: pathlib.Path, source: pathlib.Path | None) -> None:
    """Builds a data set from raw files, or draws it."""
    BUILDERS[name](location(name, data_dir), source)


def open_prepared(name: str, data_dir: pathlib.Path) -> dict[str, store.ClassStore]:
    """The splits of a data set; glyphs are drawn on first use."""
    directory = location(name, data_dir)
    if name == "glyphs" and not _drawn(directory):
        print(f"drawing the glyphs data set into {directory} (once)")
        glyphs.build(directory)
    if not (directory / store.MANIFEST).exists():
        raise UserError(
            f"data set {name} is not prepared in {data_dir}; run: python -m "
            f"prwn_tf.prepare --dataset={name} --source=PATH --data_dir={data_dir}"
        )
    return store.open_dataset(directory)


def _drawn(directory: pathlib.Path) -> bool:
    """Whether the glyphs are there, and of this version."""
    if not (directory / store.MANIFEST).exists():
        return False
    return store.read_manifest(directory).get("version") == glyphs.VERSION
