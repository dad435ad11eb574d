"""Entropy of the unlabelled points' classes."""

import functools

import numpy as np
import pytest
import tensorflow as tf

from prwn_tf.config import EntropyConfig
from prwn_tf.heads.base import EmbeddedEpisode
from prwn_tf.heads.prototypes import nearest_scores
from prwn_tf.regularizers.base import Context
from prwn_tf.regularizers.entropy import Entropy, entropy
from tests import modes
from tests.oracle import consistency as oracle
from tests.oracle import prototypes as prototype_oracle


def points(*shape) -> np.ndarray:
    return np.random.default_rng([*shape]).normal(size=shape).astype(np.float32)


@pytest.mark.parametrize("mode", modes.MODES)
def test_matches_oracle(mode):
    logits = 3 * points(6, 4)
    found = tf.reduce_mean(modes.run(mode, entropy, logits))
    np.testing.assert_allclose(found, oracle.entropy(logits), rtol=1e-5)


def test_between_certain_and_clueless():
    found = entropy(tf.constant([[0.0, 0, 0], [-2000.0, 0, -2000]]))
    np.testing.assert_allclose(found, [np.log(3), 0], atol=1e-6)


def test_finite_gradient_where_a_share_underflows():
    logits = tf.Variable([[-2000.0, 0, -1.0]])
    with tf.GradientTape() as tape:
        total = tf.reduce_sum(entropy(logits))
    assert np.isfinite(tape.gradient(total, logits)).all()


def test_regularizer_asks_about_the_unlabelled_points():
    prototypes, unlabeled = points(3, 4), points(6, 4)
    embedded = EmbeddedEpisode(None, None, unlabeled)
    answered = functools.partial(nearest_scores, prototypes)
    context = Context(None, embedded, None, None, answered, None)
    term = Entropy(EntropyConfig(weight=0.5))
    found = term.terms(context)
    expected = oracle.entropy(prototype_oracle.scores(prototypes, unlabeled))
    assert tuple(found.losses) == term.names
    np.testing.assert_allclose(found.losses["entropy"], 0.5 * expected, rtol=1e-4)
