"""One run, exported and opened once for all tests of serving."""

import pathlib

import numpy as np
import pytest

from prwn_tf.serving import export as export_lib
from prwn_tf.serving import folders, models, predictions
from prwn_tf.serving.classifier import FewShotClassifier
from prwn_tf.serving.gallery import page
from tests.serving import made
from tests.serving.pages import HOSTILE


@pytest.fixture(scope="session")
def workdir(tmp_path_factory) -> pathlib.Path:
    return made.write_run(tmp_path_factory.mktemp("run"))


@pytest.fixture(scope="session")
def exported(workdir, tmp_path_factory) -> pathlib.Path:
    output = tmp_path_factory.mktemp("exported") / "model"
    export_lib.export(workdir, output)
    return output


@pytest.fixture(scope="session")
def model(exported) -> models.ServedModel:
    return models.open_model(exported)


@pytest.fixture(scope="session")
def calibrated_workdir(tmp_path_factory) -> pathlib.Path:
    return made.write_run(tmp_path_factory.mktemp("calibrated"), calibrated=True)


@pytest.fixture(scope="session")
def calibrated(calibrated_workdir) -> models.ServedModel:
    """The same model, with what validation classes say of it."""
    return models.open_model(calibrated_workdir)


@pytest.fixture(scope="session")
def color_model(tmp_path_factory) -> models.ServedModel:
    """A model of 32x32 colour images."""
    path = tmp_path_factory.mktemp("color")
    made.write_run(path, image_shape=(32, 32, 3), dataset="folder")
    return models.open_model(path)


@pytest.fixture(scope="session")
def images():
    """[3, 20, 28, 28, 1]"""
    return np.stack([made.drawings(index) for index in range(3)])


@pytest.fixture(scope="session")
def support(images):
    return np.concatenate(images[:, : made.SHOTS]), np.repeat(made.NAMES, made.SHOTS)


@pytest.fixture(scope="session")
def queries(images):
    return np.concatenate(images[:, 10:])


@pytest.fixture(scope="session")
def unlabeled(images):
    """8 drawings of the classes, and 4 of others."""
    others = np.concatenate([made.drawings(index)[:2] for index in (8, 9)])
    return np.concatenate([*images[:, 5:8], others])[:12]


@pytest.fixture
def fitted(model, support):
    return FewShotClassifier(model).fit(*support)


@pytest.fixture(scope="session")
def shown(calibrated, tmp_path_factory):
    """The page of three classes, one of them with a hostile name, as `predict` does."""
    folder = tmp_path_factory.mktemp("shown")
    names = ("ant", "<b>bee<b>", "cat")
    drawn = {name: 255 - made.drawings(index) for index, name in enumerate(names)}
    made.write_folders(folder / "support", {k: v[:2] for k, v in drawn.items()})
    made.write_folders(folder / "query", {k: v[2:9] for k, v in drawn.items()})
    made.write_folders(folder / "unlabeled", {k: v[9:13] for k, v in drawn.items()})
    (folder / "query" / HOSTILE.replace("/", "_")).write_bytes(b"<html>")
    made_predictions = predictions.predict(
        calibrated,
        folders.support(folder / "support"),
        folders.images(folder / "query", "query"),
        folders.images(folder / "unlabeled", "unlabeled"),
        adapt="filter",
    )
    page.write(folder / "gallery.html", made_predictions, calibrated, HOSTILE)
    return folder / "gallery.html"
