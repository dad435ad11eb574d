"""Accuracy over test episodes (methods.md 2.7)."""

import math

import numpy as np


def accuracy_and_interval(
    correct: np.ndarray, queries_per_episode: int
) -> tuple[float, float]:
    """Pooled accuracy and 1.96 std / sqrt(E), population std (sections 2.7, 18-38).

    `correct` [E] counts the right answers of each episode; both results are fractions.
    """
    episodes = len(correct)
    accuracy = sum(float(c) for c in correct) / (episodes * queries_per_episode)
    spread = 0.0
    for count in correct:
        spread += (float(count) / queries_per_episode - accuracy) ** 2
    deviation = math.sqrt(spread / episodes)
    return accuracy, 1.96 * deviation / math.sqrt(episodes)
