"""The walk in tiles is the walk, whatever the tiles, in a fraction of the memory."""

import numpy as np
import pytest
import tensorflow as tf

from prwn_tf.config import WalkConfig
from prwn_tf.heads.base import Answer, EmbeddedEpisode
from prwn_tf.regularizers.base import Context
from prwn_tf.regularizers.walk import Walk
from prwn_tf.walk import graph, losses
from prwn_tf.walk.arithmetic import Logarithms, Probabilities
from tests import modes
from tests.oracle import walk as oracle

WHOLE = 2**30
POINTS = 17


def points(*shape, seed=0, scale=1.0):
    return scale * np.random.default_rng(seed).normal(size=shape)


def walk(prototypes, unlabeled, held, steps=3, smoothing=0.1, **options):
    """Returns losses and statistics of a walk, then the gradients of both inputs.

    The landing probabilities are wanted high and low by turns, so that gradients of
    both signs meet.
    """
    prototypes, unlabeled = map(tf.convert_to_tensor, (prototypes, unlabeled))
    with tf.GradientTape() as tape:
        tape.watch([prototypes, unlabeled])
        found = losses.walk_losses(
            prototypes, unlabeled, steps, 0.7, smoothing, held=held, **options
        )
        signs = tf.constant([(-1.0) ** t for t in range(steps + 1)], prototypes.dtype)
        total = found.walker + found.visit + 5 * tf.reduce_sum(signs * found.landing)
    return *found, *tape.gradient(total, [prototypes, unlabeled])


def assert_same(found, expected, tolerance):
    for ours, theirs in zip(found, expected, strict=True):
        scale = np.max(np.abs(theirs))
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=tolerance * scale)


@pytest.mark.parametrize("mode", modes.MODES)
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_losses_and_gradients_are_those_of_the_whole(mode, smoothing):
    episode = points(3, 4), points(POINTS, 4, seed=1)
    expected = walk(*episode, WHOLE, smoothing=smoothing)
    found = modes.run(
        mode,
        # 5 rows in a tile, which leaves 2 for the last.
        lambda p, u: (
            walk(p, u, 15 * POINTS, smoothing=smoothing)
            if smoothing == 0
            else walk(p, u, 5 * POINTS, smoothing=smoothing)
        ),
        *episode,
    )
    assert_same(found, expected, 1e-12)


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("steps", [0, 1, 2, 5])
@pytest.mark.parametrize("held", [1, POINTS * POINTS - 1])
def test_any_number_of_steps_and_rows(smoothing, steps, held):
    episode = points(3, 4), points(POINTS, 4, seed=1)
    expected = walk(*episode, WHOLE, steps, smoothing)
    assert_same(walk(*episode, held, steps, smoothing), expected, 1e-12)


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_float32_agrees_to_1e_5(smoothing):
    episode = [
        part.astype(np.float32) for part in (points(5, 64), points(120, 64, seed=1))
    ]
    expected = walk(*episode, WHOLE, smoothing=smoothing)
    assert_same(walk(*episode, 2000, smoothing=smoothing), expected, 1e-5)


def test_matches_oracle():
    episode = points(3, 4), points(POINTS, 4, seed=1)
    expected = oracle.walk_losses(*episode, 3, 0.7, 0.1)
    assert_same(walk(*episode, 4 * POINTS)[:3], expected, 1e-9)


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_leading_axes_are_episodes(smoothing):
    episodes = points(2, 3, 4), points(2, POINTS, 4, seed=1)
    expected = walk(*episodes, WHOLE, smoothing=smoothing)
    assert_same(walk(*episodes, 200, smoothing=smoothing), expected, 1e-12)


def test_any_similarity_and_penalty():
    episode = points(3, 4), points(POINTS, 4, seed=1)
    options = {"similarity": graph.dot_product_with, "self_loop_penalty": 1.0}
    expected = walk(*episode, WHOLE, **options)
    assert_same(walk(*episode, 60, **options), expected, 1e-12)
    assert np.abs(walk(*episode, 60)[0] - expected[0]) > 0.01


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_far_points_are_finite(smoothing):
    episode = points(3, 64, scale=10), points(40, 64, seed=1, scale=10)
    episode = [part.astype(np.float32) for part in episode]
    for each in walk(*episode, 200, smoothing=smoothing):
        assert np.all(np.isfinite(each))


def largest_tensor(number, held):
    """Returns the size of the largest tensor of a walk and its gradient."""
    spec = tf.TensorSpec([number, 3])
    function = tf.function(lambda p, u: walk(p, u, held), autograph=False)
    traced = function.get_concrete_function(tf.TensorSpec([4, 3]), spec).graph
    waiting, sizes = [traced], []
    while waiting:
        here = waiting.pop()
        tensors = [tensor for op in here.get_operations() for tensor in op.outputs]
        sizes += [tensor.shape.num_elements() or 0 for tensor in tensors]
        for op in here.get_operations():
            if op.type in ("While", "StatelessWhile"):
                names = (op.get_attr(part).name for part in ("cond", "body"))
                waiting += [here._get_function(name).graph for name in names]
    return max(sizes)


def test_no_tensor_grows_with_the_square_of_the_points():
    assert largest_tensor(100, WHOLE) == 100 * 100
    assert largest_tensor(100, held=900) <= 1200  # 12 numbers of starts a point
    assert largest_tensor(400, held=900) <= 4800


def test_the_size_of_the_graph_decides(monkeypatch):
    tiled = []
    by_tiles = losses.tiles.home_by_tiles

    def note(*arguments):
        tiled.append(arguments[5])  # rows
        return by_tiles(*arguments)

    monkeypatch.setattr(losses.tiles, "home_by_tiles", note)
    for number in (30, 31):
        for smoothing in (0.1, 0.0):
            walk(points(2, 3), points(number, 3), 30 * 30, smoothing=smoothing)
    assert tiled == [15, 29, 14]  # logarithms hold a number for each prototype


def test_a_tile_has_rows_enough():
    def rows(points, arithmetic):
        return losses._rows_held(tf.TensorShape([20, points]), None, arithmetic)

    assert rows(2_048, Probabilities) is None
    assert rows(4_096, Probabilities) == 1_024
    assert rows(100_000, Probabilities) == 256
    assert rows(100_000, Logarithms) == 12  # of as many numbers


def test_the_regularizer_walks_in_tiles():
    number = int(losses.HELD**0.5) + 1
    prototypes, unlabeled = (
        tf.constant(part, tf.float32) for part in (points(3, 4), points(number, 4))
    )
    context = Context(
        episode=None,
        embedded=EmbeddedEpisode(None, None, unlabeled),
        answer=Answer(None, prototypes),
        embed=None,
        classify=None,
        step=None,
    )
    config = WalkConfig(weight=2.0, temperature=3.0)
    found = Walk(config, compiled=True).terms(context)
    episode = [part / np.sqrt(3) for part in (prototypes, unlabeled)]
    expected = losses.walk_losses(*episode, held=WHOLE)
    walker, entropy = found.losses["walker"], found.statistics["visit_entropy"]
    assert float(walker) == pytest.approx(2 * float(expected.walker), rel=1e-5)
    assert float(entropy) == pytest.approx(float(expected.visit_entropy), rel=1e-5)
