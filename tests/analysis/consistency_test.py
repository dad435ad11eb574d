import dataclasses

import numpy as np
import pytest
import tensorflow as tf

from prwn_tf.analysis import consistency
from prwn_tf.analysis.settings import Settings
from prwn_tf.config import EpisodeSpec
from prwn_tf.errors import UserError
from prwn_tf.evaluation.embeddings import Embeddings

SPEC = EpisodeSpec(way=3, shot=2, query=1, unlabeled=2)
PIXELS = 64  # of the 8 x 8 images of make_store


@pytest.fixture
def subject(make_subject):
    """A subject with noise for images, embedded by a matrix."""
    base = make_subject()
    generator = np.random.default_rng(0)
    noise = generator.integers(0, 256, (len(base.store), PIXELS))
    base.store.path.write_bytes(noise.astype(np.uint8).tobytes())
    matrix = tf.constant(generator.normal(size=(PIXELS, 5)) / 4, tf.float32)

    def model(images, training):
        assert not training
        return tf.reshape(images, [-1, PIXELS]) @ matrix

    images = tf.constant(base.store.images / np.float32(255))
    embeddings = Embeddings.of(model(images, training=False))
    return dataclasses.replace(base, model=model, embeddings=embeddings), matrix


def expected_loss(images, noise, prototypes, matrix, epsilon):
    """By NumPy alone; the gradient by central differences."""

    def answer(flat):
        distances = ((flat @ matrix)[:, None] - prototypes) ** 2
        logits = -distances.sum(axis=2)
        shifted = np.exp(logits - logits.max(axis=1, keepdims=True))
        return shifted / shifted.sum(axis=1, keepdims=True)

    def divergence(change):
        moved = answer(images + change)
        return np.sum(clean * np.log(clean / moved), axis=1)

    clean = answer(images)
    start = 0.01 * noise / np.linalg.norm(noise, axis=1, keepdims=True)
    gradient = np.zeros_like(images)
    for pixel in range(PIXELS):
        step = np.zeros(PIXELS)
        step[pixel] = 1e-4
        gradient[:, pixel] = divergence(start + step) - divergence(start - step)
    unit = gradient / np.linalg.norm(gradient, axis=1, keepdims=True)
    return divergence(epsilon * unit).mean()


def test_loss_matches_numpy(subject):
    subject, matrix = subject
    losses = consistency.adversarial_loss(subject, SPEC, 3, epsilon=1.0)
    for index in range(3):
        plan = subject.plan(SPEC, index)
        prototypes = subject.embeddings.gather(plan.support).numpy().mean(axis=1)
        images = subject.store.read(plan.unlabeled.numpy()).reshape(6, PIXELS) / 255
        noise = tf.random.stateless_normal([6, 8, 8, 1], [0, index])
        expected = expected_loss(
            images,
            noise.numpy().reshape(6, PIXELS).astype(float),
            prototypes.astype(float),
            matrix.numpy().astype(float),
            1.0,
        )
        assert losses[index] == pytest.approx(expected, rel=2e-2)


def test_finding(subject):
    subject, _ = subject
    settings = Settings(SPEC, SPEC, episodes=4, epsilon=2.0)
    finding = consistency.analyze([subject], settings)
    [row] = finding.tables["consistency"]
    losses = consistency.adversarial_loss(subject, SPEC, 4, epsilon=2.0)
    assert row["vat_loss"] == pytest.approx(losses.mean())
    assert finding.numbers["epsilon"] == 2.0
    assert "average VAT loss" in finding.lines[0]


def test_needs_unlabelled_points(subject):
    with pytest.raises(UserError, match="unlabeled=0"):
        consistency.adversarial_loss(subject[0], EpisodeSpec(3, 1, 1), 2)
