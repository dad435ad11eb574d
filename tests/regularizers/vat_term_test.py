"""VAT as a term of a training step: what it computes, and what it must not touch."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from prwn_tf.config import VatConfig
from prwn_tf.encoders.conv4 import Conv4
from prwn_tf.encoders.mlp import MLP
from prwn_tf.episodes.pipeline import Episode
from prwn_tf.heads.kmeans import SoftKMeans
from prwn_tf.heads.prototypes import PrototypeHead
from prwn_tf.model import FewShotModel
from prwn_tf.regularizers import vat
from prwn_tf.regularizers.vat import Vat
from tests.oracle import consistency as oracle
from tests.oracle import prototypes as prototype_oracle

CONFIG = VatConfig(weight=2.0, epsilon=0.5, xi=0.1, query_weight=0.25)


def episode(size=16, seed=0) -> Episode:
    generator = np.random.default_rng(seed)

    def images(*shape):
        pixels = generator.integers(0, 256, (*shape, size, size, 1))
        return tf.constant(pixels, tf.uint8)

    return Episode(images(3, 2), images(3, 1), images(6))


def build(encoder=None, head=None, size=16, config=CONFIG) -> FewShotModel:
    encoder = encoder or Conv4(channels=4)
    terms = [Vat(config, seed=3)] if config else []
    model = FewShotModel(encoder, head or PrototypeHead(), terms)
    model.build((None, size, size, 1))
    model.compile(optimizer=keras.optimizers.Adam(1e-2))
    model.optimizer.build(model.trainable_variables)
    return model


def averages(model) -> list[np.ndarray]:
    return [variable.numpy() for variable in model.encoder.non_trainable_variables]


def test_matches_oracle():
    # A dense encoder, whose answers to an image do not depend on the others.
    model, data = build(MLP(channels=5, size=3), size=2), episode(size=2)
    floats = [part.numpy().astype(np.float32) / 255 for part in data.images]
    support = model(floats[0].reshape(-1, 2, 2, 1)).numpy().reshape(3, 2, -1)
    prototypes = prototype_oracle.prototypes(support)
    images = np.concatenate([floats[1][:, 0], floats[2]])  # [Q + U, 2, 2, 1]
    noise = tf.random.stateless_normal(images.shape, [3, 0]).numpy()

    # In double precision, so that differences are derivatives.
    weights = [variable.numpy().astype(np.float64) for variable in model.variables[:6]]

    def classify(images):
        features = images.reshape(len(images), -1)
        for index in range(3):
            features = features @ weights[2 * index] + weights[2 * index + 1]
            features = np.maximum(features, 0) if index < 2 else features
        return prototype_oracle.scores(prototypes, features)

    change = oracle.perturbations(images.astype(np.float64), classify, noise, 0.5, 0.1)
    clean, moved = classify(images), classify(images + change)
    expected = [oracle.divergence(q, p) for q, p in zip(clean, moved, strict=True)]
    logs = model.train_step(data)
    np.testing.assert_allclose(logs["vat"], 2 * np.mean(expected[3:]), rtol=1e-2)
    np.testing.assert_allclose(
        logs["vat_query"], 2 * 0.25 * np.mean(expected[:3]), rtol=1e-2
    )


@pytest.mark.parametrize(
    ("fast", "head_class"),
    [
        (False, PrototypeHead),
        pytest.param(True, SoftKMeans, marks=pytest.mark.slow),
    ],
)
def test_moving_averages_are_those_of_training_without_it(fast, head_class):
    after = []
    for config in (CONFIG, None):
        model = build(Conv4(channels=4, fast=fast), head_class(), config=config)
        step = (
            tf.function(model.train_step, autograph=False) if fast else model.train_step
        )
        step(episode())
        after.append(averages(model))
    for found, expected in zip(*after, strict=True):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("fast", [False, True])
def test_altered_images_are_embedded_as_the_episode_was(fast):
    model, data = build(Conv4(channels=4, fast=fast)), episode()
    [context] = model._contexts(data, training=True)
    before = averages(model)
    again = context.embed(context.episode)
    for name in ("support", "queries", "unlabeled"):
        # The fast block takes off the moving mean first, which has moved since.
        np.testing.assert_allclose(
            getattr(again, name), getattr(context.embedded, name), rtol=1e-3, atol=1e-4
        )
    for found, expected in zip(averages(model), before, strict=True):
        np.testing.assert_array_equal(found, expected)


def test_perturbations_in_a_step_have_length_epsilon(monkeypatch):
    found = []
    original = vat.perturbation

    def recorded(*arguments):
        found.append(original(*arguments))
        return found[-1]

    monkeypatch.setattr(vat, "perturbation", recorded)
    build(config=VatConfig()).train_step(episode())
    lengths = np.linalg.norm(found[0].numpy().reshape(9, -1), axis=1)
    np.testing.assert_allclose(lengths, 8.0, rtol=1e-4)


def test_the_search_is_no_part_of_the_gradient():
    # The step's gradient is that of the divergence at a change that is held fixed.
    model, data = build(config=VatConfig(epsilon=0.5)), episode()
    [context] = model._contexts(data, training=True)
    noise = tf.random.stateless_normal([6, 16, 16, 1], [0, 0])
    images = context.episode.unlabeled

    def classify(images):
        moved = context.embed(context.episode._replace(unlabeled=images)).unlabeled
        return -tf.reduce_sum((moved[:, None] - prototypes) ** 2, axis=-1)

    prototypes = tf.constant(context.answer.prototypes.numpy())
    logits = classify(images)
    kernel = model.encoder.block_1.convolution.kernel.value
    with tf.GradientTape(persistent=True) as tape:
        searched = vat.adversarial_loss(images, logits, classify, noise, 0.5)
        change = vat.perturbation(images, logits, classify, noise, 0.5)
        fixed = vat.divergence(logits, classify(images + tf.constant(change.numpy())))
    np.testing.assert_allclose(
        tape.gradient(searched, kernel), tape.gradient(fixed, kernel), rtol=1e-3
    )


def test_noise_follows_the_step_and_the_seed():
    [context] = build()._contexts(episode(), training=True)

    def loss(seed, step):
        moment = context._replace(step=tf.constant(step))
        return float(Vat(CONFIG, seed).terms(moment).losses["vat"])

    assert loss(0, 0) == loss(0, 0)
    assert len({loss(0, 0), loss(0, 5), loss(1, 0), loss(1, 5)}) == 4


def test_reported_by_name():
    logs = build().train_step(episode())
    assert {"vat", "vat_query"} <= set(logs)
    total = sum(float(logs[n]) for n in ("classification", "weight_decay", *Vat.names))
    np.testing.assert_allclose(logs["loss"], total, rtol=1e-5)
