"""Episodes that hold images of further classes, which a model should not mistake.

An episode's strangers are neither among its own classes nor among its unlabelled
points. They are drawn as its last distractor classes.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from prwn_tf.config import EpisodeSpec
from prwn_tf.episodes import plan as plan_lib
from prwn_tf.episodes.pools import Pools
from prwn_tf.evaluation import curves
from prwn_tf.evaluation.embeddings import Embeddings
from prwn_tf.evaluation.evaluate import batch_size
from prwn_tf.heads.adapted import ADAPT
from prwn_tf.heads.base import EmbeddedEpisode, Head
from prwn_tf.heads.classes import labeled_points, stranger_distance

QUERIES = 5  # of a class, at most
UNLABELED = 5  # of a class, where the task has none


class Responses(NamedTuple):
    """What one adaptation answers to some episodes.

    Features are `curves.log_distances`; heads that are more than prototypes have none.
    """

    scores: np.ndarray  # [E, Q, C] of the queries
    own: np.ndarray  # [E, Q, 2] their features
    strangers: np.ndarray  # [E, S, 2] and those of images of other classes


def spec_like(pools: Pools, task: EpisodeSpec, shot: int) -> EpisodeSpec | None:
    """Returns episodes like those of a task, as far as there are images for them.

    Distractor classes beyond those of the task are strangers, as many as ways.
    """
    classes, images = len(pools.names), int(pools.labeled.min(initial=2**31 - 1))
    way, room = min(task.way, classes), images - shot
    if way < 2 or room < 2:
        return None
    query = min(QUERIES, task.query, room // 2)
    distractors = min(task.distractors, classes - way)
    strangers = min(way, classes - way - distractors)
    return EpisodeSpec(
        way=way,
        shot=shot,
        query=query,
        unlabeled=min(task.unlabeled or UNLABELED, room - query),
        distractors=distractors + strangers,
    )


def responses(
    pools: Pools,
    embeddings: Embeddings,
    head: Head,
    names: Sequence[str],
    spec: EpisodeSpec,
    distractors: int,
    seed: int,
    episodes: int,
) -> dict[str, Responses]:
    """Returns what each adaptation answers to episodes 0..episodes-1.

    Args:
        spec: as `spec_like` has it.
        distractors: classes of it that are among the unlabelled points.
    """
    pool = spec.unlabeled * (spec.way + min(distractors, spec.distractors))
    parts: dict[str, list[Responses]] = {name: [] for name in names}
    plans = plan_lib.plans(pools, spec, seed, episodes)
    for plan in plans.batch(batch_size(spec, embeddings.shape[-1])):
        support = embeddings.gather(plan.support)  # [E, N, K, D]
        points = embeddings.gather(plan.unlabeled)  # [E, U, D]
        queries = embeddings.gather(plan.query)  # [E, N, q, D]
        queries = tf.reshape(queries, [-1, spec.queries, queries.shape[-1]])
        episode = EmbeddedEpisode(support, queries, points[:, :pool])
        for name in names:
            parts[name].append(_respond(head, name, episode, points[:, pool:]))
    return {
        name: Responses(*map(np.concatenate, zip(*some, strict=True)))
        for name, some in parts.items()
    }


def _respond(
    head: Head, adapt: str, episode: EmbeddedEpisode, strangers: tf.Tensor
) -> Responses:
    """Returns the responses of one adaptation."""
    scores = head.adapted(adapt).answer(episode).scores.numpy()
    if not head.by_prototypes:
        nothing = np.empty((len(scores), 0, 2))
        return Responses(scores, nothing, nothing)
    classes = ADAPT[adapt](episode.support, episode.unlabeled)
    stranger = stranger_distance(*labeled_points(episode.support), classes)  # [E]

    def features(points: tf.Tensor) -> np.ndarray:
        distances = tf.reduce_min(classes.distances(points), axis=-1)
        return curves.log_distances(distances.numpy(), stranger.numpy()[:, None])

    return Responses(scores, features(episode.queries), features(strangers))
