"""The losses of MetaGAN on any scores, point by point (methods.md 12).

Axes: N classes, P points, U unlabelled and G generated ones, D embedding size.
"""

import numpy as np

from tests.oracle.prototypes import log_sum_exp, softmax


def probabilities(
    scores: np.ndarray, scale: float = 1.0, offset: float = 0.0
) -> np.ndarray:
    """Of the N classes, then of the fake one, whose logit is 0: [P, N] -> [P, N + 1].

    The logit of class c is scale * score_c + offset.
    """
    logits = scale * np.asarray(scores, np.float64) + offset
    return np.array([softmax(np.append(row, 0.0)) for row in logits])


def real_loss(scores: np.ndarray, scale: float = 1.0, offset: float = 0.0) -> float:
    """Mean of -log p(real): of the classifier on unlabelled points [U, N].

    It is the generator's own on generated ones, if that is not of features.
    """
    real = probabilities(scores, scale, offset)[:, :-1].sum(axis=1)
    return float(np.mean([-np.log(p) for p in real]))


def fake_loss(scores: np.ndarray, scale: float = 1.0, offset: float = 0.0) -> float:
    """Mean of -log p(fake): of the classifier on generated points [G, N]."""
    fake = probabilities(scores, scale, offset)[:, -1]
    return float(np.mean([-np.log(p) for p in fake]))


def feature_loss(real: np.ndarray, fake: np.ndarray) -> float:
    """Squared distance of the mean embeddings: [U, D], [G, D]."""
    total = 0.0
    for k in range(real.shape[1]):
        total += (np.mean(real[:, k]) - np.mean(fake[:, k])) ** 2
    return float(total)


def first_offset(scores: np.ndarray) -> float:
    """The offset at which half of the points [U, N] are taken for real."""
    return -float(np.median([log_sum_exp(row) for row in scores]))
