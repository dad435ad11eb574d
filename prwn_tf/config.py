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
from prwn_tf.optimizer import OptimizerConfig
from prwn_tf.own import OwnPart, own_part
from prwn_tf.parts import (
    AssociationConfig,
    Conv4Config,
    EgnnConfig,
    EgnnConvConfig,
    EntropyConfig,
    FeatConfig,
    KMeansConfig,
    MlpConfig,
    ResNet12Config,
    TpnConfig,
    VatConfig,
    WalkConfig,
)
from prwn_tf.settings import (
    COUNT,
    MAX_INT,
    SEED,
    EncoderPart,
    Part,
    Settings,
    Term,
    part,
    require,
    setting,
)
from prwn_tf.spec import EpisodeSpec

T = TypeVar("T")

# What a user asks of test episodes; fields of an EpisodeSpec.
ASKED = ("way", "shot", "query", "unlabeled", "distractors")
# What the unlabelled points of a test episode can do to its prototypes.
ADAPTATIONS = ("none", "refine", "filter")
MAX_CHANNELS = 4096


@dataclasses.dataclass(frozen=True)
class TrainConfig(Settings):
    """Everything that decides what a run computes.

    Attributes:
        train: the episodes to learn from.
        test: the task to be good at: validation and test episodes.
        image_shape: height, width and channels.
        head: a class of the user's in the place of the method's own, or empty.
        own: the parts that are the user's, by "module:Class".
        label_seed: draws which images are labelled.
        seed: draws the first weights and the training episodes.
        eval_seed: draws validation and test episodes, the same for all runs.
    """

    dataset: str
    method: str
    train: EpisodeSpec
    test: EpisodeSpec
    image_shape: tuple[int, ...]
    encoder: str = "conv4"
    head: str = ""
    own: Mapping[str, OwnPart] = dataclasses.field(default_factory=dict)
    channels: int = setting(
        64,
        "Channels of each block of the encoder; of the first, if they differ.",
        f"[1, {MAX_CHANNELS}]",
    )
    augment: tuple[str, ...] = setting(
        (), "Changes of training images, with commas.", ("crop", "flip", "color")
    )
    label_ratio: float = setting(1.0, "Labelled share of a training class.", "(0, 1]")
    label_seed: int = setting(0, "Draws which images are labelled.", SEED)
    seed: int = setting(0, "Draws first weights and training episodes.", SEED)
    eval_seed: int = 0
    conv4: Conv4Config = part(Conv4Config)
    mlp: MlpConfig = part(MlpConfig)
    egnn_conv: EgnnConvConfig = part(EgnnConvConfig)
    resnet12: ResNet12Config = part(ResNet12Config)
    walk: WalkConfig = part(WalkConfig)
    vat: VatConfig = part(VatConfig)
    entropy: EntropyConfig = part(EntropyConfig)
    association: AssociationConfig = part(AssociationConfig)
    kmeans: KMeansConfig = part(KMeansConfig)
    feat: FeatConfig = part(FeatConfig)
    tpn: TpnConfig = part(TpnConfig)
    egnn: EgnnConfig = part(EgnnConfig)
    optimizer: OptimizerConfig = OptimizerConfig()
    select: str = setting(
        "last", "Test the last or the best checkpoint.", ("last", "best")
    )
    deterministic: bool = setting(
        False, "The same bits on every run, on a GPU too; slower there."
    )
    episodes: int = setting(20_000, "Training episodes.", COUNT, may_change=True)
    eval_episodes: int = setting(
        3_000, "Episodes to average over.", COUNT, may_change=True
    )
    validate_every: int = setting(
        1_000, "Steps between validations.", COUNT, may_change=True
    )
    validation_episodes: int = setting(
        600, "Episodes of a validation.", COUNT, may_change=True
    )
    checkpoint_every: int = setting(
        1_000, "Steps between checkpoints.", COUNT, may_change=True
    )
    report_every: int = setting(
        20, "Steps between points of the curves.", COUNT, may_change=True
    )
    conv_block: str = setting(
        "auto",
        "Train by Keras layers, or by the same function arranged for a CPU; auto: fast "
        "unless there is a GPU.",
        ("auto", "plain", "fast"),
        may_change=True,
    )
    xla: str = setting(
        "auto",
        "Compile nothing, the walk, or the whole step; auto: step on a GPU unless "
        "--deterministic, else off.",
        ("auto", "off", "walk", "step"),
        may_change=True,
    )

    def __post_init__(self):
        super().__post_init__()
        require(
            len(self.image_shape) == 3 and min(self.image_shape) >= 1,
            f"image_shape must be three sizes of 1 or more, got {self.image_shape}",
        )
        require(
            0 <= self.eval_seed <= MAX_INT,
            f"eval_seed must be in {SEED}, got {self.eval_seed}",
        )
        require(
            not (self.deterministic and self.xla == "step"),
            "--deterministic and --xla=step exclude each other: XLA has no "
            "deterministic gradient of max-pooling; use --xla=walk or --xla=off",
        )

    @property
    def terms(self) -> tuple[str, ...]:
        """The loss terms in use, one's own by "module:Class"."""
        every = {name: self.part(name) for name in (*TERMS, *self.own)}
        return tuple(
            name
            for name, part in every.items()
            if isinstance(part, Term) and part.weight > 0
        )

    def part(self, name: str) -> Any:
        """Returns the settings of a part, by its field here or by "module:Class"."""
        return self.own[name].settings if name in self.own else getattr(self, name)

    def settings_of(self, kind: type[Part]) -> Any:
        """Returns the settings of a part, by their class."""
        every = (self.part(name) for name in (*PARTS, *self.own))
        return next(part for part in every if type(part) is kind)

    def check_terms(self) -> None:
        """Raises if terms of the loss lack the points that they are about."""
        points = self.train.unlabeled_points
        for name in self.terms:
            term = self.part(name)
            needed = term.points_needed()
            weight = f"--{term.name}_weight"
            require(
                points > 0 or needed == 0,
                f"{weight}={term.weight:g} needs unlabelled points, but "
                "--train_unlabeled and --train_extra are 0; raise one of them, or set "
                f"{weight}=0",
            )
            require(
                points >= needed,
                f"{weight}={term.weight:g} needs at least {needed} unlabelled points "
                f"in an episode, found {points}; raise --train_unlabeled, or set "
                f"{weight}=0",
            )


# The parts that are known here, and those of them that are loss terms or encoders.
PARTS: dict[str, type[Part]] = {
    field.name: field.type
    for field in dataclasses.fields(TrainConfig)
    if isinstance(field.type, type) and issubclass(field.type, Part)
}
TERMS = {name: part for name, part in PARTS.items() if issubclass(part, Term)}
ENCODERS = {k: part for k, part in PARTS.items() if issubclass(part, EncoderPart)}


def to_dict(config: Any) -> dict[str, Any]:
    """Returns a dataclass as what JSON can hold."""
    return dataclasses.asdict(config)


def from_dict(kind: type[T], values: Mapping[str, Any], where: str = "config") -> T:
    """Returns the dataclass `kind` of what `to_dict` made; all else is an error."""
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
    """Returns the fields that differ, as name -> (old, new).

    Those that a resumed run may change count only if `may_change` is set.
    """
    changes = {}
    for field in dataclasses.fields(old):
        if field.metadata.get("may_change") and not may_change:
            continue
        was, now = getattr(old, field.name), getattr(new, field.name)
        name = prefix + field.name
        if dataclasses.is_dataclass(was):
            changes |= differences(was, now, f"{name}.", may_change=may_change)
        elif was != now:
            changes[name] = (was, now)
    return changes


def _value(hint: Any, value: Any, where: str) -> Any:
    if dataclasses.is_dataclass(hint):
        return from_dict(hint, value, where)
    if hint == Mapping[str, OwnPart]:
        return _own_parts(value, where)
    if isinstance(hint, types.GenericAlias):  # tuple[int, ...], tuple[str, ...]
        kind = typing.get_args(hint)[0]
        if isinstance(value, list | tuple) and all(type(v) is kind for v in value):
            return tuple(value)
    elif hint is float:
        if type(value) in (int, float):
            return float(value)
    elif type(value) is hint:
        return value
    raise UserError(f"{where} should be of type {hint}, found {value!r}")


def _own_parts(values: Any, where: str) -> dict[str, OwnPart]:
    """Returns the user's parts of a config, if they are what they were."""
    if not isinstance(values, Mapping):
        raise UserError(f"{where} should hold settings, found {values!r}")
    parts = {}
    for name, stored in values.items():
        if not isinstance(stored, Mapping) or stored.keys() != {"sha256", "settings"}:
            raise UserError(f"{where}.{name} should hold sha256 and settings")
        part = own_part(name)
        if part.sha256 != stored["sha256"]:
            raise UserError(
                f"{name} has changed since the run of {where} was begun; put the file "
                "as it was back, or train in another --workdir"
            )
        settings = part.settings
        if settings is not None:
            settings = from_dict(type(settings), stored["settings"], f"{where}.{name}")
        parts[name] = dataclasses.replace(part, settings=settings)
    return parts
