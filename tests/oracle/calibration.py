"""Calibration, answer by answer: likelihood, and the gap between word and deed."""

import numpy as np

from tests.oracle.prototypes import log_sum_exp


def negative_log_likelihood(
    scores: np.ndarray, labels: np.ndarray, temperature: float
) -> float:
    """Mean of -log softmax(scores / temperature)[label]: [n, C], [n]."""
    total = 0.0
    for row, label in zip(np.asarray(scores, np.float64), labels, strict=True):
        total += log_sum_exp(row / temperature) - row[label] / temperature
    return total / len(labels)


def calibration_error(
    confidences: np.ndarray, correct: np.ndarray, bins: int = 15
) -> float:
    """Sum over bins of (answers in it / all) |accuracy - mean confidence|."""
    total = 0.0
    for place in range(bins):
        chosen = [
            (sure, right)
            for sure, right in zip(confidences, correct, strict=True)
            if place / bins <= sure < (place + 1) / bins
            or (place == bins - 1 and sure == 1.0)
        ]
        if chosen:
            sure, right = (
                sum(each) / len(chosen) for each in zip(*chosen, strict=True)
            )
            total += len(chosen) / len(confidences) * abs(right - sure)
    return total
