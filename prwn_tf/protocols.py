"""The published settings of each data set and method: defaults behind unset flags.

Where a source is silent the decision is ours and marked so; BUILD.md has the reasons.
"""

import dataclasses
from collections.abc import Callable, Sequence

from prwn_tf.config import EpisodeSpec, OptimizerConfig, TrainConfig, WalkConfig


@dataclasses.dataclass(frozen=True)
class Task:
    """What the user asked for; None where nothing was said."""

    dataset: str
    method: str
    way: int | None = None
    shot: int | None = None
    query: int | None = None
    unlabeled: int | None = None
    distractors: int | None = None

    def spec(self, **defaults: int) -> EpisodeSpec:
        """The test episodes: what was asked, or else the defaults."""
        asked = {name: getattr(self, name) for name in defaults}
        given = {name: value for name, value in asked.items() if value is not None}
        return EpisodeSpec(**defaults | given)

    @property
    def walks(self) -> bool:
        return self.method == "prwn"


def protocol(task: Task) -> TrainConfig:
    """The published configuration for a task."""
    return _PROTOCOLS[task.dataset](task)


def _glyphs(task: Task) -> TrainConfig:
    """Ours: Omniglot's setting, made small enough for a first look."""
    shot, unlabeled = task.shot or 1, _or(task.unlabeled, 5)
    test = task.spec(
        way=5,
        shot=shot,
        query=20 - shot - unlabeled,
        unlabeled=unlabeled,
        distractors=0,
    )
    train = EpisodeSpec(way=10, shot=1, query=1, unlabeled=8)
    return TrainConfig(
        dataset=task.dataset,
        method=task.method,
        train=_training(task, train, test),
        test=test,
        image_shape=(28, 28, 1),
        label_ratio=0.1,
        walk=WalkConfig(weight=1.0 if task.walks else 0.0, decay=1.0),
        optimizer=OptimizerConfig(halve_at=_every(300, 900)),
        episodes=900,
        eval_episodes=1_000,
        validate_every=300,
        checkpoint_every=300,
    )


def _omniglot(task: Task) -> TrainConfig:
    """20 drawings a character; test episodes ask all that support and unlabelled leave.

    Only 2 of them are labelled in training, so one query a class is all there is.
    """
    shot, unlabeled = task.shot or 1, _or(task.unlabeled, 5)
    test = task.spec(
        way=5,
        shot=shot,
        query=20 - shot - unlabeled,
        unlabeled=unlabeled,
        distractors=0,
    )
    crowded = test.distractors > 0
    wide = task.walks and not crowded
    train = EpisodeSpec(way=20 if wide else 5, shot=1, query=1, unlabeled=10)
    walk = WalkConfig(weight=2.0, decay=0.7) if crowded else WalkConfig(1.5, decay=1.0)
    return TrainConfig(
        dataset=task.dataset,
        method=task.method,
        train=_training(task, train, test),
        test=test,
        image_shape=(28, 28, 1),
        label_ratio=0.1,
        walk=walk if task.walks else WalkConfig(weight=0.0),
        optimizer=OptimizerConfig(halve_at=_every(2_000, 20_000)),
        episodes=20_000,
        validate_every=1_000,
        checkpoint_every=1_000,
    )


def _mini(task: Task) -> TrainConfig:
    """The walk trains with 5 shots also for the 1-shot column, PN with its own."""
    test = task.spec(way=5, shot=5, query=20, unlabeled=20, distractors=0)
    train = EpisodeSpec(
        way=5, shot=5 if task.walks else test.shot, query=5, unlabeled=10
    )
    paper = OptimizerConfig(learning_rate=2.5e-4, halve_at=_every(12_500, 100_000))
    return TrainConfig(
        dataset=task.dataset,
        method=task.method,
        train=_training(task, train, test),
        test=test,
        image_shape=(84, 84, 3),
        label_ratio=0.4,
        walk=WalkConfig(weight=0.5 if task.walks else 0.0),
        optimizer=paper if task.walks else _REN,
        episodes=100_000 if task.walks else 200_000,
        validate_every=2_000,
        checkpoint_every=2_000,
    )


def _tiered(task: Task) -> TrainConfig:
    """The paper gives no settings: mini's, on the schedule of Ren et al. (decision)."""
    config = _mini(task)
    rate = 2.5e-4 if task.walks else _REN.learning_rate
    return dataclasses.replace(
        config,
        label_ratio=0.1,
        optimizer=dataclasses.replace(_REN, learning_rate=rate),
        episodes=200_000,
    )


def _training(task: Task, train: EpisodeSpec, test: EpisodeSpec) -> EpisodeSpec:
    """Distractors are trained with as tested; without a walk nothing is unlabelled."""
    if not task.walks:
        return dataclasses.replace(train, unlabeled=0)
    return dataclasses.replace(train, distractors=test.distractors)


def _every(interval: int, end: int) -> tuple[int, ...]:
    return tuple(range(interval, end, interval))


def _or(value: int | None, default: int) -> int:
    return default if value is None else value


# Ren et al. 2018: halved from step 50 000 on, every 25 000.
_REN = OptimizerConfig(halve_at=tuple(range(50_000, 200_000, 25_000)))

_PROTOCOLS: dict[str, Callable[[Task], TrainConfig]] = {
    "glyphs": _glyphs,
    "omniglot": _omniglot,
    "mini": _mini,
    "tiered": _tiered,
}

DATASETS: Sequence[str] = tuple(_PROTOCOLS)
