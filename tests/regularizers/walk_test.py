"""The walk as a term of the loss, with a way out for walkers among distractors."""

import numpy as np
import pytest
import tensorflow as tf

from prwn_tf.heads.base import Answer, EmbeddedEpisode
from prwn_tf.heads.prototypes import mean_prototypes
from prwn_tf.parts import WalkConfig
from prwn_tf.regularizers.base import Context
from prwn_tf.regularizers.walk import Walk
from tests.oracle import gate as gate_oracle
from tests.oracle import walk as oracle


def context(support, unlabeled) -> Context:
    embedded = EmbeddedEpisode(support, unlabeled[:1], unlabeled)
    answer = Answer(unlabeled[:1], mean_prototypes(support))
    return Context(None, embedded, answer, None, None, 0)


@pytest.mark.parametrize("compiled", [False, True])
def test_walkers_leave_to_nowhere_as_the_gate_says(compiled):
    generator = np.random.default_rng(0)
    support = 2 * np.eye(3)[:, None] + 0.3 * generator.normal(size=(3, 2, 3))
    unlabeled = generator.normal(size=(6, 3))
    walk = Walk(WalkConfig(nowhere=0.5, steps=2), compiled=compiled)
    found = walk.terms(context(*map(tf.constant, (support, unlabeled))))

    points, labels = support.reshape(6, 3), np.repeat(np.arange(3), 2)
    _, _, weights = gate_oracle.gate(points, labels, unlabeled, rounds=1)
    stay = 0.1 + 0.9 * weights.sum(axis=1)
    walker, visit, landing = oracle.walk_losses_with_way_out(
        support.mean(axis=1), unlabeled, stay, steps=2
    )
    assert float(found.losses["walker"]) == pytest.approx(walker, rel=1e-6)
    assert float(found.losses["visit"]) == pytest.approx(visit, rel=1e-6)
    assert float(found.statistics["landing/2_steps"]) == pytest.approx(landing[2])


def test_gradients_are_finite_where_all_points_are_strangers():
    support = tf.constant(np.eye(3)[:, None], tf.float32)
    unlabeled = tf.constant(np.full((4, 3), 30.0), tf.float32)
    walk = Walk(WalkConfig(nowhere=0.5))
    with tf.GradientTape() as tape:
        tape.watch([support, unlabeled])
        losses = walk.terms(context(support, unlabeled)).losses
        total = losses["walker"] + losses["visit"]
    assert np.isfinite(total)
    for gradient in tape.gradient(total, [support, unlabeled]):
        assert np.isfinite(gradient).all()
