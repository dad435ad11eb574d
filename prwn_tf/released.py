"""What a release brings beside its code: flagfiles, and trained models by name.

In a checkout they lie where they are made. setup.py copies them into the wheel, under
the same names. It runs this file alone, so this file imports nothing of the package.
"""

import os
import pathlib
from collections.abc import Iterator

# Name -> folder in the checkout, of a run or of an export. A new model is a line here.
MODELS = {
    "omniglot-prwn": "results/omniglot/prwn",
    "photos-conv4": "results/photos/conv4",
    "photos-resnet": "results/photos/resnet",
}
FLAGFILES = "flags"
OWN_PHOTOS = "results/own_photos/table.csv"  # what photographs of one's own teach
INSTALLED = "released_files"  # where the wheel has them, inside of the package
_HERE = pathlib.Path(__file__).parent
_ROOT = _HERE / INSTALLED if (_HERE / INSTALLED).is_dir() else _HERE.parent
# What programs leave in a folder that is not part of a release.
_LEFT_BEHIND = (
    "tensorboard",
    "events.",
    "projector",
    "evaluation",
    "episodes.csv",
    "analysis",
    ".",
)


def model(name: str | os.PathLike) -> pathlib.Path:
    """Returns the folder of a released model; of any other name, the path itself."""
    path = pathlib.Path(name)
    released = MODELS.get(str(name))
    return _ROOT / released if released and not path.exists() else path


def is_ours(name: str | os.PathLike) -> bool:
    """Returns whether a name is a released model's, whose folder is the package's."""
    return model(name) != pathlib.Path(name)


def flagfile(name: str) -> str:
    """Returns the path of a flagfile: the reader's own, or else the released one."""
    own = os.path.expanduser(name)
    if not os.path.exists(own):
        for path in (_ROOT / FLAGFILES / name, _ROOT / name):
            if path.is_file() and path.suffix == ".flags":
                return str(path)
    return own


def own_photos() -> pathlib.Path:
    """Returns the table of what photographs of one's own teach."""
    return _ROOT / OWN_PHOTOS


def files(root: pathlib.Path) -> Iterator[pathlib.Path]:
    """Yields what a wheel carries, as paths below the root of the checkout."""
    yield from sorted((root / FLAGFILES).rglob("*.flags"))
    yield root / OWN_PHOTOS
    for folder in MODELS.values():
        for path in sorted((root / folder).rglob("*")):
            name = path.relative_to(root / folder).as_posix()
            if path.is_file() and not name.startswith(_LEFT_BEHIND):
                yield path
