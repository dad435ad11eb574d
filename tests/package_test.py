"""What the package says of itself is the same everywhere."""

import pathlib
import re

import prwn_tf

ROOT = pathlib.Path(__file__).parents[1]


def first(pattern: str, name: str) -> str:
    """Returns what a pattern finds first in a file of the project."""
    return re.search(pattern, (ROOT / name).read_text(), re.MULTILINE).group(1)


def test_the_version_is_one():
    version = prwn_tf.__version__
    assert first(r"^version: (.+)$", "CITATION.cff") == version
    assert first(r"^## (\S+),", "CHANGELOG.md") == version


def test_the_licence_is_one():
    assert first(r"^license: (.+)$", "CITATION.cff") == "Apache-2.0"
    assert first(r'license="(.+)"', "setup.py") == "Apache-2.0"
    assert "Apache License" in first(r"^\s+(.+)$", "LICENSE")
