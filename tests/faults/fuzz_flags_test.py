"""Flagfiles of all kinds, read by the programs' own flags in one child process."""

import pathlib

from tests.children import child
from tests.faults import mutation

ROOT = pathlib.Path(__file__).parents[2]
GOOD = b"# a run\n--dataset=glyphs\n--shot=5\n--way=5\n--nocompare\n--halve_at=5,9\n"
ODD = [
    *(b"--", b"-", b"--=", b"--=5", b"==", b"--shot", b"--shot=", b"--shot=five"),
    *(b"--shot=-1", b"--shot=99999999999999999999", b"--noshot", b"--nono", b"--no"),
    *(b"--flagfile", b"--flagfile=", b"--flagfile=/", b"--flagfile=SELF", b"//x"),
    *(b"--flagfile=/nowhere", b"--flagfile=~nobody/x", b"--flagfile=\0", b"extra"),
    *(b"--seed=1e9", b"--seed=99999999999999999999", b"--label_ratio=nan"),
    *(b"--learning_rate=inf", b"--learning_rate=1e999", b"--regularizers=,,"),
    *(b"--undefok=magic", b"--magic", b"--halve_at=", b"--halve_at=x", b"\xff\xfe"),
    *(b"--workdir=\xff", b"--channels=99999999", b"--episodes=99999999999999999999"),
    *(b"--walk_decay=nan", b"--walk_weight=inf", b"--train_way=2", b"--train_shot=1"),
    b"--shot=" + b"9" * 5000,
]
CHILD = """
import contextlib, io, pathlib, random, sys
from absl import app, flags
from prwn_tf import train
from prwn_tf.cli import flagfiles, read
from prwn_tf.errors import UserError
from tests.faults import fuzz_flags_test as case, mutation

path = pathlib.Path(sys.argv[1])
counts = {"good": 0, "usage": 0, "refused": 0}
for number in map(int, sys.argv[2:]):
    flags.FLAGS.unparse_flags()
    for name in flags.FLAGS:
        flags.FLAGS[name].unparse()
    case.write(random.Random(number), path)
    arguments = [f"--flagfile={path}"]
    try:
        with contextlib.redirect_stderr(io.StringIO()):
            flagfiles.check(arguments)
            flags.FLAGS(["train", *arguments])
        read.train_config()
        counts["good"] += 1
    except (SystemExit, flags.Error) as stop:
        assert getattr(stop, "code", 1) == 1, (number, stop)
        counts["usage"] += 1
    except UserError as error:
        assert "\\n" not in str(error), (number, error)
        counts["refused"] += 1
    except BaseException as error:
        raise AssertionError(f"case {number}") from error
print(counts)
"""


def write(chance, path: pathlib.Path) -> None:
    """A damaged flagfile; some include themselves."""
    content = mutation.damaged_lines(chance, GOOD, ODD)
    path.write_bytes(content.replace(b"SELF", bytes(path)))


def test_flagfiles(tmp_path, cases):
    numbers = cases(2000)
    path = tmp_path / "mine.flags"
    done = child.run("-c", CHILD, path, *numbers, cwd=ROOT, check=True)
    counts = eval(done.stdout)
    assert sum(counts.values()) == len(numbers)
    assert min(counts.values()) > 0.01 * len(numbers), counts
