"""Learning by association, and that it is the walk without inner steps."""

import dataclasses

import numpy as np
import pytest
import tensorflow as tf

from prwn_tf.config import AssociationConfig
from prwn_tf.heads.base import EmbeddedEpisode
from prwn_tf.regularizers.association import Association, association_losses
from prwn_tf.regularizers.base import Context
from prwn_tf.walk import graph, losses
from tests import modes
from tests.oracle import association as oracle


def points(*shape) -> np.ndarray:
    return np.random.default_rng([*shape]).normal(size=shape)


@pytest.mark.parametrize("mode", modes.MODES)
@pytest.mark.parametrize("count", [1, 3])
def test_matches_oracle(mode, count):
    labeled, unlabeled = points(4, count, 5), points(9, 5)
    found = modes.run(mode, association_losses, labeled, unlabeled)
    expected = oracle.association_losses(labeled, unlabeled)
    np.testing.assert_allclose(found, expected, rtol=1e-10)


@pytest.mark.parametrize("similarity", [graph.dot_product_with, graph.nearness_to])
def test_one_labelled_point_a_class_is_the_walk_without_inner_steps(similarity):
    labeled, unlabeled = points(4, 1, 5), points(9, 5)
    walker, visit = association_losses(labeled, unlabeled, similarity)
    walk = losses.walk_losses(
        labeled[:, 0], unlabeled, steps=0, smoothing=0, similarity=similarity
    )
    np.testing.assert_allclose(walker, walk.walker, rtol=1e-12)
    np.testing.assert_allclose(visit, walk.visit, rtol=1e-12)


def test_the_walks_own_similarity_is_the_default():
    labeled, unlabeled = points(4, 1, 5), points(9, 5)
    found = association_losses(labeled, unlabeled, graph.nearness_to)
    walk = losses.walk_losses(labeled[:, 0], unlabeled, steps=0, smoothing=0)
    np.testing.assert_allclose(found, [walk.walker, walk.visit], rtol=1e-12)


def test_several_points_a_class_are_not_their_prototype():
    labeled, unlabeled = points(4, 3, 5), points(9, 5)
    walker, _ = association_losses(labeled, unlabeled)
    mean = labeled.mean(axis=1, keepdims=True)
    assert abs(float(walker) - float(association_losses(mean, unlabeled)[0])) > 0.1


def test_clusters_of_one_class_are_at_home():
    # Landing on any of the K points of the right class is as good as it gets: log K.
    labeled = np.repeat(30 * np.eye(3)[:, None], 2, axis=1)
    walker, visit = association_losses(labeled, np.repeat(30 * np.eye(3), 4, axis=0))
    np.testing.assert_allclose(walker, np.log(2), rtol=1e-6)
    np.testing.assert_allclose(visit, np.log(12), rtol=1e-6)


def test_finite_for_large_embeddings():
    labeled = tf.constant(30 * points(4, 2, 64), tf.float32)
    unlabeled = tf.constant(30 * points(9, 64), tf.float32)
    with tf.GradientTape() as tape:
        tape.watch(labeled)
        total = tf.add_n(association_losses(labeled, unlabeled))
    assert np.isfinite(total)
    assert np.isfinite(tape.gradient(total, labeled)).all()


def test_regularizer_walks_from_support_and_queries():
    support, queries, unlabeled = points(3, 2, 4), points(3, 1, 4), points(6, 4)
    embedded = EmbeddedEpisode(
        support=tf.constant(support, tf.float32),
        queries=tf.constant(queries.reshape(3, 4), tf.float32),
        unlabeled=tf.constant(unlabeled, tf.float32),
    )
    context = Context(None, embedded, None, None, None, None)
    config = dataclasses.replace(AssociationConfig(), weight=2.0, visit_weight=0.5)
    term = Association(config)
    found = term.terms(context)
    labeled = np.concatenate([support, queries], axis=1)
    walker, visit = oracle.association_losses(labeled, unlabeled)
    assert (*found.losses, *found.statistics) == term.names
    np.testing.assert_allclose(found.losses["association_walker"], 2 * walker, 1e-4)
    np.testing.assert_allclose(found.losses["association_visit"], visit, 1e-4)
