import resource

import numpy as np
import pytest
import tensorflow as tf

from prwn_tf import protocols
from prwn_tf.data.store.reader import ClassStore
from prwn_tf.training import monitor, projector

CONFIG = protocols.protocol(protocols.Task("glyphs", "prwn"))


def steps(directory, name="train/loss"):
    found = []
    for path in sorted(directory.glob("events.*")):
        for event in tf.compat.v1.train.summary_iterator(str(path)):
            found += [event.step for value in event.summary.value if value.tag == name]
    return found


def write(directory, start, numbers):
    with monitor.Monitor(directory, start) as writer:
        for step in numbers:
            writer.training(step, {"loss": 0.5}, rate=0.1, speed=2.0)


def test_steps_beyond_the_checkpoint_are_dropped(tmp_path):
    write(tmp_path, 0, [1, 2, 3, 4, 5])
    write(tmp_path, 3, [4, 5, 6])
    assert sorted(steps(tmp_path)) == [1, 2, 3, 4, 5, 6]


def test_a_run_that_begins_again_writes_its_settings_once(tmp_path):
    for _ in range(2):
        with monitor.Monitor(tmp_path, 0) as writer:
            writer.settings(CONFIG)
            writer.training(1, {"loss": 0.5}, rate=0.1, speed=2.0)
    for name in ("_hparams_/session_start_info", "_hparams_/experiment", "config"):
        assert steps(tmp_path, name) == [0]
    assert steps(tmp_path) == [1]


def test_all_of_a_step_is_on_disk_before_its_checkpoint_can_be(tmp_path):
    with monitor.Monitor(tmp_path, 0) as writer:
        writer.training(4, {"landing/0_steps": 0.5}, rate=0.1, speed=2.0)
        writer.validation(4, {"accuracy": 0.5})
        for name in ("train/learning_rate", "validation/accuracy", "landing"):
            assert steps(tmp_path, name) == [4]  # a kill would come here


def test_an_event_file_cut_in_the_middle_is_mended(tmp_path):
    write(tmp_path, 0, [1, 2, 3])
    [path] = tmp_path.glob("events.*")
    path.write_bytes(path.read_bytes()[:-5])
    write(tmp_path, 1, [2])
    assert sorted(steps(tmp_path)) == [1, 2]


@pytest.mark.parametrize("limit", [0, 1000])
def test_a_full_disk_ends_the_curves_with_one_warning(tmp_path, caplog, limit):
    write(tmp_path, 0, [1, 2, 3])
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
    try:
        write(tmp_path, 3, range(4, 40))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    [warning] = [each for each in caplog.records if each.levelname == "WARNING"]
    assert "nothing more is written to" in warning.message
    assert str(tmp_path) in warning.message
    write(tmp_path, 3, [4, 5])
    assert sorted(steps(tmp_path)) == [1, 2, 3, 4, 5]


def test_a_folder_that_cannot_be_made(tmp_path, caplog):
    (tmp_path / "file").write_text("")
    write(tmp_path / "file", 0, [1, 2])
    projector.write(
        tmp_path / "file", np.eye(2), ["a", "b"], np.zeros((2, 4, 4, 1), np.uint8)
    )
    assert [each.levelname for each in caplog.records] == ["WARNING"] * 2


def test_tests_take_the_place_of_earlier_ones(tmp_path):
    write(tmp_path, 0, [1, 2, 3])
    for accuracy in (0.25, 0.5):
        monitor.write_tests(tmp_path, 3, {"none": accuracy})
    assert steps(tmp_path, "test/none") == [3]
    assert steps(tmp_path) == [1, 2, 3]


def test_the_settings_of_interest_come_first():
    names = list(monitor.of_interest(CONFIG))
    assert names[:4] == ["method", "dataset", "shot", "walk_weight"]


def test_the_walk_is_drawn_when_it_is_validated(tmp_path):
    with monitor.Monitor(tmp_path, 0) as writer:
        logs = {"loss": 0.5, "landing/0_steps": 0.9, "landing/1_steps": 0.7}
        writer.training(1, logs, rate=0.1, speed=2.0)
        writer.validation(1, {"accuracy": 0.5})
    assert steps(tmp_path, "landing") == [1]


@pytest.mark.parametrize(
    ("classes", "images", "shown"), [(4, 600, [250] * 4), (100, 20, [20] * 50)]
)
def test_images_of_many_classes_are_projected(tmp_path, classes, images, shown):
    names = tuple(f"class {k}" for k in range(classes))
    store = ClassStore(tmp_path, (1, 1, 1), names, np.full(classes, images))
    counts = np.bincount(store.labels()[projector.chosen(store, 1000)])
    assert list(counts[counts > 0]) == shown


def test_projector_files(tmp_path):
    images = np.zeros((5, 4, 6, 1), np.uint8)
    projector.write(tmp_path, np.eye(5, 3), list("abcde"), images)
    config = (tmp_path / "projector_config.pbtxt").read_text()
    assert "projector/vectors.tsv" in config
    assert len((tmp_path / "projector" / "vectors.tsv").read_text().splitlines()) == 5
    sprite = tf.io.decode_png((tmp_path / "projector" / "images.png").read_bytes())
    assert sprite.shape == (12, 18, 1)


def test_large_images_are_small_on_the_projector_page(tmp_path):
    images = np.full((5, 300, 84, 3), 99, np.uint8)
    projector.write(tmp_path, np.eye(5, 3), list("abcde"), images)
    sprite = tf.io.decode_png((tmp_path / "projector" / "images.png").read_bytes())
    assert sprite.shape == (3 * 84, 3 * 84, 3)
    config = (tmp_path / "projector_config.pbtxt").read_text()
    assert config.count("single_image_dim: 84") == 2
