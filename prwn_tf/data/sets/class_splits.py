"""Lists of which class belongs to which split, where a benchmark has fixed them."""

import pathlib

from prwn_tf.data import tables
from prwn_tf.data.store.reader import SPLITS
from prwn_tf.errors import UserError

# Bertinetto et al., "Meta-learning with differentiable closed-form solvers", ICLR 2019,
# and Oreshkin et al., "TADAM: task dependent adaptive metric for improved few-shot
# learning", NeurIPS 2018: two ways to divide the classes of CIFAR-100.
SHIPPED = ("cifar_fs", "fc100")
HELP = (
    f"One of {', '.join(SHIPPED)}, or a csv file with the columns split (train, val, "
    "test) and class. Classes that are not in it are left out."
)
_FOLDER = pathlib.Path(__file__).with_name("splits")


def read(name: str) -> dict[str, str]:
    """Returns the split of each class in a list: class -> split.

    Args:
        name: one of those shipped, or the path of a csv file.
    """
    shipped = name in SHIPPED
    path = _FOLDER / f"{name}.csv" if shipped else pathlib.Path(name).expanduser()
    flag, split_of = f"--class_splits={name}", {}
    remedy = f"csv file, or one of {', '.join(SHIPPED)}"
    for line, (split, label) in tables.rows(path, flag, ("split", "class"), remedy):
        if split not in SPLITS or not label:
            raise UserError(
                f"line {line} of {flag} must have one of "
                f"{', '.join(SPLITS)} and a class, and has {split!r} and {label!r}"
            )
        if label in split_of:
            raise UserError(
                f"{flag} has the class {label!r} twice; a class belongs to one split"
            )
        split_of[label] = split
    return split_of
