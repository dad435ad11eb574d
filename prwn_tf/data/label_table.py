"""Labels in a table instead of folders: `corrected.csv` of the gallery, or one's own.

file,label
IMG_0001.jpg,cat
holidays/IMG_0002.jpg,dog
"""

import os
import pathlib
from collections import defaultdict
from collections.abc import Mapping

from prwn_tf.data import tables, tree
from prwn_tf.errors import UserError

COLUMNS = ("file", "label")


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
    paths: dict[str, list[str]] = defaultdict(list)
    for file, label in sorted(labels.items()):
        paths[label].append(os.path.join(os.path.abspath(root), file))
    missing = [
        path for some in paths.values() for path in some if not os.path.isfile(path)
    ]
    if missing:
        raise UserError(
            f"{len(missing)} of the {len(labels)} files in {flag} are not there: "
            f"{tree.listed(missing)}; {remedy}"
        )
    return dict(sorted(paths.items()))
