"""A model and folders of images, for all tests of `predict`."""

import pathlib

import pytest

from tests.cli.predicting import NAMES
from tests.serving import made


@pytest.fixture(scope="session")
def model(tmp_path_factory) -> pathlib.Path:
    """A run as it is released, which `predict` takes as it does an export."""
    return made.write_run(tmp_path_factory.mktemp("model"), calibrated=True)


@pytest.fixture(scope="session")
def folders(tmp_path_factory) -> pathlib.Path:
    """support/, query/ and unlabeled/, in dark ink on white paper."""
    folder = tmp_path_factory.mktemp("folders")
    drawn = {name: 255 - made.drawings(index) for index, name in enumerate(NAMES)}
    made.write_folders(folder / "support", {k: v[:3] for k, v in drawn.items()})
    made.write_folders(folder / "query", {k: v[3:8] for k, v in drawn.items()})
    made.write_folders(folder / "unlabeled", {k: v[8:12] for k, v in drawn.items()})
    return folder
