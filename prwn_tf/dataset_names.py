"""Names of data sets: a kind, and a name of one's own where one can have several.

omniglot                      a kind of which there is one
folder, folder:pets           images of one's own, as many sets as one likes
tfds:cifar100, tfds:eurosat/rgb   a set of tensorflow-datasets
"""

import re
from collections.abc import Iterable

_WORD = r"[A-Za-z0-9_][A-Za-z0-9_.-]*"
# Kinds of which there can be several -> what may follow the colon.
_OWN_NAMES = {"folder": _WORD, "tfds": rf"{_WORD}(/{_WORD})?(:\d+\.\d+\.\d+)?"}
_ALONE = {"folder"}  # of them, those that are a name by themselves


def kind(dataset: str) -> str:
    """Returns what sort of data set a name stands for: that of folder:pets is folder.

    Raises:
        ValueError: no data set can be called so.
    """
    first, colon, own = dataset.partition(":")
    pattern = _OWN_NAMES.get(first)
    if colon and pattern is None:
        raise ValueError(f"there is only one {first}; leave :{own} out")
    if colon and not re.fullmatch(pattern, own):
        raise ValueError(f"{own!r} is not a name; give letters, digits, - and _")
    if not colon and pattern is not None and first not in _ALONE:
        raise ValueError(f"of which one? give {first}:NAME")
    return first


def in_folder(dataset: str) -> str:
    """Returns what the folder of a prepared data set is called."""
    return re.sub("[:/]", "-", dataset)


def shown(kinds: Iterable[str]) -> str:
    """Returns all names that kinds allow, for messages."""
    texts = []
    for each in kinds:
        texts += [each] if each not in _OWN_NAMES or each in _ALONE else []
        texts += [f"{each}:NAME"] if each in _OWN_NAMES else []
    return "|".join(texts)
