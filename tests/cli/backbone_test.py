"""A network of Keras by its name: trained, killed, resumed, exported, asked at once."""

import csv
import json
import pathlib
import shutil

import numpy as np
import pytest

from prwn_tf import backbones, build, files, runs
from prwn_tf.backbones import BackboneConfig
from prwn_tf.encoders.backbone import Backbone
from prwn_tf.errors import UserError
from prwn_tf.serving.classifier import FewShotClassifier
from prwn_tf.training import loop
from prwn_tf.training.workdir import Workdir
from tests.children import child
from tests.cli import program
from tests.faults import harness
from tests.serving import made
from tests.small import make_config, make_episode

SMALL = "keras:MobileNetV3Small"
NAMES = ("ant", "cat")
STEPS = {"episodes": 4, "checkpoint_every": 2, "validate_every": 4}


def ended(*arguments, code=0, **how):
    """Runs a program to an end of that code."""
    result = child.run(*arguments, **how)
    assert result.returncode == code, result.stderr
    return result


def training(workdir, data_dir, **changes) -> list[str]:
    encoder = {"encoder": SMALL, "encoder_weights": "none"}
    return program.quick(workdir, data_dir, **STEPS | encoder | changes)


@pytest.fixture(scope="module")
def weights(tmp_path_factory) -> pathlib.Path:
    """Weights of the small network that tell colours apart, as far as drawn ones do."""
    encoder = Backbone(SMALL, BackboneConfig("none"), seed=1)
    encoder.build((None, 32, 32, 3))
    noise = np.random.default_rng(0).random((64, 32, 32, 3), np.float32)
    shades = np.linspace(0, 1, 64, dtype=np.float32)[:, None, None, None]
    for layer in encoder.network.layers:
        layer.momentum = 0.5  # of batch norm, so that its averages are soon true
    for _ in range(10):
        encoder(noise * shades, training=True)
    path = tmp_path_factory.mktemp("weights") / "photos.weights.h5"
    encoder.network.save_weights(path)
    return path


@pytest.fixture(scope="module")
def run(tmp_path_factory, data_dir, weights) -> pathlib.Path:
    """A run of four steps that began with a file, which is gone by now."""
    folder = tmp_path_factory.mktemp("run")
    mine = shutil.copy(weights, folder / "mine.weights.h5")
    changes = {"encoder_weights": mine, "encoder_trainable": "last:2"}
    ended("-m", "prwn_tf.train", *training(folder / "unbroken", data_dir, **changes))
    mine.unlink()
    return folder / "unbroken"


@pytest.fixture(scope="module")
def photographs(tmp_path_factory) -> pathlib.Path:
    """support/ and query/: photographs of something dark, and of something bright."""
    folder = tmp_path_factory.mktemp("photographs")
    random = np.random.default_rng(0)
    pictures = {
        name: (random.random((5, 40, 40, 3)) * 60 + 190 * place).astype(np.uint8)
        for place, name in enumerate(NAMES)
    }
    made.write_folders(folder / "support", {k: v[:2] for k, v in pictures.items()})
    made.write_folders(folder / "query", {k: v[2:] for k, v in pictures.items()})
    return folder


def rows(path: pathlib.Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def labels(path: pathlib.Path) -> list[bool]:
    """Whether each query has the label of its folder."""
    return [row["file"].startswith(row["label"]) for row in rows(path)]


def differing(start: Backbone, run: pathlib.Path) -> int:
    """Counts the arrays of an encoder that a run has changed."""
    trained = runs.load_model(Workdir(run)).model.encoder
    pairs = zip(start.get_weights(), trained.get_weights(), strict=True)
    return sum(bool((one != other).any()) for one, other in pairs)


@pytest.mark.slow
def test_a_run_learns_what_it_may(run, weights):
    config = json.loads((run / "config.json").read_text())
    assert config["encoder"] == SMALL
    mine = str(run.with_name("mine.weights.h5"))
    expected = {"weights": mine, "trainable": "last:2", "size": 0}
    assert config["backbone"] == expected
    start = Backbone(SMALL, BackboneConfig(str(weights)))
    start.build((None, 28, 28, 1))
    start.initialize()
    assert differing(start, run) == 5  # a kernel, and of a batch norm all


@pytest.mark.slow
def test_it_goes_on_to_the_same_bits_without_the_file(run, tmp_path, data_dir):
    harness.as_if_killed(run, tmp_path / "killed", 2)
    mine = run.with_name("mine.weights.h5")
    changes = {"encoder_weights": mine, "encoder_trainable": "last:2"}
    flags = training(tmp_path / "killed", data_dir, **changes)
    assert "at step 2" in ended("-m", "prwn_tf.train", *flags).stdout
    expected, actual = (harness.weights(path, 4) for path in (run, tmp_path / "killed"))
    assert actual == expected


@pytest.mark.slow
def test_all_of_a_drawn_network_learns():
    backbone = BackboneConfig("none")
    config = make_config("pn", "off", encoder=SMALL, backbone=backbone)
    model = build.trainable_model(build.resolved(config))
    before = model.encoder.get_weights()
    loop.compiled_step(model, config)(make_episode())
    pairs = zip(before, model.encoder.get_weights(), strict=True)
    assert all((one != other).any() for one, other in pairs)


@pytest.mark.slow
def test_a_run_is_exported_and_asked(run, tmp_path):
    exported = tmp_path / "exported"
    ended("-m", "prwn_tf.export", f"--workdir={run}", f"--output={exported}")
    images = [made.drawings(index)[0] for index in range(3)]
    first, second = (
        FewShotClassifier(model).fit(images, [5, 6, 7]).predict_proba(images)
        for model in (exported, run)
    )
    np.testing.assert_allclose(first, second, atol=1e-5)


@pytest.fixture(scope="module")
def asked(weights, photographs, tmp_path_factory):
    """What `predict` makes of photographs without any training, and its words."""
    output = tmp_path_factory.mktemp("asked")
    flags = [
        f"--model={SMALL}",
        f"--encoder_weights={weights}",
        f"--support={photographs / 'support'}",
        f"--query={photographs / 'query'}",
        f"--output={output}",
    ]
    return output, ended("-m", "prwn_tf.predict", *flags).stdout


def test_photographs_without_training(asked, weights):
    output, printed = asked
    assert f"model {SMALL}: {SMALL} trained on {weights}, sha256 " in printed
    assert all(labels(output / "predictions.csv"))
    assert f"Labelled by {SMALL}" in (output / "gallery.html").read_text()


@pytest.mark.slow
def test_the_same_model_in_python_and_exported(asked, weights, photographs, tmp_path):
    paths = sorted((photographs / "query").rglob("*.png"))
    expected = [row["label"] for row in rows(asked[0] / "predictions.csv")]
    exported = tmp_path / "exported"
    flags = [f"--model={SMALL}", f"--encoder_weights={weights}", f"--output={exported}"]
    printed = ended("-m", "prwn_tf.export", *flags).stdout
    assert "seen at 224x224, become 576 numbers" in printed
    about = files.read_json(exported / "manifest.json")
    assert (about["step"], about["accuracy"]) == (0, [])
    support = sorted((photographs / "support").rglob("*.png"))
    here = FewShotClassifier.from_keras(SMALL, str(weights))
    for classifier in (here, FewShotClassifier(exported)):
        classifier.fit(support, [path.parent.name for path in support])
        assert classifier.predict(paths).tolist() == expected
        vectors = classifier.transform(paths)
        np.testing.assert_allclose(vectors, here.transform(paths), atol=1e-4)
    again = FewShotClassifier.load(asked[0] / "classes.npz", here.model)
    assert again.classes_.tolist() == list(NAMES)
    reopened, arguments = here.model.__reduce__()
    assert reopened(*arguments).fingerprint == here.model.fingerprint


@pytest.mark.slow
def test_a_network_is_tested_as_it_is(weights, data_dir, tmp_path):
    flags = [
        f"--model={SMALL}",
        f"--encoder_weights={weights}",
        "--dataset=glyphs",
        f"--data_dir={data_dir}",
        f"--output={tmp_path}",
        "--eval_episodes=20",
        "--adapt=none,filter",
        "--split=val",
    ]
    printed = ended("-m", "prwn_tf.evaluate", *flags).stdout
    assert f"{SMALL} on glyphs, step 0, val classes" in printed
    found = files.read_json(tmp_path / "evaluation.json")
    assert [row["adapt"] for row in found] == ["none", "filter"]
    assert all(row["accuracy"] > 0.2 for row in found)
    calibrated = ended("-m", "prwn_tf.evaluate", *flags, "--calibrate").stdout
    assert ended("-m", "prwn_tf.evaluate", *flags).stdout.endswith(
        calibrated[calibrated.index(f"{SMALL} on glyphs") :]
    )
    others = [each.replace(str(weights), "none") for each in flags]
    result = child.run("-m", "prwn_tf.evaluate", *others)
    program.assert_one_line(result, 2, "does not say that it is of", "--calibrate")


@pytest.mark.parametrize(
    ("name", "flags", "texts"),
    [
        ("train", ["--encoder=keras:VGG"], ["no network 'VGG'", "VGG19, VGG16"]),
        ("train", ["--encoder=keras:Lenet"], ["ConvNeXtBase", "Xception"]),
        ("train", ["--encoder=backbone"], ["resnet12, keras:NAME, got 'backbone'"]),
        ("train", ["--encoder_trainable=none"], ["no effect", "--encoder=keras:NAME"]),
        ("train", ["--encoder=keras:VGG16", "--encoder_size=9"], ["32 pixels"]),
        (
            "train",
            ["--encoder=keras:VGG16", "--encoder_trainable=last"],
            ["encoder_trainable must be all, none or last:N, got last"],
        ),
        (
            "train",
            ["--encoder=keras:VGG16", "--dataset=spiral"],
            ["1 or 3 channels, found 2"],
        ),
        (
            "train",
            ["--encoder=keras:VGG16", "--encoder_weights=/nowhere.h5"],
            ["--encoder_weights=/nowhere.h5 is no file"],
        ),
        ("evaluate", ["--model=keras:VGG16"], ["give --dataset"]),
        ("evaluate", ["--model=runs/x"], ["no network of Keras", "--workdir"]),
        (
            "evaluate",
            ["--model=keras:VGG16", "--dataset=glyphs"],
            ["give an --output"],
        ),
        ("evaluate", ["--workdir=runs/x", "--dataset=glyphs"], ["--dataset has no"]),
        ("export", ["--model=keras:VGG", "--output=x"], ["no network 'VGG'"]),
        (
            "export",
            ["--workdir=x", "--encoder_weights=none", "--output=x"],
            ["--encoder_weights has no effect"],
        ),
        (
            "predict",
            ["--model=keras:VGG", "--support=x", "--query=x", "--output=x"],
            ["no network 'VGG'"],
        ),
    ],
)
def test_mistakes_are_one_line(name, flags, texts, data_dir, tmp_path):
    if name in ("train", "evaluate"):
        flags = [*flags, f"--data_dir={data_dir}"]
    if name == "train":
        flags = [*flags, f"--workdir={tmp_path / 'w'}"]
    program.assert_one_line(program.run(name, *flags), 2, *texts)
    assert not (tmp_path / "w").exists()


def test_rows_of_a_network_replace_none_of_a_run(data_dir, tmp_path):
    files.write_json(tmp_path / "config.json", {})
    flags = [f"--model={SMALL}", "--encoder_weights=none", "--dataset=glyphs"]
    flags += [f"--data_dir={data_dir}", f"--output={tmp_path}", "--calibrate"]
    result = program.run("evaluate", *flags)
    program.assert_one_line(result, 2, "holds a run", "give another folder")


def test_a_package_that_is_not_installed(monkeypatch):
    monkeypatch.setattr(backbones.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(UserError, match="run pip install keras-hub"):
        backbones.check("keras_hub:dinov2_small")


@pytest.mark.slow
def test_a_frozen_network_under_a_head_without_weights(weights, data_dir, tmp_path):
    changes = {"encoder_weights": weights, "encoder_trainable": "none"}
    result = program.run("train", *training(tmp_path / "w", data_dir, **changes))
    program.assert_one_line(result, 2, "nothing is left to train", f"--model={SMALL}")
