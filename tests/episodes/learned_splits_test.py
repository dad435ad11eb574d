"""The classes of the validation split can be learned as well."""

import dataclasses
import json
import shutil

import numpy as np
import pytest

from prwn_tf import protocols
from prwn_tf.config import EpisodeSpec
from prwn_tf.data.store import reader
from prwn_tf.data.store import writer as writer_lib
from prwn_tf.episodes import pipeline, pools
from prwn_tf.errors import UserError
from tests.cli import program

BOTH = ("train", "val")
# Split and class -> the value of all its pixels.
PIXELS = {("train", "a"): 1, ("train", "b"): 2, ("val", "c"): 3, ("val", "d"): 4}


@pytest.fixture
def stores(tmp_path):
    """Two classes of four images in each split, and three images of no class."""
    with writer_lib.StoreWriter(
        tmp_path / "made", image_shape=(8, 8, 1), about={}
    ) as writer:
        for (split, name), value in PIXELS.items():
            writer.add(split, name, np.full((4, 8, 8, 1), value, np.uint8))
        for name in "ef":
            writer.add("test", name, np.zeros((4, 8, 8, 1), np.uint8))
        writer.add("unlabeled", "unlabeled", np.full((3, 8, 8, 1), 9, np.uint8))
    return reader.open_dataset(tmp_path / "made")


def config(method="prwn", **changes):
    task = protocols.Task("folder", method, way=2, shot=1, query=1, unlabeled=1)
    spec = EpisodeSpec(way=2, shot=1, query=1, unlabeled=1)
    shape = (8, 8, 1)
    base = protocols.protocol(task)
    return dataclasses.replace(base, **{"image_shape": shape, "train": spec} | changes)


def test_classes_are_counted_on_and_read_from_both_files(stores):
    learned = reader.learned_classes(stores, BOTH)
    assert learned.names == ("a", "b", "c", "d")
    assert len(learned) == 16
    assert learned.rows(2) == range(8, 12)
    pixels = learned.read(np.array([11, 0, 12, 7]))
    assert pixels[:, 0, 0, 0].tolist() == [3, 1, 4, 2]
    assert reader.learned_classes(stores, ("train",)) is stores["train"]


def test_images_of_no_class_follow_those_of_both(stores):
    spec = EpisodeSpec(way=4, shot=1, query=1, unlabeled=1, extra=3)
    asked = config(train=spec, train_splits=BOTH)
    pool = pools.for_run(asked, stores)["train"]
    store = reader.training_store(stores, BOTH)
    [episode] = pipeline.episodes(store, pool, spec, 0, 0, 1)
    assert sorted(episode.support.numpy()[:, 0, 0, 0, 0]) == [1, 2, 3, 4]
    assert episode.unlabeled.numpy()[-3:, 0, 0, 0].tolist() == [9, 9, 9]
    with pytest.raises(UserError, match="the train split has 2"):
        pools.for_run(config(train=spec), stores)


def test_labels_of_the_training_classes_stay_what_they_were(stores):
    alone, both = (
        pools.for_run(config(label_ratio=0.5, train_splits=splits), stores)["train"]
        for splits in (("train",), BOTH)
    )
    labelled = both.labeled_images()
    assert labelled.keys() == {"a", "b", "c", "d"}
    assert labelled.items() >= alone.labeled_images().items()


def test_a_linear_layer_tells_all_of_them(stores):
    for splits, classes in ((("train",), 2), (BOTH, 4)):
        asked = config("classifier", train_splits=splits)
        assert pools.fitted(asked, stores).classifier.classes == classes


def test_splits_that_share_classes_are_not_learned_together(make_store):
    """As after hold_out=images: each would be learned as two classes of one name."""
    stores = make_store([4, 4])
    pools.for_run(config(), stores)
    message = "train_splits=train,val: .* share 2 classes, such as 'class0'.* leave it"
    with pytest.raises(UserError, match=message):
        pools.for_run(config(train_splits=BOTH), stores)


def test_what_contradicts():
    with pytest.raises(UserError, match=r"must be train or train,val, got val"):
        config(train_splits=("val",))
    with pytest.raises(UserError, match="select=best and train_splits=train,val"):
        config(train_splits=BOTH, select="best")


def test_a_run_claims_nothing_of_classes_that_it_learned(tmp_path, data_dir):
    workdir = tmp_path / "run"
    changes = {"train_splits": "train,val", "episodes": 4} | program.SIMPLE
    flags = program.quick(workdir, data_dir, **changes)
    trained = program.run("train", *flags)
    assert trained.returncode == 0, trained.stderr
    assert "classes that it learns" in trained.stdout
    assert "uncalibrated" in trained.stdout
    assert "validation classes are learned as well" in trained.stderr
    assert not (workdir / "calibration.json").exists()
    label_split = json.loads((workdir / "label_split.json").read_text())
    stores = reader.open_dataset(data_dir / "glyphs")
    both = [*stores["train"].names, *stores["val"].names]
    assert [*label_split["labelled"]] == both

    places = f"--workdir={workdir}", f"--data_dir={data_dir}", "--eval_episodes=5"
    refused = program.run("evaluate", *places, "--calibrate")
    words = "--calibrate needs validation classes", "--train_splits=train,val"
    program.assert_one_line(refused, 2, *words, "--calibrate_from")

    # One that has not learned them knows how sure this one may be.
    del changes["train_splits"]
    like = tmp_path / "like"
    trained = program.run("train", *program.quick(like, data_dir, **changes))
    assert trained.returncode == 0, trained.stderr
    given = program.run("evaluate", *places, f"--calibrate_from={like}", "--adapt=auto")
    assert given.returncode == 0, given.stderr
    name = "calibration.json"
    assert (workdir / name).read_bytes() == (like / name).read_bytes()

    # The command may be repeated, and its tests have probabilities from then on.
    again = program.run("train", *flags)
    assert again.returncode == 0, again.stderr
    assert (workdir / name).read_bytes() == (like / name).read_bytes()
    assert "so calibration.json stays" in again.stdout
    tests = json.loads((workdir / "result.json").read_text())["test"]
    assert all(row["temperature"] > 0 for row in tests)


def test_a_calibration_of_another_kind_is_refused(finished, data_dir, tmp_path):
    run, other = (shutil.copytree(finished, tmp_path / name) for name in ("run", "b"))
    asked = f"--workdir={run}", f"--data_dir={data_dir}", f"--calibrate_from={other}"
    both = program.run("evaluate", *asked, "--calibrate")
    program.assert_one_line(both, 2, "--calibrate and --calibrate_from exclude")
    own = run / "calibration.json"
    kept = own.read_bytes()
    told = program.run("evaluate", *asked)
    program.assert_one_line(told, 2, f"would replace {own}", "leave it out")
    assert own.read_bytes() == kept
    own.unlink()
    content = json.loads((other / "config.json").read_text())
    (other / "config.json").write_text(json.dumps(content | {"channels": 4}))
    told = program.run("evaluate", *asked)
    program.assert_one_line(told, 2, "is of another kind", "channels 4", "channels 8")
    shutil.copyfile(run / "config.json", other / "config.json")
    (other / "calibration.json").unlink()
    told = program.run("evaluate", *asked)
    program.assert_one_line(told, 2, "is not calibrated itself")
