"""Exports for other programs: classes by name, LiteRT and ONNX files."""

import dataclasses
import pathlib
import shutil
import subprocess
import sys

import numpy as np
import pytest
import tensorflow as tf

from prwn_tf import files
from prwn_tf.data import catalog
from prwn_tf.errors import UserError
from prwn_tf.serving import answers, converting, quantized
from prwn_tf.serving import export as export_lib
from prwn_tf.serving.answers import NamedClasses
from prwn_tf.serving.classifier import FewShotClassifier
from prwn_tf.training import provenance
from prwn_tf.training.workdir import Workdir
from tests.cli import program
from tests.serving import made

NAMES = ("ant", "bée", "cat")


@pytest.fixture(scope="module")
def fitted(calibrated, tmp_path_factory) -> tuple[FewShotClassifier, pathlib.Path]:
    """A classifier of three classes, and its file."""
    images = [made.drawings(index)[0] for index in range(3)]
    classifier = FewShotClassifier(calibrated).fit(images, NAMES)
    path = tmp_path_factory.mktemp("fitted") / "classes.npz"
    classifier.save(path)
    return classifier, path


@pytest.fixture(scope="module")
def served(calibrated, fitted, tmp_path_factory) -> pathlib.Path:
    """The folder that a server is given."""
    folder = tmp_path_factory.mktemp("served") / "things" / "1"
    export_lib.write(calibrated, folder, export_lib.saved_model(fitted[1]))
    return folder


def encoded() -> list[bytes]:
    return [made.png(255 - made.drawings(index)[5]) for index in range(4)]


def test_files_are_answered_with_names(served, fitted):
    classifier, _ = fitted
    call = tf.saved_model.load(str(served)).signatures["serving_default"]
    answer = {name: value.numpy() for name, value in call(contents=encoded()).items()}
    assert sorted(answer) == ["label", "names", "none_of_these", "probabilities"]
    names = [[name.decode() for name in row] for row in answer["names"]]
    assert names == [list(NAMES)] * 4
    labels = [label.decode() for label in answer["label"]]
    assert labels == classifier.predict(encoded()).tolist()
    expected = classifier.predict_proba(encoded())
    np.testing.assert_allclose(answer["probabilities"], expected, atol=1e-5)
    expected = classifier.novelty(encoded())
    np.testing.assert_allclose(answer["none_of_these"], expected, atol=1e-5)
    assert files.read_json(served / "manifest.json")["classes"] == list(NAMES)


def test_of_what_is_not_known_nothing_is_said(fitted):
    served = fitted[0].served_
    unknown = served._replace(novelty=np.full(4, np.nan, np.float32))
    for classes, known in ((served, True), (unknown, False)):
        named = NamedClasses(list(NAMES), classes)
        answer = answers.classify_by_name(named, served.prototypes)
        assert ("none_of_these" in answer) == known
        assert answer["label"].numpy().tolist() == [name.encode() for name in NAMES]


@pytest.mark.slow
def test_the_recipe_for_a_server(served, fitted, tmp_path):
    # What a server reads of {"b64": ...} is what the tool is given as an array.
    np.save(tmp_path / "contents.npy", np.array(encoded()))
    tool = "tensorflow.python.tools.saved_model_cli"
    flags = ["--tag_set=serve", "--signature_def=serving_default", "--overwrite"]
    flags += [f"--dir={served}", f"--inputs=contents={tmp_path / 'contents.npy'}"]
    subprocess.run(
        [sys.executable, "-m", tool, "run", *flags, f"--outdir={tmp_path}"],
        check=True,
        capture_output=True,
    )
    labels = np.load(tmp_path / "label.npy", allow_pickle=True)  # of our own making
    labels = [label.decode() for label in labels]
    assert labels == fitted[0].predict(encoded()).tolist()
    none = np.load(tmp_path / "none_of_these.npy")
    np.testing.assert_allclose(none, fitted[0].novelty(encoded()), atol=1e-5)


@pytest.mark.parametrize(
    ("flags", "text"),
    [
        (
            ["--classes=/none.npz"],
            "--classes=/none.npz is not a file; give classes.npz",
        ),
        (["--format=onnx", "--classes=c.npz"], "--classes does not apply to"),
        (
            ["--batch=2"],
            "--batch does not apply to --format=saved_model, only to litert",
        ),
        (["--format=onnx", "--representative=x"], "only to litert; leave it out"),
        (
            ["--format=litert", "--representative=/none"],
            "representative=/none does not",
        ),
    ],
)
def test_flags_that_do_not_fit(workdir, tmp_path, flags, text):
    flags = [f"--workdir={workdir}", f"--output={tmp_path / 'out'}", *flags]
    program.assert_one_line(program.run("export", *flags), 2, text)


@pytest.mark.parametrize(
    ("module", "draft", "text"),
    [
        (
            "ai_edge_litert.interpreter",
            lambda: converting.litert(1, None, None),
            "litert",
        ),
        ("tf2onnx", lambda: converting.onnx(1), "onnx"),
    ],
)
def test_packages_that_are_not_installed(monkeypatch, module, draft, text):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(UserError, match=rf"pip install 'prwn_tf\[{text}\]'"):
        draft()


def test_a_network_is_verified(color_model):
    def exact(images: np.ndarray) -> np.ndarray:
        return color_model.embed(images)

    assert converting.verified(color_model, "x", exact) == {"error": 0}
    with pytest.raises(UserError, match="x does not compute what the model does"):
        converting.verified(color_model, "x", lambda images: 1.001 * exact(images))
    with pytest.raises(UserError, match="differ by nan"):
        converting.verified(color_model, "x", lambda images: np.nan * exact(images))


def test_accuracy_before_and_after(calibrated, data_dir, tmp_path):
    run = Workdir(calibrated.path)
    compare = quantized.comparison(run, data_dir)
    measured = compare(calibrated, calibrated.embed)
    assert measured["dataset"] == "glyphs"
    assert measured["before"] == measured["after"] > 0.3
    spoiled = compare(calibrated, lambda images: np.zeros((len(images), 8)))
    assert spoiled["after"] == pytest.approx(0.2)  # all alike: the first of five
    untrained = run.load_config()
    for source, place in ((run, tmp_path), (untrained, data_dir)):
        compare = quantized.comparison(source, place)
        assert compare(calibrated, calibrated.embed) == {}


def test_nothing_is_measured_on_other_data(
    calibrated, color_model, data_dir, make_store, tmp_path
):
    run = Workdir(shutil.copytree(calibrated.path, tmp_path / "run"))
    config = run.load_config()
    known = provenance.of(config, catalog.open_prepared("glyphs", data_dir))
    for sha256 in (known.sha256, "of others"):
        is_of = dataclasses.replace(known, sha256=sha256)
        files.write_json(run.path / "data.json", dataclasses.asdict(is_of))
        measured = quantized.comparison(run, data_dir)(calibrated, calibrated.embed)
        assert bool(measured) == (sha256 == known.sha256)
    make_store([6, 6, 6], shape=(16, 16, 3), name="folder")
    given_away = Workdir(color_model.path)  # with images of 32 pixels
    compare = quantized.comparison(given_away, tmp_path)
    assert compare(color_model, color_model.embed) == {}


def test_eight_bits_that_are_too_coarse_are_refused():
    images = np.linspace(0, 255, 20).reshape(5, 4)

    def steps(size):
        return lambda points: size * np.round(points / size)

    assert converting.rounded(steps(1e-9), steps(2), images) < 0.005
    with pytest.raises(UserError, match=r"differ by 0\..* images like those to come"):
        converting.rounded(steps(1e-9), steps(100), images)


def test_a_network_makes_an_embedding_of_each_image():
    images = np.arange(5.0).reshape(5, 1, 1, 1)
    network = converting.in_batches(lambda batch: batch[:, 0, 0], 2)
    assert network(images).ravel().tolist() == [0, 1, 2, 3, 4]
    quarters = converting.in_batches(lambda batch: np.repeat(batch, 4, axis=0), 2)
    with pytest.raises(UserError, match=r"makes 8 embeddings of 2 images \(1, 1, 1\)"):
        quarters(images)


@pytest.mark.slow
def test_litert_files(workdir, data_dir, tmp_path):
    interpreter = pytest.importorskip("ai_edge_litert.interpreter")
    drawn = {name: made.drawings(index)[:4] for index, name in enumerate(NAMES)}
    images = made.write_folders(tmp_path / "images", drawn)
    result = program.run_fresh(
        *("export", f"--workdir={workdir}", f"--output={tmp_path / 'phone'}"),
        *("--format=litert", "--batch=2", f"--representative={images}"),
        f"--data_dir={data_dir}",
    )
    assert result.returncode == 0, result.stderr
    assert "images: float32 [2, 28, 28, 1], 0 to 255, bright ink" in result.stdout
    assert "int8: " in result.stdout
    model = FewShotClassifier(workdir)
    pixels = np.concatenate([made.drawings(5)[:2], made.drawings(6)[:2]])
    expected = model.transform(pixels)
    scale = np.abs(expected).max()
    for name, tolerance in {"model.tflite": 1e-4, "model_int8.tflite": 0.1}.items():
        loaded = interpreter.Interpreter(str(tmp_path / "phone" / name))
        run = loaded.get_signature_runner("serving_default")
        for part in (slice(0, 2), slice(2, 4)):
            actual = run(images=pixels[part].astype(np.float32))["embeddings"]
            np.testing.assert_allclose(actual, expected[part], atol=tolerance * scale)


@pytest.mark.slow
def test_onnx_files(workdir, tmp_path):
    runtime = pytest.importorskip("onnxruntime")
    pytest.importorskip("onnx")
    output = tmp_path / "out"
    flags = [f"--workdir={workdir}", f"--output={output}", "--format=onnx"]
    result = program.run_fresh("export", *flags)
    assert result.returncode == 0, result.stderr
    assert "verified: embeddings differ by" in result.stdout
    pixels = made.drawings(5)[:1]
    session = runtime.InferenceSession(str(output / "model.onnx"))
    [actual] = session.run(["embeddings"], {"images": pixels.astype(np.float32)})
    expected = FewShotClassifier(workdir).transform(pixels)
    np.testing.assert_allclose(actual, expected, atol=1e-4 * np.abs(expected).max())
    # It is replaced like any export of ours, also by one of another format.
    result = program.run("export", *flags[:2])
    assert result.returncode == 0, result.stderr
    assert not (output / "model.onnx").exists()
