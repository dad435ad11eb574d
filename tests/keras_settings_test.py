"""What somebody set up in Keras for other models does not reach ours."""

import dataclasses
import subprocess
import sys

import keras
import numpy as np
import pytest

from prwn_tf import build, runs
from prwn_tf.protocols import Task, protocol
from prwn_tf.training.workdir import Workdir
from tests.serving import made

CONFIG = dataclasses.replace(
    protocol(Task("glyphs", "prwn")), channels=4, conv_block="plain", xla="off"
)


@pytest.fixture
def another_setup():
    """Keras as a keras.json, or a line before ours, may have left it."""
    config = keras.config
    config.set_floatx("float16")
    config.set_epsilon(1e-2)
    config.set_image_data_format("channels_first")
    config.set_dtype_policy("mixed_float16")
    yield
    config.set_floatx("float32")
    config.set_epsilon(1e-7)
    config.set_image_data_format("channels_last")
    config.set_dtype_policy("float32")


def test_a_model_is_built_as_if_alone(another_setup):
    model = build.trainable_model(CONFIG)
    assert model.encoder.compute_dtype == "float32"
    numbers = [each for each in model.variables if "float" in each.dtype]
    assert {each.dtype for each in numbers} == {"float32"}
    assert model.optimizer.learning_rate.dtype == "float32"
    images = np.random.default_rng(0).random((2, 28, 28, 1), np.float32)
    found = model(images).numpy()
    # And what was set up is there again.
    config = keras.config
    assert (config.floatx(), config.epsilon()) == ("float16", 1e-2)
    assert config.image_data_format() == "channels_first"
    assert config.dtype_policy().name == "mixed_float16"
    config.set_floatx("float32")
    config.set_image_data_format("channels_last")
    config.set_dtype_policy("float32")
    np.testing.assert_array_equal(found, build.build_model(CONFIG)(images))


def test_good_checkpoints_are_not_called_corrupt(tmp_path, another_setup, caplog):
    workdir = Workdir(made.write_run(tmp_path))
    assert runs.load_model(workdir).step == made.STEP
    assert not caplog.records


def test_another_backend_is_not_loaded(monkeypatch):
    monkeypatch.setenv("KERAS_BACKEND", "jax")
    code = (
        "import sys, types\n"
        "import prwn_tf, os\n"
        "print(os.environ['KERAS_BACKEND'])\n"
        "del sys.modules['prwn_tf']\n"
        "config = types.SimpleNamespace(backend=lambda: 'jax')\n"
        "sys.modules['keras'] = types.SimpleNamespace(config=config)\n"
        "try:\n"
        "    import prwn_tf\n"
        "except ImportError as error:\n"
        "    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    first, second = done.stdout.splitlines()
    assert first == "tensorflow"
    assert "needs Keras on TensorFlow, and keras was imported with jax" in second
