"""Files that TensorFlow reads for us, damaged: checkpoints, curves and images."""

import io
import os
import shutil

import keras
import numpy as np
import pytest
import tensorflow as tf
from PIL import Image

from prwn_tf.encoders.mlp import MLP
from prwn_tf.heads.prototypes import PrototypeHead
from prwn_tf.images.decoder import Decoder
from prwn_tf.model import FewShotModel
from prwn_tf.training.checkpoints import Checkpoints
from prwn_tf.training.monitor import Monitor
from tests.data import made
from tests.faults import mutation
from tests.faults.fuzzing import fuzz


def build() -> FewShotModel:
    model = FewShotModel(MLP(channels=3), PrototypeHead())
    model.build((None, 2, 1, 1))
    model.compile(optimizer=keras.optimizers.Adam())
    model.optimizer.build(model.trainable_variables)
    return model


def mark(model: FewShotModel, value: float) -> None:
    for variable in model.variables:
        variable.assign(np.full(variable.shape, value))


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """Checkpoints of steps 1 to 3, whose every weight is the step."""
    directory = tmp_path_factory.mktemp("saved") / "checkpoints"
    model = build()
    checkpoints = Checkpoints(directory, model)
    for step in (1, 2, 3):
        mark(model, step)
        checkpoints.save(step)
    return directory


def test_checkpoints(saved, tmp_path, cases):
    """What is restored is what was saved, whatever was done to the folder."""
    model = build()
    directory = tmp_path / "checkpoints"
    checkpoints = Checkpoints(directory, model)
    good = {path.name: path.read_bytes() for path in saved.iterdir() if path.is_file()}
    files = sorted(name for name in good if name != "checkpoint")

    def case(chance):
        shutil.rmtree(directory, ignore_errors=True)
        directory.mkdir()
        damaged = set(chance.sample(files, chance.randint(1, 4)))
        for name, content in good.items():
            if name in damaged:
                content = mutation.damaged_bytes(chance, content)
            if name not in damaged or chance.random() < 0.9:
                (directory / name).write_bytes(content)
        mark(model, -1)
        step = checkpoints.restore().step
        for variable in model.variables:
            np.testing.assert_array_equal(variable.numpy(), step, variable.path)

    assert 0 < fuzz(tmp_path, cases(400), case) < 0.5


def test_lists_of_checkpoints(saved, tmp_path, cases):
    """A list never stops a save, nor makes it delete files elsewhere."""
    model, directory = build(), tmp_path / "checkpoints"
    precious = tmp_path / "ckpt-1.index"
    precious.write_text("of another run")
    shutil.copytree(saved, directory)
    names = [f'all_model_checkpoint_paths: "{tmp_path}/ckpt-1"']
    lines = (directory / "checkpoint").read_text().splitlines()
    good = "\n".join([*lines, *names, "all_model_checkpoint_timestamps: 1.0"])

    def case(chance):
        damaged = mutation.damaged_bytes(chance, good.encode())
        (directory / "checkpoint").write_bytes(damaged)
        checkpoints = Checkpoints(directory, model)
        checkpoints.save(chance.randint(4, 9))
        assert precious.exists()
        assert len(list(directory.glob("*.index"))) == 3

    assert fuzz(tmp_path, cases(60), case) == 0


def test_curves(tmp_path, cases):
    """A damaged event file never stops a run; what is whole in it is kept."""
    with Monitor(tmp_path, 0) as monitor:
        for step in range(1, 6):
            monitor.training(step, {"loss": 0.5}, rate=0.1, speed=2.0)
    [path] = tmp_path.glob("events.*")
    good = path.read_bytes()

    def case(chance):
        for each in tmp_path.iterdir():
            os.remove(each)
        path.write_bytes(mutation.damaged_bytes(chance, good))
        with Monitor(tmp_path, 3) as monitor:
            monitor.training(4, {"loss": 0.5}, rate=0.1, speed=2.0)
        found = [
            event.step
            for each in sorted(tmp_path.glob("events.*"))
            for event in tf.compat.v1.train.summary_iterator(str(each))
        ]
        assert max(found) == 4

    assert fuzz(tmp_path, cases(100), case) == 0


def encoded(kind: str) -> bytes:
    image = np.random.default_rng(0).integers(0, 255, (12, 10, 3), np.uint8)
    if kind == "gif":  # TensorFlow writes none; one pixel, which is transparent
        return bytes.fromhex(
            "47494638396101000100800000000000ffffff21f90401000000002c"
            "00000000010001000002024401003b"
        )
    if kind == "bmp":
        head = b"BM" + np.array([438, 0, 54, 40, 10, 12], "<u4").tobytes()
        rows = np.pad(image.reshape(12, 30), [(0, 0), (0, 2)])
        planes = np.array([1, 24], "<u2").tobytes()
        return head + planes + bytes(24) + rows.tobytes()
    if kind == "jpeg":
        return made.turned(tf.io.encode_jpeg(image).numpy(), 6)
    if kind in ("webp", "tiff"):
        file = io.BytesIO()
        Image.fromarray(image).save(file, kind)
        return file.getvalue()
    return tf.io.encode_png(image).numpy()


@pytest.mark.parametrize("kind", ["jpeg", "png", "gif", "bmp", "webp", "tiff"])
def test_images(tmp_path, kind, cases):
    """Each image of a batch is decoded or named with a reason; the others are not
    touched by it."""
    decoder, good = Decoder(16, background=255), encoded(kind)
    [expected], problems = decoder([good])
    assert not problems

    def case(chance):
        batch = [mutation.damaged_bytes(chance, good) for _ in range(7)]
        pixels, problems = decoder([*batch, good])
        assert len(pixels) + len(problems) == 8
        assert all(place < 7 for place in problems)
        np.testing.assert_array_equal(pixels[-1], expected)

    assert fuzz(tmp_path, cases(100), case) == 0
