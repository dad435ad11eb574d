"""Soft k-means to the end as a rival of the gate, on unit vectors around their mean.

Each step shares every unlabelled point out by softmax of −T d² and moves the means;
support keeps its labels. On clean and balanced pools nothing here is better, and among
distractors nothing is worse: whatever is unlabelled has to be of some class.
"""

import tensorflow as tf

from prwn_tf.heads.classes import Classes
from prwn_tf.heads.prototypes import mean_prototypes, moved_prototypes, nearest_scores
from prwn_tf.heads.unit_vectors import unit_episode

# The best on clean pools of validation classes; among distractors, fewer steps are.
SHARPNESS = 5.0
STEPS = 10


def clustered_classes(
    support: tf.Tensor,
    unlabeled: tf.Tensor,
    sharpness: float = SHARPNESS,
    steps: int = STEPS,
) -> Classes:
    """Returns the classes of an episode by soft k-means: [N, K, D], [U, D]."""
    center, support, points = unit_episode(support, unlabeled)
    prototypes = mean_prototypes(support)
    for _ in range(steps):
        share = tf.nn.softmax(sharpness * nearest_scores(prototypes, points))  # [U, N]
        prototypes = moved_prototypes(support, points, share)
    return Classes(prototypes, center=center)
