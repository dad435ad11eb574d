"""The sandbox in which faults are provoked, and the run that nobody disturbed."""

import pathlib
from collections.abc import Iterator

import pytest

from tests.cli import program
from tests.faults.harness import Sandbox


@pytest.fixture(scope="module")
def sandbox(tmp_path_factory) -> Iterator[Sandbox]:
    """Where a module's children run; clean when its last test has ended."""
    sandbox = Sandbox(tmp_path_factory.mktemp("temporary"))
    try:
        yield sandbox
        sandbox.check_clean()
    finally:
        sandbox.close()


@pytest.fixture(scope="session")
def unbroken(tmp_path_factory, data_dir) -> pathlib.Path:
    """The workdir of a run of 12 episodes that nobody disturbed."""
    workdir = tmp_path_factory.mktemp("unbroken") / "run"
    result = program.run("train", *program.quick(workdir, data_dir))
    assert result.returncode == 0, result.stderr
    return workdir
