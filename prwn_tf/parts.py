"""The settings of the parts that methods are made of: encoders and loss terms.

Those of heads stand in `head_parts.py`. A new part is a class here or there, or for
one's own beside its class, and a field of `TrainConfig`. Its flags, their help, their
ranges and defaults follow.
"""

import dataclasses
from typing import ClassVar

from prwn_tf.settings import COUNT, EncoderPart, Term, setting


@dataclasses.dataclass(frozen=True)
class Conv4Config(EncoderPart):
    """Conv-4.

    Attributes:
        scale: what the published networks start at is 1. At 84 pixels (D = 1600) the
            squared distances are then so large that hundreds of episodes go by until
            training has made them small. At 0 embeddings of any D start as far apart as
            those of the published Omniglot network (D = 64). A trained encoder that a
            run begins with is multiplied by it: that of a classifier has distances that
            are many times too large for a softmax over classes. At 0 they are divided
            by the temperature that its calibration found.
        pool: FEAT's authors take the maximum of each channel, D = 64 at 84 pixels.
    """

    name: ClassVar = "conv4"
    implementation: ClassVar = "prwn_tf.encoders.conv4:Conv4"
    smallest_image: ClassVar = 16  # it is halved four times

    scale: float = setting(
        1.0,
        "Scale of the last batch norm at the start: 1 as published, 0 for one that "
        "suits the size of the embedding. Beside --init_from, a factor; 0 for one that "
        "suits the trained encoder.",
        "[0, inf)",
        training_only=True,
    )
    pool: str = setting(
        "none", "What is left of the last map: all, or its maxima.", ("none", "max")
    )


@dataclasses.dataclass(frozen=True)
class MlpConfig(EncoderPart):
    """The dense network of the experiments in the plane."""

    name: ClassVar = "mlp"
    implementation: ClassVar = "prwn_tf.encoders.mlp:MLP"

    size: int = setting(4, "Numbers in an embedding of the MLP.", "[1, 4096]")


@dataclasses.dataclass(frozen=True)
class EgnnConvConfig(EncoderPart):
    """The encoder of EGNN; `channels` are those of its first block."""

    name: ClassVar = "egnn_conv"
    implementation: ClassVar = "prwn_tf.encoders.egnn_conv:EgnnConv"
    smallest_image: ClassVar = 20  # halved four times, and once two pixels less

    size: int = setting(128, "Numbers in an embedding of EGNN's encoder.", "[1, 4096]")
    dropout: float = setting(
        0.4,
        "Share of channels that its third block leaves out.",
        "[0, 1)",
        training_only=True,
    )
    last_dropout: float = setting(
        0.5,
        "Share of channels that its last block leaves out.",
        "[0, 1)",
        training_only=True,
    )


@dataclasses.dataclass(frozen=True)
class ResNet12Config(EncoderPart):
    """ResNet-12; `channels` are those of its first block, the others in proportion.

    Attributes:
        widest: 640 is FEAT's; 512 is Meta-Baseline's, which has no dropout of any kind.
        ramp: FEAT's episodes are one batch each. Where a head has the unlabelled images
            in a batch of their own, it takes half as many episodes.
        scale: as that of Conv-4.
    """

    name: ClassVar = "resnet12"
    implementation: ClassVar = "prwn_tf.encoders.resnet12:ResNet12"
    smallest_image: ClassVar = 16  # it is halved four times

    widest: int = setting(
        640, "ResNet-12: channels of the last block, if the first has 64.", (640, 512)
    )
    dropout: float = setting(
        0.1,
        "ResNet-12: share dropped behind each block in training.",
        "[0, 1)",
        training_only=True,
    )
    ramp: int = setting(
        40_000,
        "ResNet-12: batches until DropBlock drops that share.",
        COUNT,
        training_only=True,
    )
    scale: float = setting(
        1.0,
        "ResNet-12: scale of the last block's batch norms at the start, as "
        "--conv4_scale.",
        "[0, inf)",
        training_only=True,
    )


@dataclasses.dataclass(frozen=True)
class WalkConfig(Term):
    """The random walk loss; the paper's lambda, tau and alpha are the first three.

    Attributes:
        smoothing: the authors' code has 0.1, the paper does not mention it.
        temperature: the authors' code for FEAT has one, the paper has not.
        nowhere: ours, as the gate has it (see `prwn_tf.heads.gate`).
        self_loop_penalty: subtracted from a point's similarity to itself. The authors'
            code has 1000, too little for 84-pixel images, where distances exceed it.
    """

    name: ClassVar = "walk"
    implementation: ClassVar = "prwn_tf.regularizers.walk:Walk"

    weight: float = setting(
        1.0,
        "Weight of the walk in the loss; 0 leaves it out.",
        "[0, inf)",
        symbol="lambda",
        also=("lambda_walk", "rw_weight"),
    )
    steps: int = setting(
        3, "Most steps of the walker from point to point.", "[0, inf)", symbol="tau"
    )
    decay: float = setting(
        0.7, "Weight of t inner steps: decay ** t.", "(0, 1]", symbol="alpha"
    )
    visit_weight: float = setting(
        1.0,
        "Weight of visiting all points, beside coming home.",
        "[0, inf)",
        flag="visit_weight",
    )
    smoothing: float = setting(
        0.1,
        "Uniform share mixed into steps from and to prototypes.",
        "[0, 1)",
        flag="graph_smoothing",
    )
    temperature: float = setting(
        1.0, "Divides the walker's squared distances.", "(0, inf)"
    )
    nowhere: float = setting(
        0.0,
        "Lets the walker leave to nowhere instead of going on from a distractor; how "
        "far that is, in the unit of a stranger's distance. The gate of --adapt has "
        "0.5; 0 is no way out.",
        "[0, inf)",
    )
    self_loop_penalty: float = setting(
        1e9, "How much less a point is like itself than like others.", "[0, inf)"
    )

    def points_needed(self) -> int:
        """Returns two where the walker steps from point to point, else one."""
        return 2 if self.steps else 1


@dataclasses.dataclass(frozen=True)
class VatConfig(Term):
    """Virtual adversarial training on unlabelled points and queries.

    Attributes:
        epsilon: over a whole image with values in [0, 1].
    """

    name: ClassVar = "vat"
    implementation: ClassVar = "prwn_tf.regularizers.vat:Vat"

    weight: float = setting(
        1.0, "Weight of virtual adversarial training (VAT).", "[0, inf)"
    )
    epsilon: float = setting(8.0, "VAT: how far an image is moved.", "(0, inf)")
    xi: float = setting(
        0.01, "VAT: how far it is moved to find the worst way.", "(0, inf)"
    )
    iterations: int = setting(1, "VAT: steps of the search for it.", "[1, inf)")
    query_weight: float = setting(
        0.2, "VAT: weight of the queries beside the unlabelled.", "[0, inf)"
    )


@dataclasses.dataclass(frozen=True)
class EntropyConfig(Term):
    """Certainty about the unlabelled points."""

    name: ClassVar = "entropy"
    implementation: ClassVar = "prwn_tf.regularizers.entropy:Entropy"

    weight: float = setting(
        1.0, "Weight of the entropy of unlabelled points.", "[0, inf)"
    )


@dataclasses.dataclass(frozen=True)
class AssociationConfig(Term):
    """Learning by association: a walk from labelled points and straight back."""

    name: ClassVar = "association"
    implementation: ClassVar = "prwn_tf.regularizers.association:Association"

    weight: float = setting(1.0, "Weight of learning by association.", "[0, inf)")
    visit_weight: float = setting(
        1.0, "Association: weight of visiting all points.", "[0, inf)"
    )


@dataclasses.dataclass(frozen=True)
class GanConfig(Term):
    """A generator of images that plays against the classifier (MetaGAN).

    Its Adam is that of a public description of MetaGAN, said to be the paper's; so are
    the sizes at 28 pixels.

    Attributes:
        loss: "features" has generated images match the mean embedding of the unlabelled
            ones, "realness" has them taken for real.
    """

    name: ClassVar = "gan"
    implementation: ClassVar = "prwn_tf.regularizers.gan:Gan"
    smallest_image: ClassVar = 8  # the generator halves it once at least

    weight: float = setting(
        1.0, "Weight of telling real images from generated ones (MetaGAN).", "[0, inf)"
    )
    fake_weight: float = setting(
        1.0, "GAN: weight of generated images beside the unlabelled.", "[0, inf)"
    )
    loss: str = setting(
        "features", "GAN: what the generator minimises.", ("features", "realness")
    )
    noise: int = setting(100, "GAN: random numbers behind an image.", "[1, 4096]")
    channels: int = setting(
        64, "GAN: a fourth of the channels of the smallest maps.", "[1, 1024]"
    )
    rate: float = setting(1e-3, "GAN: Adam's rate for the generator.", "(0, inf)")
    beta_1: float = setting(0.5, "GAN: its first beta.", "[0, 1)")
    beta_2: float = setting(0.9, "GAN: its second beta.", "[0, 1)")
