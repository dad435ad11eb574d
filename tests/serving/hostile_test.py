"""Files and arrays that would be served wrongly are refused, with a reason."""

import os
import shutil
import zipfile

import numpy as np
import pytest
import tensorflow as tf

from prwn_tf import files, replacing
from prwn_tf.errors import UserError
from prwn_tf.serving import export as export_lib
from prwn_tf.serving import manifest, models
from prwn_tf.serving.classifier import FewShotClassifier
from prwn_tf.serving.inputs import InputError
from tests.faults import watch
from tests.serving import made

SIZE = 8  # numbers in an embedding of this model
LABELS = ["ant", "ant", "bee"]


@pytest.fixture
def support(model):
    return np.random.default_rng(0).normal(size=(3, model.size)).astype(np.float32)


@pytest.fixture
def arrays(model, support, tmp_path) -> dict[str, np.ndarray]:
    """What a saved classifier holds."""
    path = tmp_path / "first.npz"
    FewShotClassifier(model).fit_embeddings(support, LABELS, support).save(path)
    return dict(np.load(path))


def load(path, model, arrays, save=np.savez):
    save(path, **arrays)
    return FewShotClassifier.load(path, model)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *[(name, np.nan) for name in ("prototypes", "counts", "offsets", "stranger")],
        *[(name, np.inf) for name in ("prototypes", "temperature", "novelty")],
    ],
)
def test_saved_numbers_that_are_not_finite(model, arrays, tmp_path, name, value):
    arrays[name].flat[-1] = value
    with pytest.raises(UserError, match=f"{name} holds numbers that are NaN or inf"):
        load(tmp_path / "a.npz", model, arrays)


@pytest.mark.parametrize("name", ["support", "unlabeled"])
@pytest.mark.parametrize("value", [np.nan, np.inf, 1e300])
def test_embeddings_that_are_not_finite(model, support, name, value):
    given = {"support": support, "unlabeled": support}
    given[name] = np.array(support, np.float64)
    given[name][1, 2] = value
    with pytest.raises(InputError, match=f"{name} must be finite numbers; row 1"):
        FewShotClassifier(model).fit_embeddings(labels=LABELS, **given)


@pytest.mark.parametrize("shape", [(3,), (3, 7), (3, 2, 2), (0, 1)])
def test_embeddings_of_another_size(model, support, shape):
    classifier = FewShotClassifier(model)
    with pytest.raises(InputError, match=rf"support must be .* \[n, {model.size}\]"):
        classifier.fit_embeddings(np.zeros(shape), LABELS)
    classifier.fit_embeddings(support, LABELS)
    with pytest.raises(InputError, match="embeddings must be"):
        classifier.answer(np.zeros(shape))


@pytest.mark.parametrize("kind", [np.float16, np.float64])
def test_saved_numbers_of_another_type(model, arrays, tmp_path, kind):
    rounded = arrays["prototypes"].astype(np.float16)  # exact in all three types
    arrays["prototypes"] = rounded.astype(kind)
    classifier = load(tmp_path / "a.npz", model, arrays)
    assert classifier.prototypes_.dtype == np.float32
    np.testing.assert_array_equal(classifier.prototypes_, rounded)
    assert len(classifier.answer(arrays["prototypes"]).best) == 2


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"prototypes": np.full((2, SIZE), 1 / 3)}, "prototypes of type float64"),
        ({"prototypes": np.zeros((2, SIZE), np.int32)}, "prototypes is of type int32"),
        ({"counts": np.zeros(2, np.float32)}, "counts must be positive"),
        ({"temperature": np.float32(-1)}, "temperature must be positive"),
        ({"classes": np.array([b"ant", b"bee"])}, "of type .S3"),
        ({"classes": np.array(["ant", "ant"])}, "not different texts"),
        ({"classes": np.array(["ant", "\ud800"])}, "not different texts"),
        ({"classes": np.array([1j, 2])}, "of type complex128"),
        ({"more": np.zeros(2)}, "it holds other arrays"),
    ],
    ids=str,
)
def test_saved_arrays_that_cannot_be_used(model, arrays, tmp_path, changes, text):
    with pytest.raises(UserError, match=text):
        load(tmp_path / "a.npz", model, arrays | changes)


def test_a_saved_classifier_that_would_fill_the_memory(model, arrays, tmp_path):
    path = tmp_path / "bomb.npz"
    np.savez_compressed(path, **arrays)
    assert FewShotClassifier.load(path, model).classes_.tolist() == ["ant", "bee"]
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("prototypes.npy", bytes(3 * 10**7))
    with watch.memory_below(2**24), pytest.raises(UserError, match="unpacks to 30,"):
        FewShotClassifier.load(path, model)


def test_a_pipe_is_not_waited_for(model, tmp_path):
    os.mkfifo(tmp_path / "classes.npz")
    with pytest.raises(UserError, match=r"classes.npz is not a file"):
        FewShotClassifier.load(tmp_path / "classes.npz", model)


@pytest.mark.parametrize(
    ("images", "text"),
    [
        (np.zeros((2, 0, 28)), "have no pixels"),
        (np.zeros((2, 28, 0, 3)), "have no pixels"),
        (["a\0b.png"], "image 0 .* cannot be read: embedded null"),
    ],
)
def test_images_without_pixels(model, support, images, text):
    classifier = FewShotClassifier(model).fit_embeddings(support, LABELS)
    with pytest.raises(InputError, match=text):
        classifier.predict(images)


def test_labels_that_are_no_numbers(model, support):
    with pytest.raises(ValueError, match="NaN"):
        FewShotClassifier(model).fit_embeddings(support, [1.0, np.nan, 2.0])


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("size", 0, "preprocess.size must be from 1 to 4096, got 0"),
        ("size", -1, "preprocess.size"),
        ("size", 10**9, "preprocess.size"),
        ("size", 9, "its fingerprint is"),
        ("canvas", 0, "preprocess.canvas"),
        ("channels", 9, "preprocess.channels must be 1 or 3"),
        ("channels", 3, "its fingerprint is"),
        ("embedding_size", 9, "its embedding_size is 9"),
        ("embedding_size", -1, "its embedding_size is -1"),
        ("fingerprint", "abc", "its fingerprint is abc"),
    ],
)
def test_numbers_in_the_manifest_of_an_export(exported, tmp_path, name, value, text):
    folder = shutil.copytree(exported, tmp_path / "model")
    about = files.read_json(folder / manifest.NAME)
    place = about["preprocess"] if name in about["preprocess"] else about
    place[name] = value
    files.write_json(folder / manifest.NAME, about)
    with pytest.raises(UserError, match=text):
        models.open_model(folder)


@pytest.mark.parametrize(
    ("place", "change", "text"),
    [
        ("fits", {"shot": 0}, "fits.shot must be at least 1, got 0"),
        ("fits", {"shot": -1}, "fits.shot must be at least 1, got -1"),
        ("fits", {"shot": 2**31}, "fits.shot must be at most"),
        ("fits", {"temperature": -1.0}, "fits.temperature must be at least"),
        ("fits", {"temperature": 1e-300}, "fits.temperature must be at least"),
        ("fits", {"temperature": float("nan")}, "fits.temperature should be of type"),
        ("fits", {"gain": float("inf")}, "fits.gain must be finite, got inf"),
        ("fits", {"adapt": "best"}, "fits.adapt must be none, refine, filter or gate"),
        ("novelties", {"shot": 0}, "novelties.shot must be at least 1, got 0"),
        ("novelties", {"bias": -1e99}, "novelties.bias must be at least"),
        ("spec", {"way": 1}, "way must be at least 2, got 1"),
        ("fits", None, "fits must hold a fit, found none"),
    ],
    ids=str,
)
def test_calibrations_in_the_manifest_of_an_export(
    exported, tmp_path, place, change, text
):
    folder = shutil.copytree(exported, tmp_path / "model")
    about = files.read_json(folder / manifest.NAME)
    about["calibration"] = made.calibration().to_dict()
    part = about["calibration"][place]
    if change is None:
        about["calibration"][place] = []
    else:
        (part if place == "spec" else part[0]).update(change)
    files.write_json(folder / manifest.NAME, about)
    with pytest.raises(UserError, match=f"{manifest.NAME}: .*{text}.*export the run"):
        models.open_model(folder)


@pytest.mark.parametrize(
    "changes",
    [{"accuracy": "0.5"}, {"accuracy": float("nan")}, {"accuracy": 7.0}, {"way": None}],
)
def test_odd_results_are_noticed_before_the_export(workdir, tmp_path, changes):
    run = shutil.copytree(workdir, tmp_path / "run")
    row = {"adapt": "none", "way": 5, "shot": 1, "accuracy": made.ACCURACY}
    files.write_json(run / "result.json", {"test": [row | changes]})
    with pytest.raises(UserError, match=r"result.json holds no test rows with"):
        export_lib.export(run, tmp_path / "model")
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_an_export_that_is_replaced_while_it_is_opened(exported, tmp_path, monkeypatch):
    folder, other = tmp_path / "model", tmp_path / "other"
    for each in (folder, other):
        shutil.copytree(exported, each)
    about = files.read_json(folder / manifest.NAME)
    files.write_json(folder / manifest.NAME, about | {"fingerprint": "of another"})
    load = tf.saved_model.load

    def replace_and_load(path):
        if other.exists():
            replacing.replace(other, folder)
        return load(path)

    monkeypatch.setattr(tf.saved_model, "load", replace_and_load)
    assert models.open_export(folder).fingerprint == about["fingerprint"]
    assert not other.exists()
