"""Small runs and images for the tests of everything that serves a model."""

import dataclasses
import pathlib

import numpy as np
import tensorflow as tf

from prwn_tf import build, config_json, files, protocols
from prwn_tf.config import EpisodeSpec
from prwn_tf.data.sets import glyphs
from prwn_tf.evaluation import calibration as calibration_lib
from prwn_tf.evaluation.calibration import Calibration, Fit, Novelty

ACCURACY = 0.75  # stands in the result of every run made here
STEP = 7
NAMES = np.array(["ant", "bee", "cat"])  # of the first three characters
SHOTS = 4  # drawings of each to learn from


def drawings(index: int, split: str = "test") -> np.ndarray:
    """20 drawings of a character: [20, 28, 28, 1], bright on black."""
    return glyphs.draw_class(0, split, index)


def calibration(temperature: float = 3.0) -> Calibration:
    """What a made-up run says of its answers: "auto" is the filter."""
    fits = [
        Fit(adapt, shot, temperature * shot, 0.8, gain, 0.01)
        for shot in (1, 5)
        for adapt, gain in {"none": 0.0, "filter": 0.1, "gate": 0.05}.items()
    ]
    novelties = [Novelty(fit.adapt, fit.shot, 2.0, -2.0, 2.0, 0.9, 0.9) for fit in fits]
    spec = EpisodeSpec(5, 1, 5)
    return Calibration(spec, 100, tuple(fits), tuple(novelties))


def write_run(
    path: pathlib.Path, method: str = "prwn", calibrated: bool = False, **changes
) -> pathlib.Path:
    """A finished run as it is released: config, result, and weights alone.

    Its batch norm has seen drawings, so that characters differ in their embeddings.
    """
    config = protocols.protocol(protocols.Task("glyphs", method))
    config = dataclasses.replace(config, channels=8, conv_block="plain", **changes)
    model = build.build_model(config)
    random = np.random.default_rng(0)
    for block in model.encoder.blocks:
        kernel = block.convolution.kernel
        kernel.assign(random.normal(size=kernel.shape) / np.sqrt(kernel.shape[2]))
    images = np.concatenate([drawings(index, "train")[:4] for index in range(12)])
    images = np.broadcast_to(images, (*images.shape[:3], config.image_shape[-1]))
    size = config.image_shape[:2]
    images = tf.cast(tf.image.resize(images, size), tf.uint8)
    for _ in range(40):
        model(images, training=True)
    saved = tf.train.Checkpoint(model=model)
    saved.write(str(path / "checkpoints" / f"ckpt-{STEP}"))
    files.write_json(path / "config.json", config_json.to_dict(config))
    row = {"adapt": "none", "way": 5, "shot": 1, "accuracy": ACCURACY}
    files.write_json(path / "result.json", {"test": [row, row | {"adapt": "refine"}]})
    if calibrated:
        calibration_lib.write(path / "calibration.json", calibration())
    return path


def png(image: np.ndarray) -> bytes:
    """A PNG file of any depth and number of channels."""
    return tf.io.encode_png(image).numpy()


def write_folders(
    folder: pathlib.Path, images: dict[str, np.ndarray], suffix: str = "png"
) -> pathlib.Path:
    """A folder of image files for each class."""
    for name, some in images.items():
        for index, image in enumerate(some):
            (folder / name).mkdir(parents=True, exist_ok=True)
            (folder / name / f"{index:02}.{suffix}").write_bytes(png(image))
    return folder
