"""Labels in a table instead of folders: `corrected.csv` of the gallery, or one's own.

file,label
IMG_0001.jpg,cat
holidays/IMG_0002.jpg,dog
"""

import contextlib
import os
import pathlib
from collections import defaultdict
from collections.abc import Collection, Mapping

from prwn_tf.data import tables, tree
from prwn_tf.errors import UserError

COLUMNS = ("file", "label")
UNPRINTABLE = {"\ufffd", "\\"}  # what stands for bytes and codes in names of ours


def read(path: pathlib.Path, flag: str) -> dict[str, str]:
    """Returns the label of each file that has one: file -> label.

    As in all tables of ours, a `'` before a name only keeps spreadsheets from taking it
    for a formula.
    """
    labels: dict[str, str] = {}
    for line, cells in tables.rows(path, flag, COLUMNS):
        file, label = (tree.plain(cell.removeprefix("'")) for cell in cells)
        if not file:
            raise UserError(f"line {line} of {flag} names no file; give it one")
        file = os.path.normpath(file)  # ./a.png is a.png
        if label and labels.setdefault(file, label) != label:
            raise UserError(
                f"{flag} has two labels for {file!r}, {labels[file]!r} and {label!r}; "
                "leave one of them"
            )
    if not labels:
        raise UserError(f"{flag} has no file with a label; give it some")
    return labels


def by_class(
    labels: Mapping[str, str], root: str | os.PathLike, flag: str, remedy: str
) -> dict[str, list[str]]:
    """Returns the files of each class, sorted: label -> paths.

    Args:
        root: the folder that names start from.
        flag: what the user wrote, for messages.
        remedy: how another folder is given.
    """
    root = os.path.abspath(root)
    path_of = {file: os.path.join(root, file) for file in labels}
    lost = [file for file, path in path_of.items() if not os.path.isfile(path)]
    if any(UNPRINTABLE & set(file) for file in lost):
        path_of |= _told_as_text(root, lost)
    missing = [path_of[file] for file in lost if not os.path.isfile(path_of[file])]
    paths: dict[str, list[str]] = defaultdict(list)
    for file, label in sorted(labels.items()):
        paths[label].append(path_of[file])
    if missing:
        raise UserError(
            f"{len(missing)} of the {len(labels)} files in {flag} are not there: "
            f"{tree.listed(missing)}; {remedy}"
        )
    return dict(sorted(paths.items()))


def _told_as_text(root: str, names: Collection[str]) -> dict[str, str]:
    """Returns the paths of images that tables of ours call by some names.

    These are not the files' own where bytes are no text, or codes of a terminal.
    """
    wanted, found = set(names), {}
    with contextlib.suppress(UserError):  # of a folder that is gone or locked
        for folder in tree.walk(pathlib.Path(root)):
            for path in folder.image_paths():
                name = tree.shown(os.path.relpath(path, root))
                if name in wanted:
                    found[name] = path
    return found
