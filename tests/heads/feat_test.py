"""FEAT against its oracle, its dropout, and how it learns beside an encoder."""

import numpy as np
import pytest
import tensorflow as tf

from prwn_tf import build
from prwn_tf.config import EpisodeSpec, OptimizerConfig, TrainConfig, WalkConfig
from prwn_tf.episodes.pipeline import Episode
from prwn_tf.head_parts import FeatConfig
from prwn_tf.heads.base import EmbeddedEpisode
from prwn_tf.heads.feat import Feat, SemiFeat
from prwn_tf.regularizers.base import Context
from prwn_tf.regularizers.walk import Walk
from prwn_tf.training.checkpoints import Checkpoints
from tests import modes
from tests.heads.answers import scores_of
from tests.oracle import feat as oracle

LABELS = [2, 0, 1, 1, 2, 0]
CALM = FeatConfig(3.0, 0.7, 2.0, attention_dropout=0.0, dropout=0.0)
RATE = 1e-3


def points(*shape, seed=0) -> np.ndarray:
    generator = np.random.default_rng([seed, *shape])
    return generator.normal(size=shape).astype(np.float32)


@pytest.fixture
def episode() -> EmbeddedEpisode:
    return EmbeddedEpisode(points(3, 2, 4), points(6, 4), points(7, 4))


def built(kind=Feat, config=CALM, seed=0) -> Feat:
    head = kind(config, seed=seed)
    head.build((None, 4))
    return head


def wild(kind=Feat, config=CALM) -> Feat:
    """A head whose weights are all different from where they start."""
    head = built(kind, config)
    for index, variable in enumerate(head.trainable_variables):
        variable.assign(points(*variable.shape, seed=index))
    return head


def weights(head: Feat) -> list[np.ndarray]:
    """The weights in the order of the oracle."""
    layers = (head.query_layer, head.key_layer, head.value_layer, head.output_layer)
    kernels = [layer.kernel.numpy() for layer in layers]
    rest = (head.output_layer.bias, head.norm.gamma, head.norm.beta)
    return [*kernels, *(variable.numpy() for variable in rest)]


@pytest.mark.parametrize("mode", modes.MODES)
@pytest.mark.parametrize("kind", [Feat, SemiFeat])
def test_scores_and_prototypes_match_oracle(mode, kind, episode):
    head = wild(kind)
    scores, prototypes, _ = modes.run(
        mode, lambda *parts: head.answer(EmbeddedEpisode(*parts)), *episode
    )
    context = episode.unlabeled if kind is SemiFeat else None
    expected = oracle.query_logits(
        episode.support, episode.queries, weights(head), 3.0, context
    )
    np.testing.assert_allclose(scores, expected, rtol=1e-3, atol=1e-4)
    means = episode.support.mean(1)
    expected = oracle.adapt(means, weights(head), context)
    np.testing.assert_allclose(prototypes, expected, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("mode", modes.MODES)
def test_losses_match_oracle(mode, episode):
    head = wild()

    def losses(*parts):
        given = EmbeddedEpisode(*parts)
        return head.loss(given, head.answer(given, training=True), tf.constant(LABELS))

    computed = modes.run(mode, losses, *episode)
    support, queries, _ = episode
    arguments = (support, queries, LABELS, weights(head))
    expected = 0.7 * oracle.contrastive_loss(*arguments, temperature=2.0)
    np.testing.assert_allclose(computed["contrast"], expected, rtol=1e-4)
    total = oracle.loss(
        *arguments, temperature=3.0, contrast_temperature=2.0, balance=0.7
    )
    np.testing.assert_allclose(sum(computed.values()), total, rtol=1e-4)


def test_the_contrast_is_for_training_alone(episode):
    head = built()
    losses = head.loss(episode, head.answer(episode), tf.constant(LABELS))
    assert losses.keys() == {"classification"}


@pytest.mark.parametrize("mode", modes.MODES)
def test_the_walk_begins_at_adapted_prototypes(mode, episode):
    head = wild()
    walk = Walk(WalkConfig(0.5, steps=2, decay=0.6, temperature=3.0))

    def terms(*parts):
        given = EmbeddedEpisode(*parts)
        context = Context(None, given, head.answer(given), None, None, None)
        return walk.terms(context).losses

    losses = modes.run(mode, terms, *episode)
    walker, visit, _ = oracle.walk_losses(
        episode.support, episode.unlabeled, weights(head), 3.0, steps=2, decay=0.6
    )
    np.testing.assert_allclose(losses["walker"], 0.5 * walker, rtol=1e-4)
    np.testing.assert_allclose(losses["visit"], 0.5 * visit, rtol=1e-4)


@pytest.mark.parametrize("kind", [Feat, SemiFeat])
def test_classes_and_points_have_no_order(kind, episode):
    head, order = wild(kind), [2, 0, 1]
    support, queries, unlabeled = episode
    expected = scores_of(head, *episode).numpy()
    turned = scores_of(head, support[order], queries, unlabeled[::-1].copy())
    np.testing.assert_allclose(turned, expected[:, order], rtol=1e-4, atol=1e-5)


def test_only_the_semi_supervised_one_sees_unlabelled_points(episode):
    support, queries, unlabeled = episode
    for kind, differs in ((Feat, False), (SemiFeat, True)):
        head = wild(kind)
        both = [scores_of(head, support, queries, u) for u in (unlabeled, -unlabeled)]
        assert np.allclose(*both) != differs
        assert head.uses_unlabeled == differs
    nothing = np.zeros([0, 4], np.float32)
    alone = [
        scores_of(wild(kind), support, queries, nothing) for kind in (Feat, SemiFeat)
    ]
    np.testing.assert_array_equal(*alone)


def test_many_episodes_at_once():
    support, queries, unlabeled = points(2, 3, 1, 4), points(2, 5, 4), points(2, 7, 4)
    head = wild(SemiFeat)
    scores = scores_of(head, support, queries, unlabeled)
    for index in range(2):
        single = scores_of(head, support[index], queries[index], unlabeled[index])
        np.testing.assert_allclose(scores[index], single, rtol=1e-4, atol=1e-5)


def test_dropout_is_for_training_alone(episode):
    head = built(config=FeatConfig())
    calm = [head.answer(episode).scores.numpy() for _ in range(2)]
    noisy = [head.answer(episode, training=True).scores.numpy() for _ in range(2)]
    np.testing.assert_array_equal(*calm)
    assert not np.array_equal(*noisy)


def test_first_weights():
    def kernel(seed) -> np.ndarray:
        head = Feat(seed=seed)
        head.build((None, 64))
        return np.stack([each.numpy() for each in head.trainable_variables[:3]])

    first, same, other = kernel(0), kernel(0), kernel(1)
    np.testing.assert_array_equal(first, same)
    assert np.std(first) == pytest.approx(np.sqrt(2 / 128), rel=0.03)
    assert len({each.tobytes() for each in (*first, *other)}) == 6


def config(**changes) -> TrainConfig:
    """A run of FEAT on small images."""
    spec = EpisodeSpec(way=3, shot=1, query=2, unlabeled=2)
    return TrainConfig(
        dataset="glyphs",
        method="feat_walk",
        train=spec,
        test=spec,
        image_shape=(16, 16, 1),
        channels=4,
        walk=WalkConfig(temperature=3.0),
        feat=FeatConfig(temperature=4.0),
        optimizer=OptimizerConfig(learning_rate=RATE, halve_at=(2,)),
        conv_block="plain",
        **changes,
    )


def images(index: int) -> Episode:
    generator = np.random.default_rng(index)

    def drawn(*shape):
        return tf.constant(generator.integers(0, 256, (*shape, 16, 16, 1)), tf.uint8)

    return Episode(drawn(3, 1), drawn(3, 2), drawn(6), index=tf.constant(index))


def values(variables) -> list[np.ndarray]:
    return [variable.numpy() for variable in variables]


def test_every_variable_learns_and_the_heads_ten_times_as_fast():
    model = build.trainable_model(config())
    names = [group.name for group in model.optimizer_groups]
    assert names == ["optimizer", "head_optimizer"]
    for group, factor in zip(model.optimizer_groups, (1, 10), strict=True):
        assert float(group.optimizer.learning_rate) == pytest.approx(factor * RATE)
    before = [values(group.variables) for group in model.optimizer_groups]
    logs = model.train_step(images(0))
    terms = ("classification", "contrast", "weight_decay", "walker", "visit")
    assert float(logs["loss"]) == pytest.approx(sum(float(logs[t]) for t in terms))
    for group, old, factor in zip(model.optimizer_groups, before, (1, 10), strict=True):
        # Adam's first step is the rate, whatever the gradient.
        steps = [
            np.abs(now - was).max()
            for now, was in zip(values(group.variables), old, strict=True)
        ]
        np.testing.assert_allclose(steps, factor * RATE, rtol=0.05)
        assert int(group.optimizer.iterations) == 1


def test_a_checkpoint_holds_the_heads_optimizer_and_the_dropouts(tmp_path):
    model = build.trainable_model(config())
    for index in range(2):
        model.train_step(images(index))
    Checkpoints(tmp_path, model).save(2)
    other = build.trainable_model(config(seed=1))
    assert Checkpoints(tmp_path, other).restore().step == 2
    assert int(other.head_optimizer.iterations) == 2
    assert float(other.head_optimizer.learning_rate) == pytest.approx(5 * RATE)
    for each in (model, other):
        each.train_step(images(2))
    for now, expected in zip(
        values(other.variables), values(model.variables), strict=True
    ):
        np.testing.assert_array_equal(now, expected)
    for group, expected in zip(
        other.optimizer_groups, model.optimizer_groups, strict=True
    ):
        pairs = zip(
            group.optimizer.variables, expected.optimizer.variables, strict=True
        )
        for now, then in pairs:
            np.testing.assert_array_equal(now, then)
