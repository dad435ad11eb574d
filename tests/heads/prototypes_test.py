import numpy as np
import pytest

from prwn_tf.heads import prototypes
from prwn_tf.heads.adapted import ADAPT, AdaptedHead
from prwn_tf.heads.base import EmbeddedEpisode
from tests import modes
from tests.heads.answers import scores_of
from tests.oracle import prototypes as oracle
from tests.oracle import walk as walk_oracle


@pytest.fixture
def episode():
    """Support [3, 2, 4], queries [5, 4], unlabelled points [7, 4]."""
    generator = np.random.default_rng(0)
    return tuple(generator.normal(size=shape) for shape in [(3, 2, 4), (5, 4), (7, 4)])


@pytest.mark.parametrize("mode", modes.MODES)
def test_scores_match_oracle(mode, episode):
    support, queries, _ = episode
    found = modes.run(mode, scores_of, prototypes.PrototypeHead(), *episode)
    expected = oracle.scores(oracle.prototypes(support), queries)
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("mode", modes.MODES)
@pytest.mark.parametrize("weighted", [False, True])
def test_refine_matches_oracle(mode, weighted, episode):
    support, _, unlabeled = episode
    weights = np.array([1.0, 0, 1, 0.5, 0, 1, 2]) if weighted else None
    found = modes.run(
        mode, lambda s, u: prototypes.refine(s, u, weights), support, unlabeled
    )
    np.testing.assert_allclose(
        found, oracle.refine(support, unlabeled, weights), rtol=1e-12
    )


def test_refine_without_points_changes_nothing(episode):
    support, _, unlabeled = episode
    means = prototypes.mean_prototypes(support)
    for points, weights in ((unlabeled[:0], None), (unlabeled, np.zeros(7))):
        np.testing.assert_allclose(prototypes.refine(support, points, weights), means)


def test_refine_by_hand():
    # One support point a class at -1 and 1; a point at 0 is shared evenly.
    support = np.array([[[-1.0]], [[1.0]]])
    found = prototypes.refine(support, np.array([[0.0]]))
    np.testing.assert_allclose(found, [[-1 / 1.5], [1 / 1.5]])


def test_filter_uses_the_points_the_walk_returns_through(episode):
    support, queries, unlabeled = episode
    head = AdaptedHead("filter")
    means = oracle.prototypes(support)
    kept = walk_oracle.keep_above_median(walk_oracle.success_score(means, unlabeled))
    expected = oracle.refine(support, unlabeled, kept)
    moved = prototypes.filtered(support, unlabeled)
    np.testing.assert_allclose(moved, expected, rtol=1e-9)
    np.testing.assert_allclose(
        scores_of(head, support, queries, unlabeled),
        oracle.scores(expected, queries),
        rtol=1e-9,
    )


@pytest.mark.parametrize("adapt", ADAPT)
def test_many_episodes_at_once(adapt, episode):
    head = AdaptedHead(adapt)
    together = scores_of(head, *(np.stack([part, part + 1]) for part in episode))
    np.testing.assert_allclose(together[0], scores_of(head, *episode), rtol=1e-9)
    moved = scores_of(head, *(part + 1 for part in episode))
    np.testing.assert_allclose(together[1], moved, rtol=1e-9)


def test_a_head_adapts_in_the_ways_that_it_names():
    head = prototypes.PrototypeHead()
    every = (*head.adaptations, *head.rivals)
    for adapt in every[1:]:
        assert head.adapted(adapt).adapt == adapt
    assert head.adapted("none") is head
    assert set(every) == set(ADAPT)


def test_further_points_are_classified_as_queries_are(episode):
    support, queries, unlabeled = episode
    embedded = EmbeddedEpisode(support, queries[:1], unlabeled)
    for head in (prototypes.PrototypeHead(), AdaptedHead("refine")):
        scores = head.classify(embedded, queries)
        np.testing.assert_allclose(scores, scores_of(head, *episode), rtol=1e-9)
