import numpy as np
import pytest

from prwn_tf.walk import graph as graph_lib
from prwn_tf.walk import losses, way_out
from tests import modes
from tests.oracle import walk as oracle


def points(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape)


@pytest.mark.parametrize("mode", modes.MODES)
@pytest.mark.parametrize("steps", [0, 2])
def test_matches_oracle(mode, steps):
    prototypes, unlabeled = points(3, 4), points(7, 4, seed=1)
    stay = np.random.default_rng(2).uniform(0.1, 1, size=7)

    def walk(prototypes, unlabeled, stay):
        graph = graph_lib.log_transitions(prototypes, unlabeled)
        return way_out.walk_losses(graph, stay, steps, 0.7)

    walker, visit, landing, _ = modes.run(mode, walk, prototypes, unlabeled, stay)
    expected = oracle.walk_losses_with_way_out(
        prototypes, unlabeled, stay, steps, 0.7, 0.1
    )
    for ours, theirs in zip((walker, visit, landing), expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9)


def test_who_always_stays_visits_and_lands_as_in_the_paper():
    prototypes, unlabeled = points(3, 4), points(7, 4, seed=1)
    graph = graph_lib.log_transitions(prototypes, unlabeled)
    found = way_out.walk_losses(graph, np.ones(7), 3, 0.7)
    for ours, theirs in zip(
        found, losses.walk_losses(prototypes, unlabeled), strict=True
    ):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9)


def test_visiting_a_stranger_costs_less_the_likelier_the_way_out():
    prototypes = 5 * np.eye(3)
    unlabeled = np.concatenate([prototypes, np.full((1, 3), 2.0)])
    graph = graph_lib.log_transitions(prototypes, unlabeled)
    walkers = [
        float(way_out.walk_losses(graph, np.array([1, 1, 1, stay]), 1, 0.7).walker)
        for stay in (1.0, 0.5, 1e-3)
    ]
    assert walkers == sorted(walkers, reverse=True)
    assert walkers[-1] < walkers[0] - 0.01
