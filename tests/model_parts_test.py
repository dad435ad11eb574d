"""What a wider part brings to a training step: losses, decay, variables, optimizers."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from prwn_tf.config import EntropyConfig, VatConfig, WalkConfig
from prwn_tf.encoders.conv4 import Conv4
from prwn_tf.episodes.pipeline import Episode
from prwn_tf.errors import UserError
from prwn_tf.heads.kmeans import ClusterKMeans
from prwn_tf.heads.prototypes import PrototypeHead
from prwn_tf.model import FewShotModel
from prwn_tf.regularizers.entropy import Entropy, entropy
from prwn_tf.regularizers.vat import Vat
from prwn_tf.regularizers.walk import Walk
from tests.own.my_parts import NoisyConfig, NoisyHead, Rival, RivalConfig


def episode(index=0) -> Episode:
    generator = np.random.default_rng(0)

    def images(*shape):
        pixels = generator.integers(0, 256, (*shape, 16, 16, 1))
        return tf.constant(pixels, tf.uint8)

    return Episode(images(3, 2), images(3, 2), images(8), index=tf.constant(index))


def build(head, regularizers, weight_decay=5e-5) -> FewShotModel:
    encoder = Conv4(channels=4, weight_decay=weight_decay)
    model = FewShotModel(encoder, head, regularizers)
    model.build((None, 16, 16, 1))
    model.compile(optimizer=keras.optimizers.Adam(1e-2))
    model.build_optimizers()
    return model


def wide(**rival) -> FewShotModel:
    terms = [Walk(WalkConfig()), Rival(RivalConfig(**rival))]
    return build(NoisyHead(NoisyConfig()), terms)


def values(logs) -> dict[str, float]:
    return {name: float(value) for name, value in logs.items()}


@pytest.mark.parametrize("xla", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_the_loss_is_the_sum_of_all_terms_but_the_players(xla):
    model = wide()
    step = tf.function(model.train_step, jit_compile=xla, autograph=False)
    logs = values(step(episode()))
    names = ("classification", "spread", "weight_decay", "walker", "visit", "rival")
    assert logs["loss"] == pytest.approx(sum(logs[name] for name in names), rel=1e-5)
    assert "rival_generator" in logs


def test_a_player_learns_by_its_own_optimizer_alone():
    model = wide(weight=9.0)
    [player] = model.players
    player.optimizer.learning_rate = 0.0
    before = player.generator.kernel.numpy()
    model.train_step(episode())
    np.testing.assert_array_equal(player.generator.kernel.numpy(), before)
    player.optimizer.learning_rate = 0.01
    model.train_step(episode())
    assert not np.array_equal(player.generator.kernel.numpy(), before)
    common, own = (group.variables for group in model.optimizer_groups)
    assert [id(v) for v in own] == [id(v) for v in player.trainable_variables]
    together = {id(variable) for variable in (*common, *own)}
    assert together == {id(variable) for variable in model.trainable_variables}
    assert len(common) + len(own) == len(together)


def test_two_parts_of_one_name_are_refused():
    class Twin(Rival):
        names = ("twin",)

    players = [Rival(RivalConfig()), Twin(RivalConfig())]
    with pytest.raises(UserError, match="two parts of the model report rival_gen"):
        FewShotModel(Conv4(4), PrototypeHead(), players)


def test_a_player_without_a_loss_is_named():
    class Silent(Rival):
        def terms(self, context):
            return super().terms(context)._replace(own_loss=None)

    model = build(PrototypeHead(), [Silent(RivalConfig())])
    with pytest.raises(TypeError, match="Silent has an optimizer and no own_loss"):
        model.train_step(episode())


def test_the_decay_of_every_part_counts_where_it_learns():
    class Decaying(PrototypeHead):
        def build(self, input_shape):
            regularizer = keras.regularizers.L2(0.5)
            self.kernel = self.add_weight(
                shape=(2,), initializer="ones", regularizer=regularizer
            )

    plain, wider = (build(head(), []) for head in (PrototypeHead, Decaying))
    gap = [
        values(model.test_step(episode()))["weight_decay"] for model in (plain, wider)
    ]
    assert gap[1] - gap[0] == pytest.approx(0.5 * 2)

    model = build(PrototypeHead(), [Rival(RivalConfig())], weight_decay=0.0)
    [player] = model.players
    kernel = player.generator.kernel.numpy()
    [context] = model._contexts(episode(), training=True)
    own = float(player.terms(context).own_loss) + 1e-3 * np.sum(kernel**2)
    logs = values(model.train_step(episode()))
    assert logs["rival_generator"] == pytest.approx(own, rel=1e-3)
    assert logs["weight_decay"] == 0


def test_terms_ask_the_head_whatever_it_is():
    """A cluster of distractors is a class that VAT and entropy see as well."""
    model = build(
        ClusterKMeans(radius=3.0), [Entropy(EntropyConfig()), Vat(VatConfig())]
    )
    [context] = model._contexts(episode(), training=True)
    unlabeled = context.embedded.unlabeled
    asked = context.embedded._replace(queries=unlabeled)
    scores = model.head.answer(asked).scores  # [U, N + 1]
    assert scores.shape == (8, 4)
    terms = model.regularizers[0].terms(context)
    expected = tf.reduce_mean(entropy(scores))
    np.testing.assert_allclose(terms.losses["entropy"], expected, rtol=1e-5)


def test_randomness_follows_the_episode_not_the_optimizer():
    def vat(index: int, iterations: int) -> float:
        model = build(PrototypeHead(), [Vat(VatConfig(epsilon=0.5))])
        model.optimizer.iterations.assign(iterations)
        return values(model.train_step(episode(index)))["vat"]

    assert vat(5, iterations=0) == vat(5, iterations=7)
    assert vat(5, iterations=0) != vat(6, iterations=0)
