import keras
import pytest

from prwn_tf.build import build_optimizer
from prwn_tf.config import OptimizerConfig


def rates(config: OptimizerConfig, steps: int) -> list[float]:
    """The rate of each step, the first being 0."""
    optimizer = build_optimizer(config)
    variable = keras.Variable([1.0])
    optimizer.build([variable])
    found = []
    for _ in range(steps):
        found.append(float(optimizer.learning_rate))
        optimizer.apply([keras.ops.ones([1])], [variable])
    return found


def test_the_rate_is_halved_at_the_given_steps():
    found = rates(OptimizerConfig(learning_rate=0.8, halve_at=(2, 4)), 6)
    assert found == pytest.approx([0.8, 0.8, 0.4, 0.4, 0.2, 0.2])


def test_a_constant_rate():
    assert rates(OptimizerConfig(learning_rate=0.5), 2) == [0.5, 0.5]


def test_the_paper_s_betas():
    optimizer = build_optimizer(OptimizerConfig())
    assert (optimizer.beta_1, optimizer.beta_2, optimizer.epsilon) == (0.9, 0.99, 1e-8)
