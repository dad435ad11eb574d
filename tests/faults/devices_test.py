"""What devices a run has may change its speed, not its result."""

import dataclasses
import json

import pytest
import tensorflow as tf

from prwn_tf import build
from prwn_tf.evaluation import report
from prwn_tf.protocols import Task, protocol
from tests.children import child

CHILD = """
import dataclasses, json, sys
import prwn_tf
import keras
import numpy as np
import tensorflow as tf

[cpu] = tf.config.list_physical_devices("CPU")
half = tf.config.LogicalDeviceConfiguration()
tf.config.set_logical_device_configuration(cpu, [half, half])
from prwn_tf import build
from prwn_tf.config import FeatConfig
from prwn_tf.training import cluster, loop, replicas
from tests.small import make_config, make_episode

method, conv_block = sys.argv[1:]
config = make_config(method, "off", conv_block=conv_block)
config = dataclasses.replace(config, feat=FeatConfig(), strategy="mirrored")
episodes = [make_episode(index=0), make_episode(index=1)]

def updates(devices, groups):
    "What a step changes, and reports, for each group of episodes."
    with devices.scope():
        model = build.build_model(config)
        # Adam's first step would be the same for gradients of any scale.
        model.compile(optimizer=keras.optimizers.SGD(0.1))
        for player in model.players:
            player.optimizer = keras.optimizers.SGD(0.1)
        model.build_optimizers()
        step = loop.compiled_step(model, config)
    before = [each.numpy() for each in model.variables]
    for group in groups:
        for variable, value in zip(model.variables, before):
            variable.assign(value)
        model.reset_metrics()
        [logs] = [step(each) for each in devices.steps(group)]
        after = [each.numpy() for each in model.variables]
        changes = [new - old for new, old in zip(after, before)]
        yield changes, np.array([float(each) for each in logs.values()])

both = replicas.create(config, cluster.Cluster())
[(shared, logs)] = updates(both, [episodes])
(first, alone), (second, other) = updates(replicas.Replicas(), [[e] for e in episodes])
mean = [(a + b) / 2 for a, b in zip(first, second)]

def distance(one, another):
    "The largest difference, as a share of the largest number beside it."
    return max(
        float(np.abs(a - b).max() / max(np.abs(a).max(), 1e-3))
        for a, b in zip(one, another)
    )

print(json.dumps({
    "replicas": both.count,
    "episodes": distance(first, second),
    "devices": distance(mean, shared),
    "logs": distance([(alone + other) / 2], [logs]),
}))
"""


@pytest.mark.parametrize(
    ("method", "conv_block"),
    [
        ("prwn", "plain"),
        pytest.param("prwn", "fast", marks=pytest.mark.slow),
        pytest.param("feat", "plain", marks=pytest.mark.slow),  # has dropout
        pytest.param("metagan", "plain", marks=pytest.mark.slow),
    ],
)
def test_row_36_two_devices_make_the_mean_update_of_two_episodes(method, conv_block):
    done = child.run("-c", CHILD, method, conv_block, check=True)
    found = json.loads(done.stdout)
    assert found["replicas"] == 2
    assert found["episodes"] > 0.1
    assert found["devices"] < 1e-3
    assert found["logs"] < 1e-5


@pytest.mark.parametrize("asked", ["walk", "step"])
def test_row_37_without_a_compiler_the_run_goes_on_and_says_so(
    monkeypatch, caplog, asked
):
    def broken(*unused, **named):
        def refuse(*arguments):
            raise tf.errors.UnimplementedError(None, None, "No PTX provider")

        return refuse if named.get("jit_compile") else unused[0]

    config = dataclasses.replace(protocol(Task("glyphs", "prwn")), xla=asked)
    assert build.resolved(config).xla == asked
    monkeypatch.setattr(tf, "function", broken)
    answered_once = build._compiler_error
    monkeypatch.setattr(build, "_compiler_error", answered_once.__wrapped__)
    found = build.resolved(config)
    assert found.xla == "off"
    [warning] = caplog.messages
    assert f"--xla={asked} is not possible here" in warning
    assert "No PTX provider" in warning
    assert report.result(found, 1, 1.0, [], {})["xla"] == "off"
