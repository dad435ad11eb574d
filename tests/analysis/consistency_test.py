import dataclasses
import itertools

import numpy as np
import pytest
import tensorflow as tf

from prwn_tf.analysis import consistency
from prwn_tf.analysis.settings import Settings
from prwn_tf.config import EpisodeSpec
from prwn_tf.errors import UserError
from prwn_tf.evaluation.embeddings import Embeddings
from prwn_tf.heads.prototypes import PrototypeHead

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

    class Model:
        head = PrototypeHead()

        def __call__(self, images, training):
            assert not training
            return tf.reshape(images, [-1, PIXELS]) @ matrix

    images = tf.constant(base.store.images / np.float32(255))
    embeddings = Embeddings.of(Model()(images, training=False))
    return dataclasses.replace(base, model=Model(), embeddings=embeddings), matrix


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
    losses = consistency.adversarial_losses(subject, SPEC, 3, [0.5, 1.0])
    for index, place in itertools.product(range(3), range(2)):
        plan = subject.plan(SPEC, index)
        prototypes = subject.embeddings.gather(plan.support).numpy().mean(axis=1)
        images = subject.store.read(plan.unlabeled.numpy()).reshape(6, PIXELS) / 255
        noise = tf.random.stateless_normal([6, 8, 8, 1], [0, index])
        expected = expected_loss(
            images,
            noise.numpy().reshape(6, PIXELS).astype(float),
            prototypes.astype(float),
            matrix.numpy().astype(float),
            [0.5, 1.0][place],
        )
        assert losses[index, place] == pytest.approx(expected, rel=2e-2)


def test_finding(subject):
    subject, _ = subject
    settings = Settings(SPEC, SPEC, episodes=4, epsilons=(0.1, 0.5))
    finding = consistency.analyze([subject], settings)
    rows = finding.tables["consistency"]
    assert [(row["scale"], row["share"]) for row in rows] == [
        ("own", 0.1),
        ("own", 0.5),
        ("common", 0.1),
        ("common", 0.5),
    ]
    norms = np.linalg.norm(subject.store.images.reshape(72, PIXELS) / 255, axis=1)
    assert finding.numbers["median_norm"] == pytest.approx(np.median(norms))
    epsilons = [share * float(np.median(norms)) for share in (0.1, 0.5)]
    assert [row["epsilon"] for row in rows[:2]] == pytest.approx(epsilons)
    losses = consistency.adversarial_losses(subject, SPEC, 4, epsilons)
    assert [row["vat_loss"] for row in rows[:2]] == pytest.approx(losses.mean(axis=0))
    assert finding.numbers["epsilons"] == (0.1, 0.5)
    assert "average VAT loss" in finding.lines[0]


def test_a_head_that_has_learned_its_scale_has_no_other(subject):
    class Learned(PrototypeHead):
        trainable_variables = (tf.Variable(1.0),)

    subject, _ = subject
    subject.model.head = Learned()
    settings = Settings(SPEC, SPEC, episodes=2, epsilons=(0.1,))
    [row] = consistency.analyze([subject], settings).tables["consistency"]
    assert row["scale"] == "own"


def test_needs_unlabelled_points(subject):
    with pytest.raises(UserError, match="unlabeled=0"):
        consistency.adversarial_losses(subject[0], EpisodeSpec(3, 1, 1), 2, [1.0])
