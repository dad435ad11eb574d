"""Which runs another can begin with, and what is told of them."""

import dataclasses
import pathlib

import pytest

from prwn_tf import config_json, files, protocols
from prwn_tf.config import TrainConfig
from prwn_tf.errors import UserError
from prwn_tf.origin import Origin
from prwn_tf.parts import Conv4Config
from prwn_tf.training import origins, provenance
from prwn_tf.training.workdir import Workdir


@pytest.fixture
def stores(make_store):
    return make_store([4, 4])


def config(method: str = "prwn", **changes) -> TrainConfig:
    task = protocols.Task("glyphs", method)
    changes = {"label_ratio": 0.5} | changes
    return dataclasses.replace(protocols.protocol(task), **changes)


@pytest.fixture
def make_run(tmp_path, stores):
    """Folders of finished runs, as far as can be seen without TensorFlow."""

    def make(name="pretrained", data=None, **changes) -> pathlib.Path:
        folder, theirs = tmp_path / name, config("classifier", **changes)
        about = provenance.of(theirs, data or stores)
        files.write_json(folder / "config.json", config_json.to_dict(theirs))
        files.write_json(folder / "data.json", dataclasses.asdict(about))
        files.write_json(folder / "result.json", {})
        for step in (0, 3, 12):
            place = folder / "checkpoints" / f"ckpt-{step}"
            files.write_text(place.with_suffix(".index"), "")
            values = place.with_name(f"{place.name}.data-00000-of-00001")
            files.write_text(values, f"{name} {step}")
        return folder

    return make


@pytest.fixture
def workdir(tmp_path) -> Workdir:
    return Workdir(tmp_path / "run")


def test_the_last_checkpoint_is_named_with_its_hash(make_run, stores, workdir):
    run = make_run()
    origin = origins.origin_in(run, config(), stores, workdir)
    values = run / "checkpoints" / "ckpt-12.data-00000-of-00001"
    assert origin == Origin(
        workdir=str(run),
        checkpoint="checkpoints/ckpt-12",
        sha256=files.sha256(values),
        method="classifier",
        dataset="glyphs",
        label_ratio=0.5,
    )
    assert str(origin).endswith("(classifier, 50 % of the labels of glyphs)")
    assert origin
    assert not Origin()


def test_the_best_one_where_the_run_selects_it(make_run, stores, workdir):
    run = make_run(select="best")
    for suffix in ("index", "data-00000-of-00001"):
        files.write_text(run / "checkpoints" / "best" / f"ckpt-3.{suffix}", "")
    origin = origins.origin_in(run, config(), stores, workdir)
    assert origin.checkpoint == "checkpoints/best/ckpt-3"


def test_a_run_that_has_begun_knows_its_origin(make_run, stores, workdir):
    run = make_run()
    origin = origins.origin_in(run, config(), stores, workdir)
    stored = config_json.to_dict(config(init_from=origin))
    files.write_json(workdir.path / "config.json", stored)
    run.rename(run.with_name("moved"))
    assert origins.origin_in(run, config(), stores, workdir) == origin
    with pytest.raises(UserError, match="pretrained is not a run"):
        origins.origin_in(run, config(), stores, workdir, restart=True)
    moved = origins.origin_in(run.with_name("moved"), config(), stores, workdir)
    changes = config_json.differences(origin, moved)
    assert changes == {}
    other = origins.origin_in(make_run("other"), config(), stores, workdir)
    assert config_json.differences(origin, other).keys() == {"sha256"}


def test_an_origin_that_was_trained_anew_is_not_taken_for_the_old_one(
    make_run, stores, workdir
):
    run = make_run()
    origin = origins.origin_in(run, config(), stores, workdir)
    stored = config_json.to_dict(config(init_from=origin))
    files.write_json(workdir.path / "config.json", stored)
    for change in (lambda path: path.write_bytes(b"other"), lambda path: path.unlink()):
        for weights in run.rglob("*.data*"):
            change(weights)
        with pytest.raises(UserError, match=r"was trained again since .* restart; to"):
            origins.origin_in(run, config(), stores, workdir)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"channels": 4}, r"conv4 \(.*channels 64, .*here conv4 \(.*channels 4, "),
        ({"conv4": Conv4Config(pool="max")}, "pool none.*here .*pool max"),
        ({"encoder": "resnet12"}, r"conv4 \(images 28x28x1, .*here resnet12 \("),
        ({"image_shape": (32, 32, 1)}, "images 28x28x1.*here .*images 32x32x1"),
    ],
)
def test_another_encoder_names_both(make_run, stores, workdir, changes, message):
    with pytest.raises(UserError, match=f"has another encoder than .*{message}"):
        origins.origin_in(make_run(), config(**changes), stores, workdir)


def test_how_an_encoder_starts_or_is_trained_may_differ(make_run, stores, workdir):
    changes = {"conv4": Conv4Config(scale=0.0), "conv_block": "plain", "seed": 3}
    assert origins.origin_in(make_run(), config(**changes), stores, workdir)


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda run: (run / "config.json").unlink(), "is not a run: it has no config"),
        (lambda run: (run / "result.json").unlink(), "has no finished model"),
        (
            lambda run: (run / "checkpoints" / "ckpt-12.data-00000-of-00001").unlink(),
            "has no trained checkpoint",
        ),
        (lambda run: run.rename(run.with_name("x")), "is not a run"),
    ],
)
def test_folders_that_are_no_origin(make_run, stores, workdir, spoil, message):
    spoil(run := make_run())
    with pytest.raises(UserError, match=message):
        origins.origin_in(run, config(), stores, workdir)


@pytest.mark.parametrize("name", ["model.keras", "model.h5", "weights.bin"])
def test_files_of_other_programs(tmp_path, stores, workdir, name):
    files.write_bytes(tmp_path / name, b"PK\x03\x04")
    with pytest.raises(UserError, match=f"{name} is a file, .* can run code"):
        origins.origin_in(tmp_path / name, config(), stores, workdir)


@pytest.mark.parametrize("inside", [".", "without_walk"])
def test_a_run_does_not_begin_with_itself(stores, workdir, inside):
    with pytest.raises(UserError, match="lies in the workdir of this run"):
        origins.origin_in(workdir.path / inside, config(), stores, workdir)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({}, None),
        ({"label_ratio": 0.25}, None),  # of the same seed: all of them are ours too
        ({"label_ratio": 1.0}, "label_ratio 1 of label_seed 0, here 0.5 of 0"),
        ({"label_seed": 1}, "label_ratio 0.5 of label_seed 1, here 0.5 of 0"),
        (
            {"train_splits": ("train", "val")},
            "has learned the validation classes of this run",
        ),
        ({"dataset": "omniglot"}, "trained on other images"),
        ({"init_from": Origin(sha256="1", cautions=("so it was",))}, "so it was"),
    ],
)
def test_cautions(make_run, stores, workdir, changes, told):
    run = make_run(**changes)
    cautions = origins.origin_in(run, config(), stores, workdir).cautions
    assert len(cautions) == (told is not None)
    assert all(told in caution for caution in cautions)


def test_other_images_of_the_same_name(make_run, make_store, stores, workdir):
    run = make_run(data=make_store([3, 3], name="other"))
    [caution] = origins.origin_in(run, config(), stores, workdir).cautions
    assert "trained on other images (null (18 images" in caution
    (run / "data.json").unlink()  # as released runs: they do not say
    assert origins.origin_in(run, config(), stores, workdir).cautions == ()
