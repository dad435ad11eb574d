import dataclasses

import numpy as np
import pytest

from prwn_tf.analysis import projection
from prwn_tf.analysis.settings import Settings
from prwn_tf.config import EpisodeSpec
from prwn_tf.errors import UserError
from prwn_tf.evaluation.embeddings import Embeddings

SPEC = EpisodeSpec(way=3, shot=2, query=1, unlabeled=4)


def test_pca_matches_the_covariance():
    vectors = np.random.default_rng(0).normal(size=(40, 5)) * [5, 1, 3, 0.5, 1]
    flat, explained = projection.pca(vectors)
    variances, axes = np.linalg.eigh(np.cov(vectors.T, bias=True))
    np.testing.assert_allclose(flat.var(axis=0), variances[:-3:-1])
    np.testing.assert_allclose(explained, variances[:-3:-1] / variances.sum())
    expected = (vectors - vectors.mean(axis=0)) @ axes[:, :-3:-1]
    np.testing.assert_allclose(np.abs(flat), np.abs(expected), atol=1e-9)


def test_pca_does_not_flip_with_the_order_of_the_points():
    vectors = np.random.default_rng(0).normal(size=(40, 5)) * [5, 1, 3, 0.5, 1]
    forward, _ = projection.pca(vectors)
    backward, _ = projection.pca(vectors[::-1])
    np.testing.assert_allclose(forward, backward[::-1], atol=1e-9)


def test_tsne_keeps_clusters_together():
    centres = np.repeat(20 * np.eye(3), 12, axis=0)
    vectors = centres + np.random.default_rng(0).normal(size=(36, 3))
    flat = projection.tsne(vectors)
    assert flat.shape == (36, 2)
    means = flat.reshape(3, 12, 2).mean(axis=1)
    within = np.linalg.norm(flat.reshape(3, 12, 2) - means[:, None], axis=2).max()
    between = min(
        np.linalg.norm(means[a] - means[b]) for a, b in [(0, 1), (0, 2), (1, 2)]
    )
    assert between > within


def test_map_shows_the_classes_and_prototypes_of_an_episode(make_subject):
    subject = make_subject()
    mapped = projection.embedding_map(subject, SPEC, episode=2)
    plan = subject.plan(SPEC, 2)
    classes = plan.classes.numpy()
    assert mapped.names == tuple(subject.store.names[index] for index in classes)
    assert mapped.pca.shape == mapped.tsne.shape == (3 * 9 + 3, 2)
    np.testing.assert_array_equal(mapped.classes, np.repeat([0, 1, 2], 9))
    # PCA is affine, so a prototype lies in the middle of its support.
    for place, (rows, index) in enumerate(
        zip(plan.support.numpy(), classes, strict=True)
    ):
        places = 9 * place + rows - subject.store.rows(index)[0]
        np.testing.assert_allclose(
            mapped.pca[27 + place], mapped.pca[places].mean(axis=0), atol=1e-4
        )


@pytest.mark.parametrize("spread", [0, 1])
def test_embeddings_of_one_number_or_all_alike(make_subject, spread):
    subject = make_subject()
    subject = dataclasses.replace(
        subject, embeddings=Embeddings.of(spread * np.arange(72.0)[:, None])
    )
    mapped = projection.embedding_map(subject, SPEC)
    assert mapped.explained == pytest.approx((spread, 0))
    assert np.isfinite(mapped.pca).all()
    assert mapped.pca.shape == mapped.tsne.shape == (30, 2)


def test_finding_has_a_row_for_each_point(make_subject):
    finding = projection.analyze([make_subject()], Settings(SPEC, SPEC, episode=1))
    rows = finding.tables["embedding"]
    assert len(rows) == 30
    assert rows[-1]["class"].startswith("prototype of class")
    assert set(rows[0]) == {"run", "class", "pca_1", "pca_2", "tsne_1", "tsne_2"}


def test_more_ways_than_classes(make_subject):
    with pytest.raises(UserError, match="9 classes"):
        projection.embedding_map(make_subject(), EpisodeSpec(9, 1, 1))
