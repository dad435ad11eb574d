"""--restart deletes all of a run, or nothing of it."""

import pathlib
import shutil

import pytest

from prwn_tf.config import TrainConfig
from prwn_tf.config_json import from_dict
from prwn_tf.errors import UserError
from prwn_tf.training import run_files
from prwn_tf.training.workdir import Workdir
from tests.faults.training_test import minimal

CONFIG = from_dict(TrainConfig, minimal())


@pytest.fixture
def run(tmp_path) -> pathlib.Path:
    """What a run looks like from outside, with a file of somebody else's."""
    folder = tmp_path / "run"
    (folder / "checkpoints").mkdir(parents=True)
    (folder / "checkpoints" / "ckpt-4.index").write_text("weights")
    for name in ("config.json", "data.json", "result.json", "notes.txt"):
        (folder / name).write_text(name)
    return folder


def names(folder: pathlib.Path) -> set[str]:
    return {path.name for path in folder.iterdir()} - {run_files.LOCK}


def test_a_link_in_the_run_stays_and_so_does_the_run(run, tmp_path):
    (run / "checkpoints").rename(tmp_path / "large disk")
    (run / "checkpoints").symlink_to(tmp_path / "large disk")
    before = names(run)
    with pytest.raises(UserError, match="checkpoints in it is a link; delete"):
        Workdir(run).claim(CONFIG, restart=True)
    assert names(run) == before
    assert (tmp_path / "large disk" / "ckpt-4.index").exists()


def test_a_disk_that_refuses_keeps_everything(run, monkeypatch):
    before = names(run)
    rename, left = pathlib.Path.rename, [2]

    def refuse(path, target):
        left[0] -= 1
        if left[0] == 0:
            raise OSError(13, "Permission denied")
        return rename(path, target)

    monkeypatch.setattr(pathlib.Path, "rename", refuse)
    with pytest.raises(UserError, match="Permission denied"):
        Workdir(run).claim(CONFIG, restart=True)
    assert names(run) == before


@pytest.mark.parametrize("moved", [[], ["data.json"], ["data.json", "checkpoints"]])
def test_a_killed_restart_is_ended_by_the_next_start(run, moved):
    (run / run_files.DELETED).mkdir()
    for name in moved:
        shutil.move(run / name, run / run_files.DELETED)
    Workdir(run).claim(CONFIG)
    assert names(run) == {"notes.txt"}
