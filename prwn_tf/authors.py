"""What the authors of other methods do differently on mini and tiered.

Each function changes the config that a task has otherwise. Where a source is silent the
walk's paper is followed, or the decision is ours and marked so.
"""

import dataclasses
from collections.abc import Callable

from prwn_tf.config import OptimizerConfig, TrainConfig, WalkConfig
from prwn_tf.head_parts import FeatConfig
from prwn_tf.parts import Conv4Config
from prwn_tf.task import Task


def every(interval: int, end: int) -> tuple[int, ...]:
    """Returns the steps before `end` at which an interval is over."""
    return tuple(range(interval, end, interval))


def _liu2019(config: TrainConfig, task: Task) -> TrainConfig:
    """Returns TPN's, with the unlabelled images of Ren et al. (decision: it has none).

    It is tested as all others are (decision), not on 600 episodes of 15 queries.
    """
    del task
    return dataclasses.replace(
        config,
        train=dataclasses.replace(config.train, query=15),
        optimizer=OptimizerConfig(halve_at=every(10_000, 210_000), beta_2=0.999),
        episodes=210_000,
    )


def _kim2019(config: TrainConfig, task: Task) -> TrainConfig:
    """Returns EGNN's: one query of each class a graph, one task a step instead of 40.

    Of its five shots some have no labels: 40 % is --shot=2 --unlabeled=3. At test as
    many unlabelled images as in training (decision): a graph's time is its square.
    """
    halve_at = every(15_000, 100_000)
    return dataclasses.replace(
        config,
        train=dataclasses.replace(config.train, query=1),
        test=task.spec(way=5, shot=5, query=1, unlabeled=5, distractors=0),
        encoder="egnn_conv",
        optimizer=OptimizerConfig(halve_at=halve_at, beta_2=0.999, weight_decay=1e-6),
        episodes=100_000,
        eval_episodes=10_000,
        validate_every=5_000,
    )


def _ye2020(config: TrainConfig, task: Task) -> TrainConfig:
    """Returns FEAT's for Conv-4, and with a walk the one of the walk's paper.

    The labelled share and the test's queries are as for all others (decision). So are
    validations every 500 episodes: the authors' 100 take longer than the training. The
    paper has both tau = 3 and 1. The walk's temperature is not recorded: it is that of
    the scores (decision), so that both read distances alike.
    """
    del task
    train, one_shot = config.train, config.test.shot == 1
    feat = FeatConfig(64.0, 1.0, 16.0) if one_shot else FeatConfig(32.0, 0.1, 64.0)
    walk = WalkConfig(1.0, steps=3, temperature=feat.temperature)
    return dataclasses.replace(
        config,
        train=dataclasses.replace(
            train, query=15, unlabeled=10 if train.unlabeled else 0
        ),
        conv4=Conv4Config(pool="max"),
        feat=feat,
        walk=walk if config.walk.weight else config.walk,
        optimizer=OptimizerConfig(
            learning_rate=1e-4,
            halve_at=every(2_000, 20_000),
            beta_2=0.999,
            weight_decay=0.0,
        ),
        select="best",
        episodes=20_000,
        eval_episodes=10_000,
        validate_every=500,
        checkpoint_every=500,
    )


def _ye2020_classes(config: TrainConfig, task: Task) -> TrainConfig:
    """Returns what FEAT's authors train before it: 800 epochs of the training classes.

    They tell the rates in issues of their repository, and choose by 16-way 1-shot
    validation; here it is validated on the episodes of the test (decision). Steps are
    those of 40 % labels.
    """
    del task
    epoch = 15_360 // 128
    return dataclasses.replace(
        config,
        conv4=Conv4Config(pool="max"),
        augment=("crop", "flip"),
        optimizer=OptimizerConfig(
            halve_at=tuple(epoch * number for number in (170, 300, 400, 500)),
            rate_factor=0.1,
            beta_2=0.999,
            weight_decay=5e-4,
        ),
        select="best",
        episodes=800 * epoch,
        validate_every=5 * epoch,
        checkpoint_every=5 * epoch,
    )


Change = Callable[[TrainConfig, Task], TrainConfig]
ON_MINI: dict[str, Change] = {
    "liu2019": _liu2019,
    "kim2019": _kim2019,
    "ye2020": _ye2020,
    "ye2020_classes": _ye2020_classes,
}
# Episodes, and those between two falls of the rate; FEAT's authors have neither for
# Conv-4 (decision: 100 passes over 10 % of the labels before it, the last 25 slower).
ON_TIERED = {
    "liu2019": (210_000, 25_000),
    "kim2019": (200_000, 30_000),
    "ye2020": (20_000, 2_000),
    "ye2020_classes": (35_000, 26_250),
}
