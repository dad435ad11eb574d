"""What stands in a run's folder is of this run, as it is."""

import dataclasses

import pytest

from prwn_tf import config_json, files, protocols
from prwn_tf.config import TrainConfig
from prwn_tf.training.workdir import Workdir


@pytest.fixture
def config() -> TrainConfig:
    return protocols.protocol(protocols.Task("glyphs", "prwn"))


MEASURED = {
    *("result.json", "episodes.csv", "losses.json", "calibration.json"),
    *("evaluation.json", "evaluation_episodes.csv", "evaluation_images.csv"),
    *("evaluation_strangers.json", "episodes_summary.json"),
}


def test_a_new_run_has_nothing_that_was_measured_of_another_model(
    make_store, config, tmp_path
):
    workdir = Workdir(tmp_path / "run")
    workdir.path.mkdir()
    for name in MEASURED:
        (workdir.path / name).write_text("of another model, with this --output")
    (workdir.path / "analysis").mkdir()
    workdir.describe(config, make_store([2, 2]), "--flags")
    assert workdir.load_config() == config
    left = {path.name for path in workdir.path.iterdir()}
    assert not left & {*MEASURED, "analysis"}


def test_what_was_measured_goes_where_training_goes_on(config, tmp_path):
    files.write_json(tmp_path / "config.json", config_json.to_dict(config))
    for name in (*MEASURED, "validation.csv"):
        (tmp_path / name).write_text("of the last step")
    (tmp_path / "analysis").mkdir()
    (tmp_path / "analysis" / "ways.json").write_text("of the last step")
    workdir = Workdir(tmp_path)
    workdir.describe_again(config, config.episodes, "--flags")  # it has ended
    assert {path.name for path in tmp_path.iterdir()} >= {*MEASURED, "analysis"}
    longer = dataclasses.replace(config, episodes=config.episodes + 1)
    workdir.describe_again(longer, config.episodes, "--flags")
    left = {"config.json", "flags.txt", "validation.csv", "versions.json"}
    assert {path.name for path in tmp_path.iterdir()} == left
