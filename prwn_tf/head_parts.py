"""The settings of heads; those of the other parts stand in `parts.py`."""

import dataclasses
from typing import ClassVar

from prwn_tf.settings import COUNT, Part, setting

_FEAT = ("feat", "feat_walk", "feat_semi")  # methods


@dataclasses.dataclass(frozen=True)
class ClassifierConfig(Part):
    """A linear layer over the training classes, learned from mini-batches.

    Attributes:
        classes: how many there are. The data decides it; a config has it so that a
            model can be built without the data.
    """

    name: ClassVar = "classifier"

    batch_size: int = setting(
        128,
        "Labelled images of a mini-batch.",
        "[2, 65536]",
        flag="batch_size",
        methods=("classifier",),
    )
    classes: int = 0


@dataclasses.dataclass(frozen=True)
class KMeansConfig(Part):
    """Where the k-means heads of Ren et al. start, and where paper and code differ.

    Attributes:
        radius: of the cluster that takes distractors in, before it is learned.
        mask_power: the released code has 2, because two functions multiply by the mask;
            the paper has 1.
    """

    name: ClassVar = "kmeans"

    radius: float = setting(
        100.0,
        "First radius of cluster_kmeans.",
        "(0, inf)",
        flag="cluster_radius",
        methods=("cluster_kmeans",),
    )
    mask_power: int = setting(
        1,
        "masked_kmeans counts mask ** power.",
        (1, 2),
        flag="mask_power",
        methods=("masked_kmeans",),
    )


@dataclasses.dataclass(frozen=True)
class FeatConfig(Part):
    """FEAT; the defaults are the authors' for Conv-4, mini and one shot."""

    name: ClassVar = "feat"

    temperature: float = setting(
        64.0, "FEAT: divides the distances of queries.", "(0, inf)", methods=_FEAT
    )
    balance: float = setting(
        1.0, "FEAT: weight of the contrastive term.", "[0, inf)", methods=_FEAT
    )
    contrast_temperature: float = setting(
        16.0, "FEAT: divides the distances of that term.", "(0, inf)", methods=_FEAT
    )
    attention_dropout: float = setting(
        0.1, "FEAT: share of the attention that is left out.", "[0, 1)", methods=_FEAT
    )
    dropout: float = setting(
        0.5, "FEAT: share of its change that is left out.", "[0, 1)", methods=_FEAT
    )


@dataclasses.dataclass(frozen=True)
class TpnConfig(Part):
    """Label propagation, learned (TPN).

    Attributes:
        diagonal: the published code keeps it; EPNet's authors call that a mistake.
        scale: in the published variant without a learned one it is the same for all.
        first_scale: ours. On glyphs, 300 episodes from 0.3 or 0.5 learn (87 to 89 %, PN
            80 to 82), from 1 they do not (28): all points are then equally near.
    """

    name: ClassVar = "tpn"

    neighbors: int = setting(
        20, "TPN: edges that a point keeps.", COUNT, methods=("tpn",)
    )
    alpha: float = setting(
        0.99, "TPN: how far labels spread.", "[0, 0.999]", methods=("tpn",)
    )
    diagonal: bool = setting(
        True,
        "TPN: whether a point is its own neighbor, and counts as one of them.",
        methods=("tpn",),
    )
    scale: float = setting(
        0.0,
        "TPN: length scale of all points; 0 for one of each that is learned.",
        "[0, inf)",
        methods=("tpn",),
    )
    first_scale: float = setting(
        0.5, "TPN: what the learned one starts at.", "(0, inf)", methods=("tpn",)
    )

    def unused_reason(self, name: str) -> str:
        """Returns why nothing looks at a setting; empty if something does."""
        fixed = name == "first_scale" and self.scale
        return f"--tpn_scale={self.scale:g} is used as it is" if fixed else ""


@dataclasses.dataclass(frozen=True)
class EgnnConfig(Part):
    """The edge-labelling graph network (EGNN)."""

    name: ClassVar = "egnn"

    size: int = setting(
        96, "EGNN: numbers in a node of a layer.", "[1, 4096]", methods=("egnn",)
    )
    dropout: float = setting(
        0.1,
        "EGNN: share of channels left out in all layers but the last.",
        "[0, 1)",
        methods=("egnn",),
    )
    together: bool = setting(
        False,
        "EGNN: train by one graph that holds all queries, as a transductive test "
        "does, instead of a graph for each.",
        methods=("egnn",),
    )
