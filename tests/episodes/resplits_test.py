"""One embedded episode as several tasks: their mean, and nothing else."""

import dataclasses

import keras
import numpy as np
import pytest
import tensorflow as tf

from prwn_tf import build, protocols
from prwn_tf.config import EpisodeSpec, WalkConfig
from prwn_tf.encoders.conv4 import Conv4
from prwn_tf.episodes import resplits
from prwn_tf.episodes.pipeline import Episode
from prwn_tf.head_parts import FeatConfig
from prwn_tf.heads.feat import Feat
from prwn_tf.heads.prototypes import PrototypeHead
from prwn_tf.model import FewShotModel
from prwn_tf.regularizers.vat import Vat
from prwn_tf.regularizers.walk import Walk
from tests.own.my_parts import Rival, RivalConfig

WAY, SHOT, QUERY = 3, 2, 3
INDEX, SEED = 7, 4
HEADS = {
    "prototypes": PrototypeHead,
    "feat": lambda: Feat(FeatConfig(attention_dropout=0.0, dropout=0.0)),
}


def orders(number, index=INDEX, seed=SEED) -> np.ndarray:
    return np.array(resplits.orders(number, WAY, SHOT + QUERY, seed, index))


def test_orders_are_permutations_of_each_class():
    drawn = orders(50)
    assert drawn.shape == (50, WAY, SHOT + QUERY)
    np.testing.assert_array_equal(
        np.sort(drawn), np.broadcast_to(np.arange(5), drawn.shape)
    )
    assert len({row.tobytes() for row in drawn.reshape(-1, 5)}) > 60  # of 120
    np.testing.assert_array_equal(drawn, orders(50))
    assert not np.array_equal(drawn, orders(50, index=INDEX + 1))
    assert not np.array_equal(drawn, orders(50, seed=SEED + 1))


@pytest.fixture
def episode() -> Episode:
    generator = np.random.default_rng(0)

    def images(*shape):
        return tf.constant(generator.integers(0, 256, (*shape, 16, 16, 1)), tf.uint8)

    parts = images(WAY, SHOT), images(WAY, QUERY), images(6)
    return Episode(*parts, index=tf.constant(INDEX, tf.int64))


def model(number: int, head="prototypes", terms=()) -> FewShotModel:
    made = FewShotModel(
        Conv4(channels=4, scale=0.3),
        HEADS[head](),
        [Walk(WalkConfig(0.5, steps=1)), *(term() for term in terms)],
        resplits=number,
        seed=SEED,
    )
    made.build((None, 16, 16, 1))
    made.compile(optimizer=keras.optimizers.SGD(0.1))
    made.build_optimizers()
    return made


def by_hand(episode: Episode, number: int) -> list[Episode]:
    """The tasks that a step with several should take the mean of."""
    tasks = [episode]
    for order in orders(number - 1):
        labeled = np.concatenate([episode.support, episode.query], axis=1)
        labeled = np.stack([labeled[n][order[n]] for n in range(WAY)])
        tasks.append(
            episode._replace(
                support=tf.constant(labeled[:, :SHOT]),
                query=tf.constant(labeled[:, SHOT:]),
            )
        )
    return tasks


@pytest.mark.parametrize(
    ("number", "head", "terms"),
    [(1, "prototypes", ()), (3, "prototypes", (Vat,)), (4, "feat", ())],
)
def test_a_step_is_the_mean_of_tasks_split_by_hand(episode, number, head, terms):
    several = model(number, head, terms)
    logs = several.train_step(episode)
    singles = [model(1, head, terms) for _ in range(number)]
    expected = [
        single.train_step(task)
        for single, task in zip(singles, by_hand(episode, number), strict=True)
    ]
    assert logs.keys() == expected[0].keys()
    assert number == 1 or float(expected[0]["loss"]) != float(expected[1]["loss"])
    for name, value in logs.items():
        mean = np.mean([float(each[name]) for each in expected])
        assert float(value) == pytest.approx(mean, rel=1e-4, abs=1e-6), name
    # A step of SGD is as long as its gradient, so weights have that mean as well. VAT
    # looks for a direction by small differences, which are noisy.
    tolerance = 1e-3 if terms else 1e-5
    theirs = zip(*(single.trainable_variables for single in singles), strict=True)
    for moved, others in zip(several.trainable_variables, theirs, strict=True):
        mean = np.mean([other.numpy() for other in others], axis=0)
        np.testing.assert_allclose(moved, mean, rtol=1e-3, atol=tolerance)


def test_averages_move_once(episode):
    one, several = model(1), model(5)
    for each in (one, several):
        each.train_step(episode)
    for ours, theirs in zip(
        several.encoder.non_trainable_variables,
        one.encoder.non_trainable_variables,
        strict=True,
    ):
        np.testing.assert_array_equal(ours, theirs)


def test_a_players_own_loss_is_a_mean_as_well(episode):
    several = model(3, terms=(lambda: Rival(RivalConfig()),))
    logs = several.train_step(episode)
    [player] = several.players
    assert np.isfinite(float(logs[player.own_name]))
    assert int(player.optimizer.iterations) == 1


def test_tests_are_not_resplit(episode):
    first, second = (model(number).test_step(episode) for number in (1, 9))
    assert float(first["loss"]) == float(second["loss"])


def test_a_config_asks_for_it():
    config = protocols.protocol(protocols.Task("glyphs", "pn"))
    config = dataclasses.replace(
        config, train=EpisodeSpec(2, 1, 1), resplits=6, seed=3, channels=2
    )
    built = build.build_model(config)
    assert (built.resplits, built.seed) == (6, 3)
