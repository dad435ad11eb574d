"""The settings for images of one's own, which are ours, by how many there are."""

import dataclasses
import math

from prwn_tf.authors import every
from prwn_tf.config import EpisodeSpec, OptimizerConfig, TrainConfig, WalkConfig
from prwn_tf.parts import Conv4Config
from prwn_tf.task import Prepared, Task


def protocol(task: Task) -> TrainConfig:
    """Returns our own: mini's as far as the user's classes go, for minutes on a CPU.

    No label is hidden. What an episode walks over are images of its classes that are
    neither support nor query, and as many of no class, if there are any. Without any,
    the terms of the loss that need them are left out.
    """
    data = task.prepared or Prepared()
    test = _fitting(task, data)
    train = _of_own_images(task, data, data.train_classes - test.distractors)
    points = train.clean_points or 10 * train.way
    train = dataclasses.replace(train, extra=min(points, data.extra))
    terms = task.published_terms(WalkConfig(weight=0.5))
    if not train.unlabeled_points:
        terms = {name: type(term)(weight=0.0) for name, term in terms.items()}
    return TrainConfig(
        dataset=task.dataset,
        method=task.method,
        train=task.train_spec(train, test),
        test=test,
        image_shape=data.image_shape,
        fit=data.fit,
        label_ratio=task.labelled_share,
        **terms,
        conv4=Conv4Config(scale=0.0),
        optimizer=OptimizerConfig(halve_at=every(750, 3_000)),
        episodes=3_000,
        eval_episodes=1_000,
        validate_every=500,
        checkpoint_every=500,
    )


def _of_own_images(task: Task, data: Prepared, classes: int) -> EpisodeSpec:
    """Returns training episodes that the smallest class allows."""
    ratio = task.labelled_share
    labelled = math.floor(data.train_images * ratio + 1e-9)
    # Where all are labelled, half of a class is left to be walked over.
    walked = ratio == 1 and not task.labeled_only
    known = max(2, labelled // 2) if walked else labelled
    shot = min(5, max(1, known // 2))
    query = min(5, max(1, known - shot))
    rest = data.train_images - (shot + query if ratio == 1 else labelled)
    return EpisodeSpec(max(2, min(5, classes)), shot, query, max(0, min(10, rest)))


def _fitting(task: Task, data: Prepared) -> EpisodeSpec:
    """Returns test episodes that the smallest class allows, if not asked otherwise."""
    images = data.held_out_images
    shot = task.shot or (5 if images >= 15 else 1)
    rest = max(1, images - shot)
    if task.query is not None:
        unlabeled = rest - task.query
    else:
        unlabeled = rest // 2 if task.unlabeled is None else task.unlabeled
    return task.spec(
        way=max(2, min(5, data.held_out_classes - (task.distractors or 0))),
        shot=shot,
        query=max(1, min(20, rest - unlabeled)),
        unlabeled=max(0, min(20, unlabeled)),
        distractors=0,
    )
