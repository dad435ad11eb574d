"""Virtual adversarial training, against a linear classifier worked out in NumPy."""

import numpy as np
import pytest
import tensorflow as tf

from prwn_tf.regularizers import vat
from tests import modes

SHAPE = (2, 3, 1)  # an image
CLASSES = 4


@pytest.fixture
def setting():
    """Images [5, 2, 3, 1], noise alike, and the weights [6, 4] of a classifier."""
    generator = np.random.default_rng(0)
    return (
        generator.random((5, *SHAPE)),
        generator.normal(size=(5, *SHAPE)),
        generator.normal(size=(6, CLASSES)),
    )


def classifier(weights):
    return lambda images: tf.reshape(images, [-1, 6]) @ weights


def softmax(logits):
    shifted = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return shifted / shifted.sum(axis=-1, keepdims=True)


def expected_perturbation(images, noise, weights, epsilon, probe, iterations):
    """The gradient of KL(q ‖ softmax((x + d) W)) with respect to d is W (p - q)."""
    flat, direction = images.reshape(5, 6), noise.reshape(5, 6)
    clean = softmax(flat @ weights)
    for _ in range(iterations):
        direction = probe * direction / np.linalg.norm(direction, axis=1)[:, None]
        direction = (softmax((flat + direction) @ weights) - clean) @ weights.T
    unit = direction / np.linalg.norm(direction, axis=1)[:, None]
    return (epsilon * unit).reshape(images.shape)


@pytest.mark.parametrize("mode", modes.MODES)
@pytest.mark.parametrize("iterations", [1, 3])
def test_perturbation_of_a_linear_classifier(mode, iterations, setting):
    images, noise, weights = setting
    classify = classifier(weights)
    found = modes.run(
        mode,
        lambda x, d: vat.perturbation(
            x, classify(x), classify, d, 2.0, 0.1, iterations
        ),
        images,
        noise,
    )
    expected = expected_perturbation(images, noise, weights, 2.0, 0.1, iterations)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("epsilon", [0.5, 8.0])
def test_perturbation_has_length_epsilon(epsilon, setting):
    images, noise, weights = setting
    classify = classifier(weights)
    found = vat.perturbation(images, classify(images), classify, noise, epsilon)
    lengths = np.linalg.norm(found.numpy().reshape(5, -1), axis=1)
    np.testing.assert_allclose(lengths, epsilon, rtol=1e-5)


def test_loss_is_the_divergence_at_the_perturbation(setting):
    images, noise, weights = setting
    classify = classifier(weights)
    found = vat.adversarial_loss(images, classify(images), classify, noise, 2.0, 0.1)
    change = expected_perturbation(images, noise, weights, 2.0, 0.1, 1)
    clean = softmax(images.reshape(5, 6) @ weights)
    moved = softmax((images + change).reshape(5, 6) @ weights)
    expected = np.sum(clean * np.log(clean / moved), axis=1)
    np.testing.assert_allclose(found, expected, rtol=1e-4)


def test_worse_than_a_random_change_of_the_same_length(setting):
    images, noise, weights = setting
    classify = classifier(weights)
    logits = classify(images)
    worst = vat.adversarial_loss(images, logits, classify, noise, 0.5)
    lengths = np.linalg.norm(noise.reshape(5, -1), axis=1).reshape(5, 1, 1, 1)
    random = vat.divergence(logits, classify(images + 0.5 * noise / lengths))
    assert np.all(worst.numpy() > random.numpy())


def test_a_constant_classifier_is_not_moved(setting):
    images, noise, _ = setting

    def classify(images):
        return 0 * tf.reshape(images, [-1, 6])[:, :CLASSES]

    found = vat.adversarial_loss(images, classify(images), classify, noise)
    np.testing.assert_array_equal(found, np.zeros(5))


def test_gradients_flow_through_the_moved_answer_alone(setting):
    images, noise, start = setting
    weights = tf.Variable(start)
    with tf.GradientTape() as tape:
        logits = classifier(weights)(images)
        loss = tf.reduce_sum(
            vat.adversarial_loss(images, logits, classifier(weights), noise, 2.0, 0.1)
        )
    found = tape.gradient(loss, weights)
    # With the change r fixed, the gradient of KL(q ‖ softmax((x + r) W)) is
    # (x + r)ᵀ (p - q).
    moved = images + expected_perturbation(images, noise, start, 2.0, 0.1, 1)
    flat = moved.reshape(5, 6)
    expected = flat.T @ (softmax(flat @ start) - softmax(images.reshape(5, 6) @ start))
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-5)
