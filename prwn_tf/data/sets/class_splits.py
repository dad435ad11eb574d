"""Lists of which class belongs to which split, where a benchmark has fixed them."""

import csv
import pathlib

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
MAX_BYTES = 2**24


def read(name: str) -> dict[str, str]:
    """Returns the split of each class in a list: class -> split.

    Args:
        name: one of those shipped, or the path of a csv file.
    """
    shipped = name in SHIPPED
    path = _FOLDER / f"{name}.csv" if shipped else pathlib.Path(name).expanduser()
    try:
        if path.stat().st_size > MAX_BYTES:
            raise UserError(f"--class_splits={name} is too large for a list of classes")
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise UserError(
            f"cannot read --class_splits={name}: {error.strerror}; give a csv file, or "
            f"one of {', '.join(SHIPPED)}"
        ) from error
    except UnicodeDecodeError as error:
        raise UserError(f"--class_splits={name} is not text; save it as csv") from error
    split_of: dict[str, str] = {}
    rows = csv.DictReader(text.splitlines())
    if not {"split", "class"} <= set(rows.fieldnames or ()):
        raise UserError(
            f"--class_splits={name} must begin with the line split,class, and begins "
            f"with {text.partition(chr(10))[0][:80]!r}"
        )
    for row in rows:
        split, label = row["split"], row["class"]
        if split not in SPLITS or not label:
            raise UserError(
                f"line {rows.line_num} of --class_splits={name} must have one of "
                f"{', '.join(SPLITS)} and a class, and has {split!r} and {label!r}"
            )
        if label in split_of:
            raise UserError(
                f"--class_splits={name} has the class {label!r} twice; a class belongs "
                "to one split"
            )
        split_of[label] = split
    return split_of
