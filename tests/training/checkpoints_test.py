import errno
import json
import resource
import shutil

import keras
import numpy as np
import pytest
import tensorflow as tf

from prwn_tf.encoders.conv4 import Conv4
from prwn_tf.errors import StorageError, UserError
from prwn_tf.heads.prototypes import PrototypeHead
from prwn_tf.model import FewShotModel
from prwn_tf.training import weights
from prwn_tf.training.checkpoints import Checkpoints


def build(seed=0) -> FewShotModel:
    model = FewShotModel(Conv4(channels=4, seed=seed), PrototypeHead())
    model.build((None, 16, 16, 1))
    model.compile(optimizer=keras.optimizers.Adam())
    model.optimizer.build(model.trainable_variables)
    return model


def mark(model, value):
    """Writes a value into every variable."""
    for variable in model.variables:
        variable.assign(np.full(variable.shape, value))


def marked(model, value) -> bool:
    return all(np.all(variable.numpy() == value) for variable in model.variables)


@pytest.fixture
def saved(tmp_path):
    """Checkpoints of steps 1 to 4, of which the last three are kept."""
    model = build()
    checkpoints = Checkpoints(tmp_path / "checkpoints", model)
    for step in range(1, 5):
        mark(model, step)
        checkpoints.save(step)
    return tmp_path / "checkpoints"


def test_the_newest_is_restored_and_the_oldest_dropped(saved):
    names = sorted(path.name for path in saved.glob("*.index"))
    assert names == ["ckpt-2.index", "ckpt-3.index", "ckpt-4.index"]
    model = build(seed=1)
    assert Checkpoints(saved, model).restore().step == 4
    assert marked(model, 4)


def test_lack_of_memory_is_no_corruption(saved):
    def read(path):
        raise MemoryError

    with pytest.raises(MemoryError):
        weights.first_readable(saved, "last", read, "")


def test_released_weights_are_not_called_corrupt(tmp_path, caplog):
    weights.save(tmp_path, build(), "last", 7)
    with pytest.raises(UserError, match=r"ckpt-7 holds weights alone.*workdir"):
        Checkpoints(tmp_path, build()).restore()
    assert not caplog.records


def test_running_means_are_saved(tmp_path):
    model = build()
    means = {mean.name: mean for mean in model.metrics}
    means["loss"].update_state(2.0)
    means["loss"].update_state(5.0)
    Checkpoints(tmp_path, model).save(1)
    other = build(seed=1)
    assert Checkpoints(tmp_path, other).restore().step == 1
    restored = {mean.name: mean for mean in other.metrics}
    restored["loss"].update_state(2.0)
    assert float(restored["loss"].result()) == 3.0
    assert float(restored["accuracy"].result()) == 0.0


def test_checkpoints_without_running_means_are_read(tmp_path):
    model = build()
    mark(model, 7)
    seconds = tf.Variable(3.0, dtype=tf.float64)
    old = tf.train.Checkpoint(model=model, optimizer=model.optimizer, seconds=seconds)
    tf.train.CheckpointManager(
        old, str(tmp_path), max_to_keep=3, checkpoint_name="ckpt"
    ).save(checkpoint_number=5)
    other = build(seed=1)
    checkpoints = Checkpoints(tmp_path, other)
    assert checkpoints.restore().step == 5
    assert marked(other, 7)
    assert float(checkpoints.seconds) == 3.0


@pytest.mark.parametrize("damage", ["truncate", "flip", "delete"])
def test_a_damaged_checkpoint_is_passed_over(saved, damage, caplog):
    data = saved / "ckpt-4.data-00000-of-00001"
    content = bytearray(data.read_bytes())
    content[len(content) // 2] ^= 1
    if damage == "truncate":
        data.write_bytes(content[: len(content) // 2])
    elif damage == "flip":
        data.write_bytes(content)
    else:
        data.unlink()
    model = build(seed=1)
    assert Checkpoints(saved, model).restore().step == 3
    assert marked(model, 3)
    assert "ckpt-4" in caplog.text


def test_the_index_of_all_checkpoints_is_not_needed(saved):
    (saved / "checkpoint").unlink()
    assert Checkpoints(saved, build()).restore().step == 4


@pytest.mark.parametrize("content", [b"", b"rubbish", b"\xff\xfe", None])
def test_a_damaged_index_of_all_checkpoints_is_replaced(saved, content):
    index = saved / "checkpoint"
    index.write_bytes(content) if content is not None else index.unlink()
    model = build()
    checkpoints = Checkpoints(saved, model)
    assert checkpoints.restore().step == 4
    checkpoints.save(5)
    assert "ckpt-5" in index.read_text()
    names = sorted(path.name for path in saved.glob("*.index"))
    assert names == ["ckpt-3.index", "ckpt-4.index", "ckpt-5.index"]


def test_an_index_that_names_files_elsewhere_deletes_none(saved, tmp_path):
    precious = tmp_path / "other" / "ckpt-7.index"
    precious.parent.mkdir()
    precious.write_text("of another run")
    oldest_first = [precious.with_suffix(""), *(saved / f"ckpt-{n}" for n in (2, 3, 4))]
    lines = [f'model_checkpoint_path: "{oldest_first[-1]}"']
    for path in oldest_first:
        lines += [
            f'all_model_checkpoint_paths: "{path}"',
            "all_model_checkpoint_timestamps: 1.0",
        ]
    (saved / "checkpoint").write_text("\n".join([*lines, ""]))
    Checkpoints(saved, build()).save(5)
    assert precious.read_text() == "of another run"


def test_nothing_left_to_restore(saved):
    for path in saved.glob("*.data*"):
        path.unlink()
    with pytest.raises(UserError, match=r"none of the 3 checkpoints .*--restart"):
        Checkpoints(saved, build()).restore()


def test_the_best_is_kept_beside(tmp_path):
    model = build()
    checkpoints = Checkpoints(tmp_path, model)
    for step, accuracy in ((1, 0.5), (2, 0.9), (3, 0.7)):
        mark(model, step)
        checkpoints.save_best(step, accuracy)
    assert json.loads((tmp_path / "best.json").read_text()) == {
        "step": 2,
        "accuracy": 0.9,
    }
    assert checkpoints.restore("best").step == 2
    assert marked(model, 2)


def test_where_the_best_is_damaged_the_last_stands_in(saved, caplog):
    model = build()
    checkpoints = Checkpoints(saved, model)
    checkpoints.save_best(1, 0.9)
    [data] = (saved / "best").glob("*.data*")
    data.write_bytes(data.read_bytes()[:-100])
    assert checkpoints.restore("best") == (4, "last")
    assert marked(model, 4)
    assert weights.restore(saved, build(), "best") == 4
    assert "the best checkpoint in" in caplog.text
    assert "going on with the last, of step 4" in caplog.text


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (OSError(errno.EROFS, "Read-only file system"), "Read-only file system"),
        (
            tf.errors.ResourceExhaustedError(
                None, None, "a/ckpt-9_temp; No space left on device\n\t [[node]]"
            ),
            "No space left on device; about",
        ),
    ],
)
def test_the_systems_reason_is_in_the_line(saved, monkeypatch, error, reason):
    def refuse(*unused, **named):
        raise error

    monkeypatch.setattr(tf.train.CheckpointManager, "save", refuse)
    with pytest.raises(StorageError, match=rf"cannot save step 9 in [^:]*: {reason}"):
        Checkpoints(saved, build()).save(9)


def test_a_full_disk_keeps_the_checkpoint_before(saved):
    model = build()
    checkpoints = Checkpoints(saved, model)
    mark(model, 9)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2000, hard))
    try:
        with pytest.raises(StorageError, match=r"step 9 .*too large; .*needed"):
            checkpoints.save(9)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert Checkpoints(saved, build()).restore().step == 4


def test_only_the_owner_removes_what_killed_saves_left(saved):
    (saved / "checkpoint.tmp0123abcd").write_text("TensorFlow's list, half")
    for leftover in (saved / "ckpt-5_temp", saved / "best" / "ckpt-2_temp"):
        leftover.mkdir(parents=True)
        (leftover / "part-00000-of-00001.index").write_bytes(b"half")
    checkpoints = Checkpoints(saved, build())
    checkpoints.restore()  # as an evaluation does while another process trains
    assert len(list(saved.rglob("*_temp"))) == 2
    checkpoints.remove_leftovers()
    assert not list(saved.rglob("*_temp"))
    assert not list(saved.glob("checkpoint.tmp*"))
    assert checkpoints.restore().step == 4


def test_an_old_one_that_a_kill_kept_is_removed(saved):
    for suffix in ("index", "data-00000-of-00001"):
        shutil.copyfile(saved / f"ckpt-2.{suffix}", saved / f"ckpt-1.{suffix}")
    (saved / "ckpt-9.data-00000-of-00001").write_bytes(b"of a save without an end")
    Checkpoints(saved, build()).remove_leftovers()
    names = {path.name.partition(".")[0] for path in saved.glob("ckpt-*")}
    assert names == {"ckpt-2", "ckpt-3", "ckpt-4"}


def test_a_list_that_a_kill_left_behind_is_made_anew(saved):
    index = saved / "checkpoint"
    index.write_text(index.read_text().replace("ckpt-4", "ckpt-3"))
    Checkpoints(saved, build()).list_anew()
    assert tf.train.latest_checkpoint(str(saved)) == str(saved / "ckpt-4")
