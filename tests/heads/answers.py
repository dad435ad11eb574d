"""The scores of a head, without what comes with them."""

import tensorflow as tf

from prwn_tf.heads.base import EmbeddedEpisode, Head


def scores_of(head: Head, support, queries, unlabeled) -> tf.Tensor:
    """Returns the logits of the queries: [N, K, D], [Q, D], [U, D] -> [Q, N]."""
    return head.answer(EmbeddedEpisode(support, queries, unlabeled)).scores
