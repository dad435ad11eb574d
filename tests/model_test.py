import keras
import numpy as np
import pytest
import tensorflow as tf

from prwn_tf import protocols
from prwn_tf.config import (
    AssociationConfig,
    EntropyConfig,
    EpisodeSpec,
    VatConfig,
    WalkConfig,
)
from prwn_tf.encoders.conv4 import Conv4
from prwn_tf.episodes import pipeline
from prwn_tf.episodes.pipeline import Episode, query_labels
from prwn_tf.heads.kmeans import ClusterKMeans, MaskedKMeans, SoftKMeans
from prwn_tf.heads.prototypes import PrototypeHead
from prwn_tf.model import FewShotModel
from prwn_tf.regularizers.association import Association
from prwn_tf.regularizers.entropy import Entropy
from prwn_tf.regularizers.vat import Vat
from prwn_tf.regularizers.walk import Walk
from tests.oracle import prototypes as oracle
from tests.oracle import walk as walk_oracle

WALK = WalkConfig(weight=2.0, steps=2, decay=0.5, visit_weight=0.25)


def episode(way=3, shot=2, query=2, unlabeled=8, size=16, seed=0) -> Episode:
    generator = np.random.default_rng(seed)

    def images(*shape):
        return tf.constant(
            generator.integers(0, 256, (*shape, size, size, 1)), tf.uint8
        )

    return Episode(images(way, shot), images(way, query), images(unlabeled))


def build(walk=WALK, size=16, **options) -> FewShotModel:
    regularizers = [Walk(walk, **options)] if walk else []
    model = FewShotModel(Conv4(channels=4), PrototypeHead(), regularizers)
    model.build((None, size, size, 1))
    model.compile(optimizer=keras.optimizers.Adam(1e-2))
    model.optimizer.build(model.trainable_variables)
    return model


def values(logs) -> dict[str, float]:
    return {name: float(value) for name, value in logs.items()}


def test_loss_terms_are_those_of_the_paper():
    model, data = build(), episode()
    labeled = tf.concat([data.support, data.query], axis=1)
    labeled = tf.reshape(labeled, [-1, 16, 16, 1])
    embeddings = model(labeled, training=True).numpy().reshape(3, 4, -1)
    support, queries = embeddings[:, :2], embeddings[:, 2:].reshape(6, -1)
    unlabeled = model(data.unlabeled, training=True).numpy()

    prototypes = oracle.prototypes(support)
    scores = oracle.scores(prototypes, queries)
    labels = [0, 0, 1, 1, 2, 2]
    walker, visit, landing = walk_oracle.walk_losses(prototypes, unlabeled, 2, 0.5, 0.1)
    found = values(model.train_step(data))
    assert found["classification"] == pytest.approx(
        oracle.classification_loss(scores, labels), rel=1e-4
    )
    assert found["accuracy"] == pytest.approx(np.mean(scores.argmax(1) == labels))
    assert found["walker"] == pytest.approx(2.0 * walker, rel=1e-3)
    assert found["visit"] == pytest.approx(2.0 * 0.25 * visit, rel=1e-3)
    assert found["landing/2_steps"] == pytest.approx(landing[2], rel=1e-3)
    assert found["loss"] == pytest.approx(
        sum(
            found[name]
            for name in ("classification", "weight_decay", "walker", "visit")
        )
    )


def test_unlabelled_points_have_batch_statistics_of_their_own():
    # Without a walk the labelled loss must not depend on the unlabelled images.
    data, other = episode(seed=0), episode(seed=1)
    mixed = data._replace(unlabeled=other.unlabeled)
    losses = [values(build().train_step(e))["classification"] for e in (data, mixed)]
    assert losses[0] == losses[1]


def test_both_passes_move_the_averages():
    model, data = build(), episode()
    mean = model.encoder.blocks[0].norm.moving_mean
    model.train_step(data)
    both = mean.numpy()
    plain = build(walk=None)
    plain.train_step(data._replace(unlabeled=data.unlabeled[:0]))
    assert not np.allclose(both, plain.encoder.blocks[0].norm.moving_mean.numpy())


def test_every_variable_learns():
    model = build()
    before = [variable.numpy() for variable in model.trainable_variables]
    model.train_step(episode())
    for variable, old in zip(model.trainable_variables, before, strict=True):
        assert not np.array_equal(variable.numpy(), old), variable.path
    assert int(model.optimizer.iterations) == 1


def test_test_step_learns_nothing():
    model = build()
    before = [variable.numpy() for variable in model.variables]
    model.test_step(episode())
    for variable, old in zip(model.variables, before, strict=True):
        np.testing.assert_array_equal(variable.numpy(), old)


def test_learns_an_episode_by_heart():
    model, data = build(), episode()
    step = tf.function(model.train_step, autograph=False)
    for _ in range(40):
        model.reset_metrics()
        logs = step(data)
    assert float(logs["accuracy"]) == 1


def test_fit_reports_the_mean_loss():
    data = [episode(seed=seed) for seed in range(3)]
    model = build()
    expected = []
    for each in data:
        model.reset_metrics()
        expected.append(values(model.train_step(each))["loss"])
    dataset = tf.data.Dataset.from_tensor_slices(
        Episode(*(tf.stack(parts) for parts in zip(*data, strict=True)))
    )
    history = build().fit(dataset, shuffle=False, verbose=0).history
    np.testing.assert_allclose(history["loss"], [np.mean(expected)], rtol=1e-4)


@pytest.mark.parametrize(
    "compiled", [False, pytest.param(True, marks=pytest.mark.slow)]
)
def test_two_kinds_of_episodes_in_one_process(compiled):
    model = build(compiled=compiled)
    step = tf.function(model.train_step, autograph=False)
    for data in (episode(), episode(way=5, shot=1, query=3, unlabeled=6), episode()):
        assert np.isfinite(step(data)["loss"])


def test_compiled_walk_equals_the_plain_one():
    first = values(build().train_step(episode()))
    second = values(build(compiled=True).train_step(episode()))
    for name, value in first.items():
        assert second[name] == pytest.approx(value, rel=1e-4), name


def test_half_precision_ends_with_the_embeddings():
    plain = values(build().train_step(episode()))
    keras.mixed_precision.set_global_policy("mixed_bfloat16")
    try:
        model = build()
        assert model.encoder.compute_dtype == "bfloat16"
        found = values(model.train_step(episode()))
    finally:
        keras.mixed_precision.set_global_policy("float32")
    assert model(episode().unlabeled).dtype == tf.float32
    assert found == pytest.approx(plain, rel=0.1, abs=0.1)


def test_labels_come_class_by_class():
    np.testing.assert_array_equal(query_labels(3, 2), [0, 0, 1, 1, 2, 2])


def test_images_may_be_bytes_or_floats():
    model = build(walk=None)
    images = episode().unlabeled
    floats = tf.cast(images, tf.float32) / 255
    np.testing.assert_allclose(model(images), model(floats), rtol=1e-3, atol=1e-9)


@pytest.mark.slow  # the same step on large images
def test_finite_at_the_published_mini_episode():
    config = protocols.protocol(protocols.Task("mini", "prwn"))
    assert config.train == EpisodeSpec(way=5, shot=5, query=5, unlabeled=10)
    model = FewShotModel(Conv4(fast=True), PrototypeHead(), [Walk(config.walk)])
    model.build((None, 84, 84, 3))
    model.compile(optimizer=keras.optimizers.Adam(config.optimizer.learning_rate))
    images = np.random.default_rng(0).integers(0, 256, (100, 84, 84, 3))
    images = tf.constant(images, tf.uint8)
    data = pipeline.Episode(
        tf.reshape(images[:25], [5, 5, 84, 84, 3]),
        tf.reshape(images[25:50], [5, 5, 84, 84, 3]),
        images[50:],
    )
    for _ in range(2):
        logs = model.train_step(data)
    assert np.isfinite(logs["loss"])


def test_a_joint_batch_shares_its_statistics():
    model = FewShotModel(Conv4(channels=4), SoftKMeans())
    model.build((None, 16, 16, 1))
    model.compile(optimizer=keras.optimizers.Adam(1e-2))
    data = episode()
    labeled = tf.concat([data.support, data.query], axis=1)
    images = tf.concat([tf.reshape(labeled, [-1, 16, 16, 1]), data.unlabeled], axis=0)
    embeddings = model(images, training=True).numpy()
    labeled, unlabeled = embeddings[:12].reshape(3, 4, -1), embeddings[12:]
    moved = oracle.refine(labeled[:, :2], unlabeled)
    scores = oracle.scores(moved, labeled[:, 2:].reshape(6, -1))
    found = values(model.train_step(data))["classification"]
    expected = oracle.classification_loss(scores, [0, 0, 1, 1, 2, 2])
    assert found == pytest.approx(expected, rel=1e-3)


EVERY_TERM = (
    Walk(WALK),
    Vat(VatConfig()),
    Entropy(EntropyConfig()),
    Association(AssociationConfig()),
)


@pytest.mark.parametrize("head_class", [SoftKMeans, ClusterKMeans, MaskedKMeans])
def test_every_term_at_once_on_a_kmeans_head(head_class):
    model = FewShotModel(Conv4(channels=4), head_class(), EVERY_TERM)
    model.build((None, 16, 16, 1))
    model.compile(optimizer=keras.optimizers.Adam(1e-2))
    model.optimizer.build(model.trainable_variables)
    logs = values(model.train_step(episode()))
    assert {name for term in EVERY_TERM for name in term.names} <= set(logs)
    assert np.isfinite(list(logs.values())).all()
