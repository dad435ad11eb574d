"""A setting is declared once: its check, its flag and the flag's help follow."""

import dataclasses
import pathlib
import shutil
import subprocess
import sys
from typing import ClassVar

import pytest

from prwn_tf import settings
from prwn_tf.errors import UserError
from prwn_tf.settings import Interval, Term, setting

PACKAGE = pathlib.Path(__file__).parents[1] / "prwn_tf"


@pytest.mark.parametrize(
    ("text", "inside", "outside"),
    [
        ("[0, 1)", [0, 0.5], [-0.1, 1, float("nan")]),
        ("(0, 1]", [0.1, 1], [0, 1.1]),
        ("[2, inf)", [2, 1e30], [1.9, float("inf"), float("-inf")]),
    ],
)
def test_intervals(text, inside, outside):
    interval = Interval(text)
    assert all(value in interval for value in inside)
    assert not any(value in interval for value in outside)


@pytest.mark.parametrize(
    ("text", "value", "demand"),
    [
        ("[0, 1)", 2, "in [0, 1)"),
        ("[0, inf)", -1, ">= 0"),
        ("(0, inf)", 0, "positive"),
        ("(0, inf)", float("inf"), "finite"),
        ("[2, inf)", 1, "at least 2"),
        ("[1, 2147483647]", 0, "at least 1"),
        ("[1, 2147483647]", 2**31, "at most 2147483647"),
    ],
)
def test_what_a_range_demands(text, value, demand):
    assert Interval(text).demand(value) == demand


@dataclasses.dataclass(frozen=True)
class FogConfig(Term):
    """A term that nobody knows."""

    name: ClassVar = "fog"

    weight: float = setting(1.0, "Weight of the fog.", "[0, inf)")
    kind: str = setting("thin", "What fog.", ("thin", "thick"))
    days: tuple[int, ...] = setting((), "When.", "[1, 7]", flag="foggy_days")
    unseen: int = 3


def test_flags_are_named_after_part_and_field():
    assert list(FogConfig.flags()) == ["fog_weight", "fog_kind", "foggy_days"]
    kinds = {f.name: settings.kind(FogConfig, f) for f in FogConfig.flags().values()}
    assert kinds == {"weight": float, "kind": str, "days": tuple[int, ...]}


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"weight": -1.0}, "fog_weight must be >= 0, got -1.0"),
        ({"kind": "red"}, "fog_kind must be thin or thick, got red"),
        ({"days": (1, 8)}, r"foggy_days must be in \[1, 7\], got 8"),
    ],
)
def test_values_are_checked(values, message):
    with pytest.raises(UserError, match=message):
        FogConfig(**values)


TERM = '''

@dataclasses.dataclass(frozen=True)
class FogConfig(Term):
    """A term that a test adds."""

    name: ClassVar = "fog"
    implementation: ClassVar = "prwn_tf.regularizers.fog:Fog"

    weight: float = setting(0.25, "Weight of the fog in the loss.", "[0, 2]")
    depth: int = setting(3, "How deep the fog is.", "[1, 9]")
'''
SHOW = """
import sys
from absl import flags
from prwn_tf import train
from prwn_tf.cli import read
flags.FLAGS(["train", *sys.argv[1:]])
print(read.train_config().fog)
"""


def test_a_new_term_takes_two_edits(tmp_path):
    """Its settings in parts.py, and a field of `TrainConfig`."""
    shutil.copytree(PACKAGE, tmp_path / "prwn_tf")
    parts, config = (tmp_path / "prwn_tf" / name for name in ("parts.py", "config.py"))
    parts.write_text(parts.read_text() + TERM)
    before = "    walk: WalkConfig = part(WalkConfig)\n"
    text = config.read_text().replace(
        "    EntropyConfig,\n", "    EntropyConfig,\n    FogConfig,\n", 1
    )
    assert text.count(before) == 1
    config.write_text(
        text.replace(before, f"{before}    fog: FogConfig = part(FogConfig)\n")
    )

    def run(*arguments: str) -> subprocess.CompletedProcess:
        return subprocess.run(
            [sys.executable, *arguments], cwd=tmp_path, capture_output=True, text=True
        )

    told = run("-m", "prwn_tf.train", "--help").stdout
    assert "\n  --fog_weight=0.0         Weight of the fog in the loss.\n" in told
    assert "\n  --fog_depth              How deep the fog is. In [1, 9].\n" in told
    assert run("-c", SHOW).stdout == "FogConfig(weight=0.0, depth=3)\n"
    shown = run("-c", SHOW, "--regularizers=walk,fog", "--fog_depth=2").stdout
    assert shown == "FogConfig(weight=0.25, depth=2)\n"
    assert (
        run("-c", SHOW, "--fog_weight=1").stdout == "FogConfig(weight=1.0, depth=3)\n"
    )
    refused = run("-m", "prwn_tf.train", "--fog_weight=3")
    assert (refused.returncode, refused.stderr) == (
        2,
        "error: fog_weight must be in [0, 2], got 3.0\n",
    )
    unused = run("-m", "prwn_tf.train", "--fog_depth=2")
    assert (unused.returncode, "--fog_weight is 0" in unused.stderr) == (2, True)
