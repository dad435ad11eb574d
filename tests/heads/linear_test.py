"""The layer over the training classes, and prototypes in its place at test."""

import dataclasses

import numpy as np
import pytest
import tensorflow as tf

from prwn_tf import build, protocols
from prwn_tf.config import ADAPTATIONS
from prwn_tf.episodes.pipeline import Episode
from prwn_tf.head_parts import ClassifierConfig
from prwn_tf.heads.adapted import AdaptedHead
from prwn_tf.heads.base import EmbeddedEpisode
from prwn_tf.heads.linear import LinearHead
from tests import modes
from tests.heads.answers import scores_of

LABELS = [2, 0, 3, 3, 1]
DECAY = 0.3


def points(*shape, seed=0) -> np.ndarray:
    generator = np.random.default_rng([seed, *shape])
    return generator.normal(size=shape).astype(np.float32)


@pytest.fixture
def head() -> LinearHead:
    head = LinearHead(classes=4, weight_decay=DECAY)
    head.build((None, 3))
    head.layer.bias.assign(points(4))
    return head


def cross_entropy(scores: np.ndarray, labels: list[int]) -> float:
    """The mean over rows of log(sum(exp(scores))) minus the label's score."""
    scores = np.asarray(scores, np.float64)
    rows = zip(scores, labels, strict=True)
    return np.mean([np.log(np.exp(row).sum()) - row[label] for row, label in rows])


@pytest.mark.parametrize("mode", modes.MODES)
def test_a_mini_batch_is_asked_for_training_classes(head, mode):
    images = points(5, 3)

    def answered(queries):
        batch = EmbeddedEpisode(tf.zeros([5, 0, 3]), queries, tf.zeros([0, 3]))
        answer = head.answer(batch, training=True)
        return answer.scores, head.loss(batch, answer, tf.constant(LABELS))

    scores, losses = modes.run(mode, answered, images)
    expected = images @ head.layer.kernel.numpy() + head.layer.bias.numpy()
    np.testing.assert_allclose(scores, expected, rtol=1e-4, atol=1e-5)
    assert losses.keys() == {"classification"}
    np.testing.assert_allclose(
        losses["classification"], cross_entropy(expected, LABELS), rtol=1e-5
    )


def test_an_episode_is_answered_by_prototypes(head):
    episode = points(2, 3, 3), points(4, 3), points(6, 3)
    for adapt in ADAPTATIONS:
        expected = scores_of(AdaptedHead(adapt), *episode)
        np.testing.assert_array_equal(
            scores_of(head.adapted(adapt), *episode), expected
        )
    assert head.by_prototypes


@pytest.fixture
def config():
    config = protocols.protocol(protocols.Task("glyphs", "classifier"))
    optimizer = dataclasses.replace(config.optimizer, weight_decay=DECAY)
    return dataclasses.replace(
        config,
        image_shape=(16, 16, 1),
        channels=4,
        conv_block="plain",
        classifier=ClassifierConfig(batch_size=6, classes=5),
        optimizer=optimizer,
    )


def batch(index: int) -> Episode:
    """Six images of three classes, each class with a shade of its own."""
    generator = np.random.default_rng(index)
    classes = np.arange(6) % 3
    images = 80 * classes[:, None, None, None, None] + generator.integers(
        0, 60, (6, 1, 16, 16, 1)
    )
    return Episode(
        tf.zeros([6, 0, 16, 16, 1], tf.uint8),
        tf.constant(images, tf.uint8),
        tf.zeros([0, 16, 16, 1], tf.uint8),
        tf.constant(classes, tf.int32),
        tf.constant(index),
    )


def test_a_step_moves_every_variable_and_counts_all_kernels(config):
    model = build.trainable_model(config)
    variables = model.trainable_variables
    before = {variable.path: variable.numpy() for variable in variables}
    kernels = [value for path, value in before.items() if "kernel" in path]
    logs = model.train_step(batch(0))
    assert len(kernels) == 5
    expected = DECAY / 2 * sum((kernel**2).sum() for kernel in kernels)
    assert float(logs["weight_decay"]) == pytest.approx(expected, rel=1e-5)
    for variable in variables:
        assert not np.array_equal(before[variable.path], variable), variable.path


def test_it_learns_to_tell_classes_apart(config):
    optimizer = dataclasses.replace(config.optimizer, weight_decay=0.0)
    model = build.trainable_model(dataclasses.replace(config, optimizer=optimizer))
    first = float(model.train_step(batch(0))["classification"])
    for index in range(1, 40):
        model.reset_metrics()
        logs = model.train_step(batch(index))
    assert float(logs["classification"]) < 0.5 * first
    assert float(logs["accuracy"]) == 1.0
