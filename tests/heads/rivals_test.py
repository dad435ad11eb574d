"""The rivals of the gate against their oracles."""

import numpy as np
import pytest

from prwn_tf.heads import label_mass, oslo, unit_kmeans
from tests import modes
from tests.oracle import prototypes as prototype_oracle
from tests.oracle import rivals as oracle


@pytest.fixture
def episode():
    """Support [3, 2, 5], queries [4, 5], unlabelled points [9, 5]."""
    generator = np.random.default_rng(0)
    centers = 2 * generator.normal(size=(3, 5))
    support = centers[:, None] + generator.normal(size=(3, 2, 5))
    unlabeled = np.repeat(centers, 3, axis=0) + generator.normal(size=(9, 5))
    return support, generator.normal(size=(4, 5)), unlabeled


def labelled(support):
    return support.reshape(-1, 5), np.repeat(np.arange(3), support.shape[1])


@pytest.mark.parametrize("mode", modes.MODES)
@pytest.mark.parametrize("power", [1.0, 2.0])
def test_label_propagation_matches_oracle(mode, power, episode):
    support, _, unlabeled = episode
    rules = {"neighbors": 4, "alpha": 0.7, "power": power}

    def prototypes(*points):
        return label_mass.spread_classes(*points, **rules).prototypes

    actual = modes.run(mode, prototypes, support, unlabeled)
    expected = oracle.label_propagation(*labelled(support), unlabeled, **rules)
    np.testing.assert_allclose(actual, expected, rtol=1e-9)


@pytest.mark.parametrize("mode", modes.MODES)
@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (oslo.oslo_classes, oracle.oslo),
        (unit_kmeans.clustered_classes, oracle.soft_kmeans),
    ],
    ids=["oslo", "kmeans"],
)
def test_on_unit_vectors_they_match_their_oracles(mode, ours, theirs, episode):
    support, queries, unlabeled = episode
    actual = modes.run(mode, lambda s, q, u: ours(s, u).scores(q), *episode)
    prototypes, center = theirs(*labelled(support), unlabeled)
    expected = prototype_oracle.scores(prototypes, oracle.around(center, queries))
    np.testing.assert_allclose(actual, expected, rtol=1e-9)


@pytest.mark.parametrize(
    "classes",
    [label_mass.spread_classes, oslo.oslo_classes, unit_kmeans.clustered_classes],
)
def test_without_unlabelled_points_and_where_all_are_the_same(classes, episode):
    support, queries, unlabeled = episode
    alone = classes(support, unlabeled[:0])
    assert np.isfinite(alone.scores(queries)).all()
    same = classes(np.ones_like(support), np.ones_like(unlabeled))
    assert np.isfinite(same.scores(queries)).all()
