"""Every flagfile is a valid run, headed by its command and the published number.

Models for people (flags/photos) have no published number.
"""

import pathlib
import re

import pytest

from tests.children import child

ROOT = pathlib.Path(__file__).parents[1]
FILES = sorted((ROOT / "flags").rglob("*.flags"))


def test_there_are_flagfiles():
    assert {path.parent.name for path in FILES} >= {"omniglot", "mini", "tiered"}


@pytest.mark.parametrize(
    "path", FILES, ids=lambda path: path.relative_to(ROOT / "flags").as_posix()
)
def test_header(path):
    text = path.read_text(encoding="utf-8")
    name = path.relative_to(ROOT).as_posix()
    assert f"python -m prwn_tf.train --flagfile={name} --workdir=" in text
    published = re.search(r"^# Published: \d\d\.\d+", text, re.MULTILINE)
    assert published or path.parent.name == "photos"


PROGRAM = """
import sys
from absl import flags
from prwn_tf import train
from prwn_tf.cli import read
for path in sys.argv[1:]:
    flags.FLAGS.unparse_flags()
    for name in flags.FLAGS:
        flags.FLAGS[name].unparse()
    flags.FLAGS(["train", f"--flagfile={path}"])
    config = read.train_config()
    test = config.test
    print(path, config.dataset, config.method, test.shot, test.distractors)
"""


def test_all_flagfiles_give_a_config():
    found = child.run("-c", PROGRAM, *FILES, check=True)
    lines = found.stdout.splitlines()
    assert len(lines) == len(FILES)
    for path, line in zip(FILES, lines, strict=True):
        _, dataset, _, shot, distractors = line.split()
        if path.parent.name == "photos":
            continue
        assert dataset == path.relative_to(ROOT / "flags").parts[0]
        assert ("distractors" in path.stem) == (distractors == "5")
        if path.parent.name == "short" and "shot" not in path.stem:
            assert shot == "5"  # one training for both
        else:
            assert dataset == "omniglot" or f"_{shot}shot" in path.stem
