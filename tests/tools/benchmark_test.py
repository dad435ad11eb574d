"""What is timed against us computes what we compute."""

import pathlib
import sys

import numpy as np
import pytest

from prwn_tf.config import WalkConfig
from prwn_tf.walk import losses

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "tools"))


@pytest.mark.parametrize(
    "config",
    [WalkConfig(1.5, decay=1.0), WalkConfig(2.0, steps=1, decay=0.5, visit_weight=0.3)],
)
def test_the_walk_in_pytorch_is_ours(config):
    torch = pytest.importorskip("torch")
    import benchmark_torch

    random = np.random.default_rng(0)
    prototypes = random.normal(size=(3, 4)).astype(np.float32)
    points = random.normal(size=(7, 4)).astype(np.float32)
    found = benchmark_torch.walk_loss(
        torch.tensor(prototypes), torch.tensor(points), config
    )
    ours = losses.walk_losses(prototypes, points, config.steps, config.decay)
    expected = config.weight * (ours.walker + config.visit_weight * ours.visit)
    assert found.item() == pytest.approx(float(expected), rel=1e-5)


def test_a_walk_is_measured():
    import benchmark_walk

    seconds, gigabytes = map(float, benchmark_walk.run("20/4/1").split())
    assert seconds > 0
    assert gigabytes >= 0


def test_the_power_of_the_points_that_time_grows_with(capsys):
    import benchmark_report

    rows = [
        {"points": 200, "size": 64, "gradient": True, "seconds": 0.01},
        {"points": 2_000, "size": 64, "gradient": True, "seconds": 1.0},
        {"points": 20_000, "size": 64, "gradient": False, "seconds": 5.0},
    ]
    benchmark_report.print_walk([row | {"gigabytes": 0.5} for row in rows])
    *_, first, second, third = capsys.readouterr().out.splitlines()
    assert "U^" not in first + third  # which are of another kind
    assert "2,000 points" in second
    assert second.endswith("| 64 | 1 s | U^2.00 | 0.50 GB |")
