"""The settings of a run as frozen dataclasses, checked.

Axis letters used everywhere: E episodes, N ways, K shots, Q queries of an episode,
U unlabelled points of an episode, D size of an embedding, H W C of an image.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any

from prwn_tf.backbones import BackboneConfig, is_backbone, part_name
from prwn_tf.head_parts import (
    ClassifierConfig,
    EgnnConfig,
    FeatConfig,
    KMeansConfig,
    TpnConfig,
)
from prwn_tf.optimizer import OptimizerConfig
from prwn_tf.origin import Origin
from prwn_tf.own import OwnPart
from prwn_tf.parts import (
    AssociationConfig,
    Conv4Config,
    EgnnConvConfig,
    EntropyConfig,
    GanConfig,
    MlpConfig,
    ResNet12Config,
    VatConfig,
    WalkConfig,
)
from prwn_tf.precision import PRECISIONS
from prwn_tf.settings import (
    COUNT,
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

# What a user asks of test episodes; fields of an EpisodeSpec.
ASKED = ("way", "shot", "query", "unlabeled", "distractors")
# What the unlabelled points of a test episode can do to its prototypes, and what they
# do in methods of others, for comparison.
ADAPTATIONS = ("none", "refine", "filter", "gate")
RIVALS = ("propagate", "oslo", "kmeans")
MAX_CHANNELS = 4096
# How a photograph becomes a square: squeezed, its middle alone, or with black bars.
FITS = ("squeeze", "crop", "pad")


@dataclasses.dataclass(frozen=True)
class TrainConfig(Settings):
    """Everything that decides what a run computes.

    Attributes:
        train: the episodes to learn from.
        test: the task to be good at: validation and test episodes.
        image_shape: height, width and channels.
        fit: how the prepared images became squares, one of `FITS`.
        init_from: the run whose encoder it begins with, if any.
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
    fit: str = FITS[0]
    encoder: str = "conv4"
    head: str = ""
    init_from: Origin = dataclasses.field(default_factory=Origin)
    own: Mapping[str, OwnPart] = dataclasses.field(default_factory=dict)
    channels: int = setting(
        64,
        "Channels of each block of the encoder; of the first, if they differ.",
        f"[1, {MAX_CHANNELS}]",
    )
    augment: tuple[str, ...] = setting(
        (), "Changes of training images, with commas.", ("crop", "flip", "color")
    )
    resplits: int = setting(
        1,
        "Tasks that the labelled images of an episode are split into; their losses are "
        "averaged.",
        "[1, 100]",
    )
    train_splits: tuple[str, ...] = setting(
        ("train",),
        "Splits whose classes are learned, with commas. With val there are more, and "
        "none is left to choose or to calibrate by.",
        ("train", "val"),
    )
    label_ratio: float = setting(
        1.0,
        "Labelled share of a training class; below 1 it hides labels, for experiments.",
        "(0, 1]",
    )
    label_seed: int = setting(0, "Draws which images are labelled.", SEED)
    seed: int = setting(0, "Draws first weights and training episodes.", SEED)
    eval_seed: int = setting(0, "Draws validation and test episodes.", SEED)
    conv4: Conv4Config = part(Conv4Config)
    mlp: MlpConfig = part(MlpConfig)
    egnn_conv: EgnnConvConfig = part(EgnnConvConfig)
    resnet12: ResNet12Config = part(ResNet12Config)
    backbone: BackboneConfig = part(BackboneConfig)
    walk: WalkConfig = part(WalkConfig)
    vat: VatConfig = part(VatConfig)
    entropy: EntropyConfig = part(EntropyConfig)
    association: AssociationConfig = part(AssociationConfig)
    gan: GanConfig = part(GanConfig)
    classifier: ClassifierConfig = part(ClassifierConfig)
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
    episodes: int = setting(
        20_000, "Training episodes, or mini-batches.", COUNT, may_change=True
    )
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
    precision: str = setting(
        "float32",
        "Numbers that the encoder computes with, and MetaGAN's generator; weights, "
        "embeddings and all that follows are float32. float16 scales losses.",
        PRECISIONS,
    )
    strategy: str = setting(
        "auto",
        "Devices that share a step, each with an episode of its own: one, all GPUs of "
        "this machine (mirrored), or those of all machines that the variable TF_CONFIG "
        "names (multi_worker); auto: by what is there.",
        ("auto", "one", "mirrored", "multi_worker"),
        may_change=True,
    )
    xla: str = setting(
        "auto",
        "Compile nothing, the walk, or the whole step; auto: step on one GPU unless "
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
            self.fit in FITS,
            f"fit must be {' or '.join(FITS)}, got {self.fit}; prepare the data again",
        )
        self._check_splits()
        require(
            not (self.deterministic and self.xla == "step"),
            "--deterministic and --xla=step exclude each other: XLA has no "
            "deterministic gradient of max-pooling; use --xla=walk or --xla=off",
        )
        require(
            self.precision != "float16" or self.conv_block != "fast",
            "--precision=float16 and --conv_block=fast exclude each other: CPUs "
            "gain nothing by them; use --conv_block=plain or --conv_block=auto",
        )

    def _check_splits(self) -> None:
        """Raises if the splits to learn contradict each other or what is asked."""
        require(
            self.train_splits in (("train",), ("train", "val")),
            f"train_splits must be train or train,val, got "
            f"{','.join(self.train_splits)}",
        )
        require(
            self.select == "last" or not self.learns_validation,
            "--select=best and --train_splits=train,val exclude each other: classes "
            "that are learned cannot tell which checkpoint is the best; use "
            "--select=last",
        )

    def unused_reason(self, name: str) -> str:
        """Returns why nothing looks at a setting; empty if something does."""
        if name == "channels" and is_backbone(self.encoder):
            return f"--encoder={self.encoder} has its own"
        blocks = ("conv4", "resnet12", *self.own)
        if name == "conv_block" and self.conv_block == "fast":
            return "" if self.encoder in blocks else "the encoder has no such blocks"
        walkless = self.walk.weight == 0 and not self.own
        if name == "xla" and self.xla == "walk" and walkless:
            return "--walk_weight is 0, so there is no walk to compile"
        return ""

    @property
    def learns_validation(self) -> bool:
        """Whether the validation classes are learned, so that they tell nothing."""
        return "val" in self.train_splits

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
        """Returns the settings of a part, by its field here or as it is asked for."""
        if name in self.own:
            return self.own[name].settings
        return getattr(self, part_name(name))

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


# The parts that are known here, and those of them that are loss terms, or encoders as
# they are asked for.
PARTS: dict[str, type[Part]] = {
    field.name: field.type
    for field in dataclasses.fields(TrainConfig)
    if isinstance(field.type, type) and issubclass(field.type, Part)
}
TERMS = {name: part for name, part in PARTS.items() if issubclass(part, Term)}
ENCODERS = {
    part.asked_as or name: part
    for name, part in PARTS.items()
    if issubclass(part, EncoderPart)
}
