"""What stands in a run's folder is of this run, as it is."""

import pytest

from prwn_tf import protocols
from prwn_tf.config import TrainConfig
from prwn_tf.training.workdir import Workdir


@pytest.fixture
def config() -> TrainConfig:
    return protocols.protocol(protocols.Task("glyphs", "prwn"))


def test_a_new_run_has_no_calibration_of_another_model(make_store, config, tmp_path):
    workdir = Workdir(tmp_path / "run")
    workdir.path.mkdir()
    workdir.calibration.write_text("of another model, evaluated with this --output")
    workdir.describe(config, make_store([2, 2]), "--flags")
    assert workdir.load_config() == config
    assert not workdir.calibration.exists()
