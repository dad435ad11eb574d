"""The settings of a run as frozen dataclasses, checked, and to and from JSON.

Axis letters used everywhere: E episodes, N ways, K shots, Q queries of an episode,
U unlabelled points of an episode, D size of an embedding, H W C of an image.
"""

import dataclasses
import types
import typing
from collections.abc import Mapping
from typing import Any, TypeVar

from prwn_tf.errors import UserError
from prwn_tf.terms import (
    AssociationConfig,
    EntropyConfig,
    KMeansConfig,
    VatConfig,
    WalkConfig,
    require,
)

T = TypeVar("T")

# Fields of a config that are loss terms on unlabelled points, each with a weight.
TERMS = ("walk", "vat", "entropy", "association")
# What a user asks of test episodes; fields of an EpisodeSpec.
ASKED = ("way", "shot", "query", "unlabeled", "distractors")
# What the unlabelled points of a test episode do to its prototypes.
ADAPTATIONS = ("none", "refine", "filter")
CHOICES = {
    "select": ("last", "best"),
    "conv_block": ("auto", "plain", "fast"),
    "xla": ("auto", "off", "walk", "step"),
}
MOST = 2**31 - 1  # of a count or a seed
MOST_CHANNELS = 4096


def _may_change(default: Any) -> Any:
    """A field that a resumed run may change: run length, logging or device."""
    return dataclasses.field(default=default, metadata={"may_change": True})


@dataclasses.dataclass(frozen=True)
class EpisodeSpec:
    """How an episode is made up.

    Attributes:
        way: classes to tell apart (N).
        shot: labelled images of each class (K).
        query: images of each class to be classified.
        unlabeled: unlabelled images of each class, distractor classes included.
        distractors: further classes that are present among the unlabelled only.
        extra: further unlabelled images from a pool that belongs to no class.
    """

    way: int
    shot: int
    query: int
    unlabeled: int = 0
    distractors: int = 0
    extra: int = 0

    def __post_init__(self):
        require(self.way >= 2, f"way must be at least 2, got {self.way}")
        for name in ("shot", "query"):
            value = getattr(self, name)
            require(value >= 1, f"{name} must be at least 1, got {value}")
        for name in ("unlabeled", "distractors", "extra"):
            value = getattr(self, name)
            require(value >= 0, f"{name} must not be negative, got {value}")

    @property
    def classes(self) -> int:
        """Classes drawn for an episode, distractors included."""
        return self.way + self.distractors

    @property
    def queries(self) -> int:
        """Q: queries of the whole episode."""
        return self.way * self.query

    @property
    def unlabeled_points(self) -> int:
        """U: unlabelled points of the whole episode."""
        return self.class_points + self.extra

    @property
    def class_points(self) -> int:
        """Unlabelled points of a class, distractors included; they come first."""
        return self.unlabeled * self.classes

    @property
    def clean_points(self) -> int:
        """Unlabelled points of the episode's own classes; they come first."""
        return self.unlabeled * self.way

    def __str__(self) -> str:
        crowd = f", {self.distractors} distractors" if self.distractors else ""
        extra = f", {self.extra} unlabelled of no class" if self.extra else ""
        queries = "query" if self.query == 1 else "queries"
        return (
            f"{self.way}-way {self.shot}-shot, {self.query} {queries} and "
            f"{self.unlabeled} unlabelled a class{crowd}{extra}"
        )


@dataclasses.dataclass(frozen=True)
class OptimizerConfig:
    """Adam with a rate that is halved at given steps.

    Attributes:
        weight_decay: w adds w / 2 * |kernel|^2 of every convolution to the loss.
    """

    learning_rate: float = 1e-3
    halve_at: tuple[int, ...] = ()
    beta_1: float = 0.9
    beta_2: float = 0.99
    epsilon: float = 1e-8
    weight_decay: float = 5e-5

    def __post_init__(self):
        require(
            self.learning_rate > 0,
            f"learning_rate must be positive, got {self.learning_rate}",
        )
        require(
            list(self.halve_at)
            == sorted({step for step in self.halve_at if 0 < step <= MOST}),
            f"halve_at must be increasing steps from 1 to {MOST}, got {self.halve_at}",
        )
        for name in ("beta_1", "beta_2"):
            value = getattr(self, name)
            require(0 <= value < 1, f"{name} must be in [0, 1), got {value}")
        require(self.epsilon > 0, f"epsilon must be positive, got {self.epsilon}")
        require(
            self.weight_decay >= 0,
            f"weight_decay must be >= 0, got {self.weight_decay}",
        )


@dataclasses.dataclass(frozen=True)
class TrainConfig:
    """Everything that decides what a run computes.

    Attributes:
        train: the episodes to learn from.
        test: the task to be good at: validation and test episodes.
        image_shape: height, width and channels.
        episodes: training episodes, one to a step.
        label_ratio: share of each training class that is labelled.
        label_seed: draws which images are labelled.
        seed: draws the first weights and the training episodes.
        eval_seed: draws validation and test episodes, the same for all runs.
        select: test the "last" checkpoint or the "best" on validation.
        conv_block: train by Keras layers ("plain") or by the same function arranged
            for a CPU ("fast").
        xla: compile nothing ("off"), the walk ("walk") or the whole step ("step").
            Both may be "auto", decided by the device.
    """

    dataset: str
    method: str
    train: EpisodeSpec
    test: EpisodeSpec
    image_shape: tuple[int, ...]
    encoder: str = "conv4"
    channels: int = 64
    label_ratio: float = 1.0
    label_seed: int = 0
    seed: int = 0
    eval_seed: int = 0
    walk: WalkConfig = WalkConfig(weight=0.0)
    vat: VatConfig = VatConfig(weight=0.0)
    entropy: EntropyConfig = EntropyConfig(weight=0.0)
    association: AssociationConfig = AssociationConfig(weight=0.0)
    kmeans: KMeansConfig = KMeansConfig()
    optimizer: OptimizerConfig = OptimizerConfig()
    select: str = "last"
    deterministic: bool = False
    episodes: int = _may_change(20_000)
    eval_episodes: int = _may_change(3_000)
    validate_every: int = _may_change(1_000)
    validation_episodes: int = _may_change(600)
    checkpoint_every: int = _may_change(1_000)
    report_every: int = _may_change(20)
    conv_block: str = _may_change("auto")
    xla: str = _may_change("auto")

    def __post_init__(self):
        require(
            len(self.image_shape) == 3 and min(self.image_shape) >= 1,
            f"image_shape must be three sizes of 1 or more, got {self.image_shape}",
        )
        require(
            0 < self.label_ratio <= 1,
            f"label_ratio must be in (0, 1], got {self.label_ratio}",
        )
        for name in (
            "channels",
            "episodes",
            "eval_episodes",
            "validate_every",
            "validation_episodes",
            "checkpoint_every",
            "report_every",
        ):
            value = getattr(self, name)
            require(value >= 1, f"{name} must be at least 1, got {value}")
            most = MOST_CHANNELS if name == "channels" else MOST
            require(value <= most, f"{name} must be at most {most}, got {value}")
        for name in ("seed", "label_seed", "eval_seed"):
            value = getattr(self, name)
            require(0 <= value <= MOST, f"{name} must be in [0, {MOST}], got {value}")
        for name, known in CHOICES.items():
            value = getattr(self, name)
            require(value in known, f"{name} must be one of {known}, got {value!r}")
        require(
            not (self.deterministic and self.xla == "step"),
            "--deterministic and --xla=step exclude each other: XLA has no "
            "deterministic gradient of max-pooling; use --xla=walk or --xla=off",
        )

    @property
    def terms(self) -> tuple[str, ...]:
        """The loss terms on unlabelled points that are in use."""
        return tuple(name for name in TERMS if getattr(self, name).weight > 0)

    def check_terms(self) -> None:
        """Raises if terms of the loss lack the points that they are about."""
        points, steps = self.train.unlabeled_points, self.walk.steps
        for name in self.terms:
            require(
                points > 0,
                f"--{name}_weight={getattr(self, name).weight:g} needs unlabelled "
                "points, but --train_unlabeled and --train_extra are 0; raise one of "
                f"them, or set --{name}_weight=0",
            )
        require(
            points >= 2 or steps == 0 or "walk" not in self.terms,
            f"--walk_steps={steps} needs at least 2 unlabelled points in an episode, "
            f"found {points}; raise --train_unlabeled or set --walk_steps=0",
        )


def to_dict(config: Any) -> dict[str, Any]:
    """A dataclass as what JSON can hold."""
    return dataclasses.asdict(config)


def from_dict(kind: type[T], values: Mapping[str, Any], where: str = "config") -> T:
    """The dataclass `kind` from what `to_dict` made; anything else is an error."""
    if not isinstance(values, Mapping):
        raise UserError(f"{where} should hold settings, found {values!r}")
    hints = typing.get_type_hints(kind)
    unknown = sorted(set(values) - set(hints))
    if unknown:
        raise UserError(f"{where} has unknown settings {', '.join(unknown)}")
    try:
        return kind(
            **{
                name: _value(hints[name], value, f"{where}.{name}")
                for name, value in values.items()
            }
        )
    except (TypeError, OverflowError) as error:
        raise UserError(f"{where} is incomplete or of a wrong type: {error}") from error


def differences(
    old: Any, new: Any, prefix: str = "", *, may_change: bool = False
) -> dict[str, tuple[Any, Any]]:
    """Fields that differ, as name -> (old, new); only those that a resume forbids."""
    found = {}
    for field in dataclasses.fields(old):
        if field.metadata.get("may_change") and not may_change:
            continue
        was, now = getattr(old, field.name), getattr(new, field.name)
        name = prefix + field.name
        if dataclasses.is_dataclass(was):
            found |= differences(was, now, f"{name}.", may_change=may_change)
        elif was != now:
            found[name] = (was, now)
    return found


def _value(hint: Any, value: Any, where: str) -> Any:
    if dataclasses.is_dataclass(hint):
        return from_dict(hint, value, where)
    if isinstance(hint, types.GenericAlias):  # tuple[int, ...]
        if isinstance(value, list | tuple) and all(type(v) is int for v in value):
            return tuple(value)
    elif hint is float:
        if type(value) in (int, float):
            return float(value)
    elif type(value) is hint:
        return value
    raise UserError(f"{where} should be of type {hint}, found {value!r}")
