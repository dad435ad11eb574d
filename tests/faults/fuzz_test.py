"""Everything that reads what our programs wrote, given thousands of damaged files.

Whatever a file holds, the answer is a value or a UserError of one line: no traceback,
no write outside the folder that was given, no program started, memory bounded. Every
case follows from its number, so a failure can be repeated.
"""

import contextlib
import dataclasses
import json
import pathlib
import shutil
import types

import numpy as np
import pytest

from prwn_tf import config_json
from prwn_tf.config import EpisodeSpec
from prwn_tf.data.store import reader, summary
from prwn_tf.data.store import writer as writer_lib
from prwn_tf.data.store.journal import JOURNAL
from prwn_tf.episodes import pools
from prwn_tf.protocols import Task, protocol
from prwn_tf.serving import classifier_file, manifest
from prwn_tf.training.workdir import Workdir
from tests.data import made
from tests.faults import mutation
from tests.faults.fuzzing import fuzz


def write_store(directory: pathlib.Path, **more) -> None:
    with writer_lib.StoreWriter(
        directory, image_shape=(8, 8, 1), about={"version": 1}, **more
    ) as writer:
        for split in reader.SPLITS:
            for name in "abcdef":
                writer.add(split, name, np.full((20, 8, 8, 1), 7, np.uint8))


# --- Prepared data


@pytest.fixture(scope="module")
def dataset(tmp_path_factory) -> pathlib.Path:
    directory = tmp_path_factory.mktemp("fuzz") / "made"
    write_store(directory)
    return directory


def use_dataset(directory: pathlib.Path) -> None:
    """All that the programs do with a data set before they train."""
    stores = reader.open_dataset(directory)
    for each in stores.values():
        if len(each):
            each.read(np.array([0, len(each) - 1]))
            each.rows(0)
        assert len(each.labels()) == len(each)
    image_shape = stores["train"].image_shape
    task = Task("glyphs", "prwn", 2, 1, 1, 2, 0)
    config = protocol(task)
    train = EpisodeSpec(way=2, shot=1, query=1, unlabeled=2)
    config = dataclasses.replace(config, train=train, image_shape=image_shape)
    pools.for_run(config, stores)
    reader.verify(directory)
    summary.lines(directory)


def test_manifests(dataset, tmp_path, cases):
    use_dataset(dataset)  # or every case would be refused for the same reason
    copy = shutil.copytree(dataset, tmp_path / "made")
    good = (dataset / reader.MANIFEST).read_bytes()

    def case(chance):
        (copy / reader.MANIFEST).write_bytes(mutation.damaged_json(chance, good))
        use_dataset(copy)

    assert fuzz(tmp_path, cases(3000), case) > 0.5


def test_image_files(dataset, tmp_path, cases):
    copy = shutil.copytree(dataset, tmp_path / "made")
    good = (dataset / "train.bin").read_bytes()

    def case(chance):
        (copy / "train.bin").write_bytes(mutation.damaged_bytes(chance, good))
        use_dataset(copy)

    assert fuzz(tmp_path, cases(300), case) > 0.9


def test_journals_of_killed_writers(tmp_path, cases):
    directory, partial = tmp_path / "made", tmp_path / ".made.incomplete"
    images = np.full((2, 4, 4, 1), 7, np.uint8)

    def opened():
        return writer_lib.StoreWriter(
            directory, image_shape=(4, 4, 1), about={}, resume_key="same"
        )

    with contextlib.suppress(KeyboardInterrupt), opened() as writer:
        for name in "abc":
            writer.add("train", name, images)
        raise KeyboardInterrupt
    good = {path.name: path.read_bytes() for path in partial.iterdir()}
    lines = good[JOURNAL].splitlines()

    def case(chance):
        for left in (directory, partial):
            shutil.rmtree(left, ignore_errors=True)
        partial.mkdir()
        for name, content in good.items():
            (partial / name).write_bytes(content)
        place = chance.randrange(len(lines))
        damaged = [*lines]
        damaged[place] = mutation.damaged_json(chance, lines[place])
        (partial / JOURNAL).write_bytes(b"\n".join([*damaged, b""]))
        with opened() as writer:
            for name in "abc":
                if not writer.has("train", name):
                    writer.add("train", name, images)
        reader.verify(directory)
        assert (reader.open_dataset(directory)["train"].images == 7).all()

    assert fuzz(tmp_path, cases(300), case) == 0


# --- Runs


def test_configs_of_runs(dataset, tmp_path, cases):
    stores = reader.open_dataset(dataset)
    base = protocol(Task("glyphs", "prwn", 2, 1, 1, 2, 0))
    train = EpisodeSpec(way=2, shot=1, query=1, unlabeled=2)
    base = dataclasses.replace(base, train=train, image_shape=(8, 8, 1), encoder="mlp")
    pools.for_run(base, stores)
    good = json.dumps(config_json.to_dict(base)).encode()
    workdir = Workdir(tmp_path)

    def case(chance):
        path = tmp_path / "config.json"
        path.write_bytes(mutation.damaged_json(chance, good))
        config = workdir.load_config()
        pools.for_run(config, stores)
        config_json.differences(base, config)
        json.dumps(config_json.to_dict(config))

    assert 0.5 < fuzz(tmp_path, cases(4000), case) < 1


# --- Models


def test_exports(tmp_path, cases):
    """Their hashes are compared before TensorFlow sees any of it."""
    folder = tmp_path / "model"
    made.write(folder / "saved_model.pb", b"graph")
    made.write(folder / "variables" / "variables.index", b"weights")
    manifest.write(folder, {"image_shape": [8, 8, 1]})
    good = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}

    def case(chance):
        for path, content in good.items():
            path.write_bytes(content)
        damaged = chance.choice(list(good))
        change = (
            mutation.damaged_json
            if damaged.name == manifest.NAME
            else mutation.damaged_bytes
        )
        damaged.write_bytes(change(chance, good[damaged]))
        manifest.read(folder)

    assert fuzz(tmp_path, cases(1000), case) > 0.6


def test_saved_classifiers(tmp_path, cases):
    model = types.SimpleNamespace(fingerprint="f", size=3, path=tmp_path)
    path = tmp_path / "mine.npz"
    one, pair = np.ones([]), np.ones(2)
    fitted = classifier_file.FittedArrays(
        np.array(["a", "b"]), pair, np.ones([2, 3]), pair, one, one, np.ones(4)
    )
    classifier_file.write(path, fitted, model)
    good = path.read_bytes()

    def case(chance):
        path.write_bytes(mutation.damaged_bytes(chance, good))
        classifier_file.read(path, model)

    assert fuzz(tmp_path, cases(1500), case) > 0.5
