import dataclasses

import numpy as np
import pytest

from prwn_tf.analysis import scale
from prwn_tf.analysis.settings import Settings
from prwn_tf.config import EpisodeSpec
from prwn_tf.evaluation.embeddings import Embeddings

SPEC = EpisodeSpec(way=2, shot=1, query=1, unlabeled=3)


def test_spread_by_all_pairs(make_subject):
    subject = make_subject()
    vectors = subject.embeddings.gather(range(72)).numpy().reshape(8, 9, 8)
    centres = vectors.mean(axis=1)
    pairs = [np.sum((centres[a] - centres[b]) ** 2) for a in range(8) for b in range(a)]
    spread = scale.measure(subject)
    assert spread.between == pytest.approx(np.mean(pairs))
    within = np.sum((vectors - centres[:, None]) ** 2, axis=2)
    assert spread.within == pytest.approx(within.mean())
    assert spread.ratio == pytest.approx(np.mean(pairs) / within.mean())


def test_the_common_scale_has_classes_as_far_apart_in_every_run(make_subject):
    for spread in (0.2, 1.0):
        subject = make_subject(spread=spread)
        factor = scale.at_common_scale(subject).scale
        vectors = factor * subject.embeddings.gather(range(72)).numpy()
        rescaled = dataclasses.replace(subject, embeddings=Embeddings.of(vectors))
        assert scale.measure(rescaled).between == pytest.approx(16)


def test_a_dead_network_stays_as_it_is(make_subject):
    subject = dataclasses.replace(
        make_subject(), embeddings=Embeddings.of(np.ones((72, 4)))
    )
    assert scale.measure(subject) == scale.Spread(0, 0)
    assert scale.at_common_scale(subject).scale == 1
    assert scale.measure(subject).ratio == 0


def test_finding(make_subject):
    finding = scale.analyze([make_subject("PN")], Settings(SPEC, SPEC))
    [row] = finding.tables["scale"]
    assert set(row) == {"run", "between", "within", "ratio", "factor"}
    assert finding.lines[1].split()[:2] == ["PN", f"{row['between']:.2f}"]
