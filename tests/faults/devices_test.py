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
import dataclasses, json
import prwn_tf
import keras
import numpy as np
import tensorflow as tf

[cpu] = tf.config.list_physical_devices("CPU")
half = tf.config.LogicalDeviceConfiguration()
tf.config.set_logical_device_configuration(cpu, [half, half])
from prwn_tf import build
from prwn_tf.episodes.pipeline import Episode
from prwn_tf.protocols import Task, protocol
from prwn_tf.training import loop

config = protocol(Task("glyphs", "prwn"))
config = dataclasses.replace(config, channels=4, conv_block="plain", xla="off")
random = np.random.default_rng(0)
episode = Episode(
    *(
        tf.constant(random.integers(0, 255, [*shape, 28, 28, 1]), tf.uint8)
        for shape in ((3, 1), (3, 2), (9,))
    )
)

def update(strategy):
    with strategy.scope():
        model = build.build_model(config)
        # Adam's first step would be the same for gradients of any scale.
        model.compile(optimizer=keras.optimizers.SGD(0.1))
        model.optimizer.build(model.trainable_variables)
        before = [each.numpy() for each in model.trainable_variables]
        loop.compiled_step(model, config)(episode)
        after = [each.numpy() for each in model.trainable_variables]
    return [b - a for a, b in zip(before, after)]

one = update(tf.distribute.get_strategy())
two = update(tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"]))
print(json.dumps({
    "largest": max(float(np.abs(each).max()) for each in one),
    "difference": max(float(np.abs(a - b).max()) for a, b in zip(one, two)),
}))
"""


def test_row_36_two_devices_make_the_update_of_one():
    done = child.run("-c", CHILD, check=True)
    found = json.loads(done.stdout)
    assert found["largest"] > 1e-4
    assert found["difference"] < 1e-6


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
    found = build.resolved(config)
    assert found.xla == "off"
    [warning] = caplog.messages
    assert f"--xla={asked} is not possible here" in warning
    assert "No PTX provider" in warning
    assert report.result(found, 1, 1.0, [], {})["xla"] == "off"
