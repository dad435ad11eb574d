"""One finished run for all tests of programs that look into runs."""

import pathlib

import pytest

from tests.cli import program


@pytest.fixture(scope="session")
def finished(tmp_path_factory, data_dir) -> pathlib.Path:
    """The workdir of a run of a few seconds on glyphs."""
    path = tmp_path_factory.mktemp("finished") / "prwn"
    result = program.run("train", *program.quick(path, data_dir))
    assert result.returncode == 0, result.stderr
    return path
