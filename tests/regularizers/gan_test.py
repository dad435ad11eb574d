"""MetaGAN's losses against the oracle, and who learns what from them."""

import functools

import keras
import numpy as np
import pytest
import tensorflow as tf

from prwn_tf.config import GanConfig, TpnConfig, WalkConfig
from prwn_tf.encoders.conv4 import Conv4
from prwn_tf.episodes.pipeline import Episode
from prwn_tf.heads.base import EmbeddedEpisode
from prwn_tf.heads.kmeans import ClusterKMeans
from prwn_tf.heads.propagation import PropagationHead
from prwn_tf.heads.prototypes import PrototypeHead, nearest_scores
from prwn_tf.model import FewShotModel
from prwn_tf.regularizers import gan
from prwn_tf.regularizers.base import Context
from prwn_tf.regularizers.gan import Gan
from prwn_tf.regularizers.walk import Walk
from tests import modes
from tests.oracle import gan as oracle
from tests.oracle import prototypes as prototype_oracle

SHAPE = (16, 16, 1)
SMALL = {"noise": 3, "channels": 2}


def values(*shape) -> np.ndarray:
    return np.random.default_rng([*shape]).normal(size=shape).astype(np.float32)


def episode(index=0, seed=0) -> Episode:
    generator = np.random.default_rng(seed)

    def images(*shape):
        pixels = generator.integers(0, 256, (*shape, *SHAPE))
        return tf.constant(pixels, tf.uint8)

    return Episode(images(3, 2), images(3, 2), images(8), index=tf.constant(index))


def build(head=None, more=(), fast=False, **changes) -> FewShotModel:
    """A model that takes plain steps along the gradient, so that its size counts."""
    terms = [Gan(SHAPE, GanConfig(**SMALL | changes), seed=1)] if changes else []
    for term in terms:
        term.optimizer = keras.optimizers.SGD(0.1)
    encoder = Conv4(channels=4, fast=fast)
    model = FewShotModel(encoder, head or PrototypeHead(), [*more, *terms])
    model.build((None, *SHAPE))
    model.compile(optimizer=keras.optimizers.SGD(0.01))
    model.build_optimizers()
    return model


def numbers(variables) -> list[np.ndarray]:
    return [variable.numpy() for variable in variables]


def same(some, others) -> bool:
    return all(np.array_equal(a, b) for a, b in zip(some, others, strict=True))


@pytest.mark.parametrize("mode", modes.MODES)
def test_losses_match_the_oracle(mode):
    given, real, fake = 3 * values(6, 4), values(5, 3), values(7, 3)

    def losses(given, real, fake):
        logits = gan.realness(given, 0.7, 1.5)
        return (
            gan.taken_for_real(logits),
            gan.taken_for_fake(logits),
            gan.feature_distance(real, fake),
        )

    expected = (
        oracle.real_loss(given, 0.7, 1.5),
        oracle.fake_loss(given, 0.7, 1.5),
        oracle.feature_loss(real, fake),
    )
    np.testing.assert_allclose(
        modes.run(mode, losses, given, real, fake), expected, rtol=1e-5
    )


def test_finite_far_from_every_class():
    far = tf.Variable([[-4000.0, -5000.0], [4000.0, 0.0]])
    with tf.GradientTape() as tape:
        logits = gan.realness(far)
        total = gan.taken_for_real(logits) + gan.taken_for_fake(logits)
    assert np.isfinite(total)
    assert np.isfinite(tape.gradient(total, far)).all()


POINTS = {"unlabeled": 4 * values(9, 5), "generated": 4 * values(6, 5)}
PROTOTYPES, QUERIES = values(3, 5), values(4, 6, 5)[0]


def context(unlabeled, generated) -> Context:
    """An episode whose queries and generated images have given embeddings."""
    embedded = EmbeddedEpisode(PROTOTYPES[:, None], None, unlabeled)
    batch = np.concatenate([QUERIES, generated])

    def embed_images(images):
        np.testing.assert_array_equal(images[:6], tf.reshape(data.query, [6, *SHAPE]))
        return tf.constant(batch)

    data = episode().with_images(lambda each: tf.cast(each, tf.float32) / 255)
    classify = functools.partial(nearest_scores, PROTOTYPES)
    return Context(
        data, embedded, None, None, classify, tf.constant(0), embed_images=embed_images
    )


def scores(points: np.ndarray) -> np.ndarray:
    return prototype_oracle.scores(PROTOTYPES, points)


@pytest.mark.parametrize("loss", ["features", "realness"])
def test_terms_match_the_oracle(loss):
    term = Gan(SHAPE, GanConfig(0.5, fake_weight=3.0, loss=loss, **SMALL))
    term.build((None, 5))
    real, fake = (scores(points) for points in POINTS.values())
    offset = oracle.first_offset(real)
    found = term.terms(context(**POINTS))
    assert {*found.losses, *found.statistics} == {*term.names}
    expected = {
        "gan_real": 0.5 * oracle.real_loss(real, 1.0, offset),
        "gan_fake": 0.5 * 3 * oracle.fake_loss(fake, 1.0, offset),
    }
    for name, value in expected.items():
        np.testing.assert_allclose(found.losses[name], value, rtol=1e-4)
    # Where the fake class is the best, the point is taken for fake.
    share = np.mean(oracle.probabilities(fake, 1.0, offset)[:, -1] < 0.5)
    np.testing.assert_allclose(found.statistics["gan/generated_for_real"], share)
    own = {
        "features": oracle.feature_loss(QUERIES, POINTS["generated"]),
        "realness": oracle.real_loss(fake, 1.0, offset),
    }
    np.testing.assert_allclose(found.own_loss, own[loss], rtol=1e-4)


def test_scale_and_offset_are_learned_from_a_fair_start():
    """Half of the first episode's points start as real; later ones move nothing."""
    term = Gan(SHAPE, GanConfig(**SMALL))
    term.build((None, 5))
    unlabeled, generated = 9 * values(8, 5), POINTS["generated"]
    given = context(unlabeled, generated)
    shares = [
        float(term.terms(each).statistics["gan/unlabeled_for_real"])
        for each in (given, given, context(unlabeled + 99, generated))
    ]
    assert shares == [0.5, 0.5, 0.0]
    reference = -oracle.first_offset(scores(unlabeled))
    term.log_scale.assign(np.log(0.25))
    term.offset.assign(0.1)
    offset = 0.1 * abs(reference) - 0.25 * reference
    expected = oracle.fake_loss(scores(generated), 0.25, offset)
    found = term.terms(given).losses["gan_fake"]
    np.testing.assert_allclose(found, expected, rtol=1e-4)


@pytest.mark.parametrize("head_class", [PrototypeHead, ClusterKMeans])
def test_the_generators_loss_moves_the_generator_alone(head_class):
    """Another loss of the generator changes nothing of encoder, head and scale."""
    after = []
    for loss in ("features", "realness"):
        model = build(head_class(), weight=1.0, loss=loss)
        model.train_step(episode())
        common, own = (numbers(each.variables) for each in model.optimizer_groups)
        after.append((common, own))
    (common, own), (other_common, other_own) = after
    assert same(common, other_common)
    assert not same(own, other_own)


def test_the_classifiers_loss_never_moves_the_generator():
    """Other weights change encoder, scale and offset, and nothing of the generator."""
    after = []
    for weight in (1.0, 9.0):
        model = build(weight=weight)
        model.train_step(episode())
        [term] = model.players
        after.append([numbers(each.variables) for each in model.optimizer_groups])
        assert float(term.offset.value) != 0
        assert float(term.log_scale.value) != 0
    (common, own), (other_common, other_own) = after
    assert not same(common, other_common)
    assert same(own, other_own)


@pytest.mark.parametrize("loss", ["features", "realness"])
def test_everything_learns_and_belongs_to_one_optimizer(loss):
    model = build(weight=1.0, loss=loss)
    [term] = model.players
    groups = [group.variables for group in model.optimizer_groups]
    before = [numbers(group) for group in groups]
    model.train_step(episode())
    for group, old in zip(groups, before, strict=True):
        still = [v.path for v, was in zip(group, old, strict=True) if same([v], [was])]
        assert not still
    ids = [id(variable) for group in groups for variable in group]
    assert sorted(ids) == sorted(id(v) for v in model.trainable_variables)
    assert {id(term.log_scale), id(term.offset)} <= {id(v) for v in groups[0]}


@pytest.mark.parametrize("fast", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_generated_images_leave_no_trace_in_averages(fast):
    after = []
    for changes in ({"weight": 1.0}, {}):
        model = build(fast=fast, **changes)
        step = (
            tf.function(model.train_step, autograph=False) if fast else model.train_step
        )
        step(episode())
        after.append(numbers(model.encoder.non_trainable_variables))
    assert same(*after)


def test_generated_images_share_a_batch_with_the_queries():
    model = build(weight=1.0)
    [given] = model._contexts(episode(), training=True)
    [term] = model.players
    images = term.draw(given.episode)
    before = numbers(model.encoder.non_trainable_variables)
    queries, points = term._embed(given, images)
    assert same(numbers(model.encoder.non_trainable_variables), before)
    asked = tf.reshape(given.episode.query, [6, *SHAPE])
    expected = model(tf.concat([asked, images], axis=0), training=True)
    np.testing.assert_allclose(tf.concat([queries, points], 0), expected, rtol=1e-4)


def test_noise_follows_the_episode_and_the_seed():
    terms = [Gan(SHAPE, GanConfig(**SMALL), seed) for seed in (0, 1)]
    for term in terms:
        term.build((None, 5))
    terms[1].generator.set_weights(terms[0].generator.get_weights())

    def drawn(seed, index):
        images = episode(index).with_images(lambda each: tf.cast(each, tf.float32))
        return terms[seed].draw(images).numpy()

    assert np.array_equal(drawn(0, 4), drawn(0, 4))
    assert not np.array_equal(drawn(0, 4), drawn(0, 5))
    assert not np.array_equal(drawn(0, 4), drawn(1, 4))


def test_spread_is_relative_to_real_images_and_sees_a_collapse():
    images = values(6, *SHAPE)
    np.testing.assert_allclose(gan.spread(3 * images), 3 * gan.spread(images))
    np.testing.assert_allclose(
        gan.spread(images), np.sqrt(np.mean(np.var(images, axis=0))), rtol=1e-5
    )
    assert gan.spread(np.ones([5, *SHAPE], np.float32)) == 0


def test_columns_that_reject_are_no_class():
    """A point in the cluster of distractors alone is not taken for real by it."""
    model = build(ClusterKMeans(radius=1e4), weight=1.0)
    [given] = model._contexts(episode(), training=True)
    answered = given.classify(given.embedded.unlabeled).numpy()
    assert answered.shape == (8, 4)
    found = model.players[0].terms(given).losses["gan_real"]
    offset = oracle.first_offset(answered[:, :3])
    expected = oracle.real_loss(answered[:, :3], 1.0, offset)
    np.testing.assert_allclose(found, expected, rtol=1e-4)


@pytest.mark.parametrize(
    "head",
    [
        lambda: PropagationHead(TpnConfig(neighbors=5, scale=1.0)),
        pytest.param(PrototypeHead, marks=pytest.mark.slow),
    ],
)
def test_it_joins_other_heads_and_the_walk(head):
    model = build(head(), more=[Walk(WalkConfig())], weight=1.0, loss="realness")
    logs = model.train_step(episode())
    assert np.isfinite([float(value) for value in logs.values()]).all()
    names = ("classification", "weight_decay", "walker", "visit")
    total = sum(float(logs[name]) for name in (*names, "gan_real", "gan_fake"))
    assert float(logs["loss"]) == pytest.approx(total, rel=1e-5)
    assert model.objectives == ["loss", "gan_generator"]


def test_pictures_are_what_training_draws():
    model = build(weight=1.0)
    [(name, images)] = model.pictures(episode()).items()
    [given] = model._contexts(episode(), training=True)
    assert name == "generated"
    np.testing.assert_array_equal(images, model.players[0].draw(given.episode))
    assert build().pictures(episode()) == {}
