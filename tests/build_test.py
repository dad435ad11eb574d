import dataclasses
import math

import keras
import pytest

from prwn_tf import build
from prwn_tf.build import build_optimizer
from prwn_tf.config import OptimizerConfig
from tests.small import make_config


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


def test_a_rate_may_fall_by_another_factor():
    config = OptimizerConfig(learning_rate=0.8, halve_at=(1, 3), rate_factor=0.1)
    assert rates(config, 4) == pytest.approx([0.8, 0.08, 0.08, 0.008])


def test_a_rate_may_fall_along_a_cosine():
    config = OptimizerConfig(learning_rate=0.8, halve_at=(1,), cosine_steps=4)
    expected = [0.4 * (1 + math.cos(math.pi * step / 4)) for step in range(4)]
    assert rates(config, 6) == pytest.approx([*expected, 0, 0], abs=1e-7)


def test_sgd_has_nesterovs_momentum():
    config = OptimizerConfig(kind="sgd", learning_rate=0.1, momentum=0.5)
    optimizer, variable = build_optimizer(config), keras.Variable([1.0])
    optimizer.build([variable])
    velocity, expected = 0.0, 1.0
    for gradient in (1.0, -2.0):
        optimizer.apply([keras.ops.convert_to_tensor([gradient])], [variable])
        velocity = 0.5 * velocity - 0.1 * gradient
        expected += 0.5 * velocity - 0.1 * gradient
        assert float(variable[0]) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("changes", "name", "reason"),
    [
        ({}, "momentum", "it belongs to --optimizer=sgd"),
        ({"kind": "sgd"}, "beta_2", "it belongs to --optimizer=adam"),
        ({"kind": "sgd"}, "momentum", ""),
        ({}, "rate_factor", "--halve_at names no step"),
        ({"halve_at": (5,)}, "rate_factor", ""),
        ({"halve_at": (5,), "cosine_steps": 9}, "halve_at", "with --cosine_steps"),
    ],
)
def test_settings_that_nothing_looks_at(changes, name, reason):
    told = OptimizerConfig(**changes).unused_reason(name)
    assert told.startswith(reason)
    assert bool(told) == bool(reason)


def test_a_constant_rate():
    assert rates(OptimizerConfig(learning_rate=0.5), 2) == [0.5, 0.5]


def test_the_paper_s_betas():
    optimizer = build_optimizer(OptimizerConfig())
    assert (optimizer.beta_1, optimizer.beta_2, optimizer.epsilon) == (0.9, 0.99, 1e-8)


def test_rates_fall_with_episodes_whatever_the_updates():
    config = make_config("feat", "off", encoder="mlp")
    optimizer = OptimizerConfig(learning_rate=0.8, halve_at=(4,))
    config = dataclasses.replace(config, optimizer=optimizer)
    model = build.trainable_model(config)
    factor = model.head.rate_factor
    assert factor != 1
    seen = build.count_episodes(model, config)
    for episodes, rate in {3: 0.8, 4: 0.4}.items():
        seen.assign(episodes)
        assert float(model.optimizer.learning_rate) == pytest.approx(rate)
        own = float(model.head_optimizer.learning_rate)
        assert own == pytest.approx(factor * rate)
