"""An encoder is trained first, another run begins with it: as a user does both."""

import dataclasses
import json
import pathlib
import shutil

import numpy as np
import pytest

from prwn_tf import config_json, files, methods, protocols
from prwn_tf.backbones import BackboneConfig
from prwn_tf.config import ADAPTATIONS
from prwn_tf.evaluation import calibration
from prwn_tf.origin import Origin
from tests.children import child
from tests.cli import program
from tests.data import made
from tests.faults import harness

SMALL = "keras:MobileNetV3Small"
CHANGES = {"method": "classifier", "batch_size": 16, "augment": "crop,flip"}


def pretraining(workdir, data_dir, **changes) -> list[str]:
    flags = program.quick(workdir, data_dir, **CHANGES | program.PLAIN | changes)
    return [each for each in flags if not each.startswith("--train_")]


@pytest.fixture(scope="module")
def pretrained(tmp_path_factory, data_dir) -> pathlib.Path:
    """The workdir of a finished pre-training; none of the tests writes to it."""
    workdir = tmp_path_factory.mktemp("pretrained") / "run"
    result = program.run("train", *pretraining(workdir, data_dir))
    assert result.returncode == 0, result.stderr
    assert "training episodes: mini-batches of 16 labelled images" in result.stdout
    return workdir


def begun(workdir, data_dir, pretrained, **changes) -> list[str]:
    """Flags of a run that begins with the encoder of another."""
    changes = {"init_from": pretrained, "episodes": 8} | program.PLAIN | changes
    return program.quick(workdir, data_dir, **changes)


def test_it_is_a_run_like_any_other(pretrained):
    stored = json.loads((pretrained / "result.json").read_text())
    assert stored["train_spec"] == {"batch_size": 16}
    assert [row["adapt"] for row in stored["test"]] == list(ADAPTATIONS)
    config = json.loads((pretrained / "config.json").read_text())
    assert config["classifier"] == {"batch_size": 16, "classes": 400}
    steps = [step for step, _ in harness.curve(pretrained, "train/classification")]
    assert steps == [2, 4, 6, 8, 10, 12]
    assert len(harness.curve(pretrained, "validation/accuracy")) == 2


def test_its_encoder_is_the_default_of_what_begins_with_it(pretrained, data_dir):
    flags = ["--print_config", f"--init_from={pretrained}", f"--data_dir={data_dir}"]
    printed = program.run("train", *flags).stdout
    [block] = [each for each in printed.split("\n\n") if "the encoder of" in each]
    assert block.splitlines() == [f"# the encoder of {pretrained}", "--channels=8"]
    printed = program.run("train", *flags, "--channels=4").stdout
    assert "--channels=4" in printed
    assert "the encoder of" not in printed


def test_a_run_in_the_folder_of_its_task_outlives_its_origin(
    pretrained, data_dir, tmp_path
):
    begun = tmp_path / "runs/glyphs-prwn-5way-1shot-seed0"
    begun.mkdir(parents=True)
    shutil.copy(pretrained / "config.json", begun)
    flags = ["--print_config", "--init_from=gone", f"--data_dir={data_dir}"]
    result = child.run("-m", "prwn_tf.train", *flags, cwd=tmp_path)
    assert "--channels=8" in result.stdout.splitlines()


def test_weights_of_keras_are_those_of_the_origin(tmp_path):
    config = protocols.protocol(protocols.Task("glyphs", "pn"))
    network = {"encoder": SMALL, "backbone": BackboneConfig("file.h5", "last:2")}
    origin = dataclasses.replace(config, **network)
    heir = methods.with_encoder(config, origin)
    assert heir.backbone == BackboneConfig("file.h5", "all")
    files.write_json(tmp_path / "config.json", config_json.to_dict(origin))
    flags = [f"--init_from={tmp_path}", f"--workdir={tmp_path / 'begun'}"]
    given = [*flags, "--method=pn", "--encoder_weights=none", "--print_config"]
    result = program.run("train", *given)
    program.assert_one_line(result, 2, "--encoder_weights has no effect", "file.h5")

    # One that has begun goes on with what it has.
    known = dataclasses.replace(heir, backbone=BackboneConfig("none"))
    known = dataclasses.replace(known, init_from=Origin(str(tmp_path), sha256="1"))
    files.write_json(tmp_path / "begun/config.json", config_json.to_dict(known))
    assert "--encoder_weights=none" in program.run("train", *given).stdout


def test_a_comparison_that_has_to_begin_needs_the_origin(
    pretrained, data_dir, tmp_path
):
    gone = shutil.copytree(pretrained, tmp_path / "gone")
    flags = begun(tmp_path / "run", data_dir, gone, episodes=2)
    assert program.run("train", *flags).returncode == 0
    shutil.rmtree(gone)
    result = program.run("train", *flags, "--compare")
    program.assert_one_line(result, 2, f"{gone} is gone", "--nocompare")


@pytest.mark.slow  # tests/cli/methods_test.py reloads other heads with weights
def test_reloaded_it_scores_the_same(pretrained, data_dir, tmp_path):
    stored = json.loads((pretrained / "result.json").read_text())
    copy = shutil.copytree(pretrained, tmp_path / "copy")
    result = program.run("evaluate", f"--workdir={copy}", f"--data_dir={data_dir}")
    assert result.returncode == 0, result.stderr
    [row] = json.loads((copy / "evaluation.json").read_text())
    assert row["accuracy"] == stored["test"][0]["accuracy"]


@pytest.mark.slow  # what begins with it is killed below
def test_a_pretraining_goes_on_to_the_same_bits(pretrained, data_dir, tmp_path):
    workdir = tmp_path / "run"
    harness.as_if_killed(pretrained, workdir, 4)
    again = program.run("train", *pretraining(workdir, data_dir))
    assert again.returncode == 0, again.stderr
    assert "at step 4" in again.stdout
    assert harness.weights(workdir, 12) == harness.weights(pretrained, 12)
    for name in ("train/loss", "validation/accuracy"):
        assert harness.curve(workdir, name) == harness.curve(pretrained, name)


def test_a_run_begins_with_the_encoder_and_ends_without_its_workdir(
    pretrained, data_dir, tmp_path
):
    gone = shutil.copytree(pretrained, tmp_path / "gone")
    for name in ("whole", "killed"):
        changes = {"method": "feat_walk", "conv4_scale": 0}
        flags = begun(tmp_path / name, data_dir, gone, **changes)
        faults = "" if name == "whole" else "8:SIGKILL"
        result = child.run("-m", "tests.faults.interfered", faults, "train", *flags)
        assert result.returncode == (-9 if faults else 0), result.stderr
    first = harness.tensors(tmp_path / "whole", 0)
    encoder = {
        name: value
        for name, value in harness.tensors(pretrained, 12).items()
        if name.startswith("model/encoder")
    }
    assert any("moving_mean" in name for name in encoder)
    temperature = calibration.read(pretrained / "calibration.json").fits[0].temperature
    for name, value in encoder.items():
        scaled = "block_4/norm/gamma" in name or "block_4/norm/beta" in name
        expected = value * max(temperature, 1) ** -0.5 if scaled else value
        np.testing.assert_allclose(first[name], expected, rtol=1e-6, err_msg=name)

    shutil.rmtree(gone)
    again = program.run("train", *flags)
    assert again.returncode == 0, again.stderr
    ours, theirs = (harness.weights(tmp_path / n, 8) for n in ("whole", "killed"))
    assert ours == theirs
    origin = json.loads((tmp_path / "killed/result.json").read_text())["init_from"]
    assert (origin["workdir"], origin["method"]) == (str(gone), "classifier")
    assert origin["checkpoint"] == "checkpoints/ckpt-12"
    assert origin["cautions"] == []
    assert origin["temperature"] == pytest.approx(temperature)


def test_a_damaged_checkpoint_is_no_beginning(pretrained, data_dir, tmp_path):
    damaged = shutil.copytree(pretrained, tmp_path / "damaged")
    values = damaged / "checkpoints/ckpt-12.data-00000-of-00001"
    values.write_bytes(values.read_bytes()[:500])
    result = program.run("train", *begun(tmp_path / "run", data_dir, damaged))
    program.assert_one_line(result, 2, "ckpt-12 cannot be read", "--init_from")
    assert not (tmp_path / "run" / "config.json").exists()


def test_a_refused_origin_leaves_no_workdir(data_dir, tmp_path):
    model = made.write(tmp_path / "model.keras", b"PK\x03\x04")
    result = program.run("train", *begun(tmp_path / "run", data_dir, model))
    program.assert_one_line(result, 2, "is a file", "can run code", "--workdir")
    assert not (tmp_path / "run").exists()


@pytest.mark.slow  # tests/training/origins_test.py has the words
def test_labels_that_the_run_hides_are_told(pretrained, data_dir, tmp_path):
    flags = begun(tmp_path, data_dir, pretrained, label_seed=1, episodes=2)
    result = program.run("train", *flags)
    assert result.returncode == 0
    assert "trained with labels that this run hides" in result.stderr
    stored = json.loads((tmp_path / "result.json").read_text())
    assert len(stored["init_from"]["cautions"]) == 1
