"""A config of any method whose training steps take no time, and its episodes."""

import dataclasses

import numpy as np
import tensorflow as tf

from prwn_tf import build, methods, protocols
from prwn_tf.config import EpisodeSpec, TrainConfig
from prwn_tf.episodes.pipeline import Episode
from prwn_tf.spec import BatchSpec
from prwn_tf.training import loop

SPEC = EpisodeSpec(way=3, shot=2, query=2, unlabeled=3)
CLASSES = 7  # of the training split, for those that learn them all
SIZE = 28
# Compiled programs draw other numbers, so with dropout they cannot be compared.
DROPOUT = {
    "resnet12": ("dropout",),
    "egnn_conv": ("dropout", "last_dropout"),
    "egnn": ("dropout",),
    "feat": ("dropout", "attention_dropout"),
}


def make_episode(spec: EpisodeSpec | BatchSpec = SPEC, index: int = 0) -> Episode:
    """Returns an episode of noise, or a mini-batch, which carries its index."""
    random = np.random.default_rng(index)

    def images(*shape):
        noise = random.integers(0, 256, [*shape, SIZE, SIZE, 1])
        return tf.constant(noise, tf.uint8)

    shot, query, points = (
        (0, 1, 0)
        if isinstance(spec, BatchSpec)
        else (spec.shot, spec.query, spec.unlabeled_points)
    )
    return Episode(
        images(spec.way, shot),
        images(spec.way, query),
        images(points),
        classes=tf.constant(random.integers(0, CLASSES, spec.way), tf.int32),
        index=tf.constant(index, tf.int64),
    )


def make_config(method: str, xla: str, **changes) -> TrainConfig:
    """Returns a method with four channels on such episodes, and nothing dropped."""
    config = protocols.protocol(protocols.Task("glyphs", method))
    kept = {
        name: dataclasses.replace(getattr(config, name), **dict.fromkeys(fields, 0.0))
        for name, fields in DROPOUT.items()
    }
    return dataclasses.replace(
        config,
        **kept,
        gan=dataclasses.replace(config.gan, channels=2),
        train=SPEC,
        classifier=dataclasses.replace(
            config.classifier, batch_size=SPEC.way, classes=CLASSES
        ),
        channels=4,
        xla=xla,
        # Adam's epsilon would let weights that hardly matter move as far as the others.
        optimizer=dataclasses.replace(config.optimizer, epsilon=0.1),
        **changes,
    )


def train(config: TrainConfig, steps: int = 2) -> list[dict[str, float]]:
    """Returns the losses and statistics of each step, by name."""
    config = build.resolved(config)
    model = build.trainable_model(config)
    step, spec = loop.compiled_step(model, config), methods.training_spec(config)
    logs = []
    for index in range(steps):
        model.reset_metrics()
        values = step(make_episode(spec, index))
        logs.append({name: float(value) for name, value in values.items()})
    return logs
