"""A method is a head on top of an encoder, plus loss terms by their weights.

Classes are named here and loaded when a model is built, so that flags can be checked
without loading TensorFlow.
"""

import dataclasses

from prwn_tf import imports
from prwn_tf.config import ENCODERS, PARTS, TrainConfig
from prwn_tf.errors import UserError
from prwn_tf.settings import Term


@dataclasses.dataclass(frozen=True)
class Method:
    """A method by name.

    Attributes:
        head: its class.
        terms: loss terms that belong to it. Their weights in the config decide, which
            protocols.py sets: so any of them can join any head.
        uses_unlabeled: whether the head itself learns from unlabelled points.
        trained_as: whose episodes and rates train it: "prwn", the walk's paper,
            "ren2018", Ren et al., "liu2019", TPN's, "kim2019", EGNN's, or "ye2020",
            FEAT's.
        joined_as: the same once a loss term joins it.
    """

    head: str
    terms: tuple[str, ...] = ()
    uses_unlabeled: bool = False
    trained_as: str = "prwn"
    joined_as: str = ""


def _kmeans(head: str) -> Method:
    return Method(
        f"prwn_tf.heads.kmeans:{head}", uses_unlabeled=True, trained_as="ren2018"
    )


_PROTOTYPES = "prwn_tf.heads.prototypes:PrototypeHead"
_FEAT = "prwn_tf.heads.feat:Feat"
METHODS = {
    # The paper's PN is Ren et al.'s; with a term it is a method of the paper.
    "pn": Method(_PROTOTYPES, trained_as="ren2018", joined_as="prwn"),
    "prwn": Method(_PROTOTYPES, ("walk",)),
    "pn_vat": Method(_PROTOTYPES, ("vat", "entropy")),
    "association": Method(_PROTOTYPES, ("association",)),
    "soft_kmeans": _kmeans("SoftKMeans"),
    "cluster_kmeans": _kmeans("ClusterKMeans"),
    "masked_kmeans": _kmeans("MaskedKMeans"),
    "tpn": Method(
        "prwn_tf.heads.propagation:PropagationHead",
        uses_unlabeled=True,
        trained_as="liu2019",
    ),
    "egnn": Method(
        "prwn_tf.heads.edges:EdgeHead", uses_unlabeled=True, trained_as="kim2019"
    ),
    "feat": Method(_FEAT, trained_as="ye2020"),
    "feat_walk": Method(_FEAT, ("walk",), trained_as="ye2020"),
    "feat_semi": Method(
        "prwn_tf.heads.feat:SemiFeat", uses_unlabeled=True, trained_as="ye2020"
    ),
}


def head_class(config: TrainConfig) -> type:
    """Returns the class of a config's head."""
    return imports.load(config.head or METHODS[config.method].head)


def encoder_class(config: TrainConfig) -> type:
    """Returns the class of a config's encoder."""
    return _part_class(config.encoder)


def term_class(name: str) -> type:
    """Returns the class of a loss term, by its name in a config."""
    return _part_class(name)


def _part_class(name: str) -> type:
    return imports.load(PARTS[name].implementation if name in PARTS else name)


def uses_unlabeled(config: TrainConfig) -> bool:
    """Returns whether a config's head itself learns from unlabelled points."""
    if config.head:
        return head_class(config).uses_unlabeled
    return METHODS[config.method].uses_unlabeled


def check(config: TrainConfig) -> None:
    """Raises if a name is unknown, or if parts of a config do not fit together."""
    for name, known in (("method", METHODS), ("encoder", ENCODERS)):
        value = getattr(config, name)
        if value not in known and not (name == "encoder" and imports.is_own(value)):
            raise UserError(f"{name} must be one of {', '.join(known)}, got {value!r}")
    _check_images(config)
    config.check_terms()
    if uses_unlabeled(config) and config.train.unlabeled_points == 0:
        name = f"--head={config.head}" if config.head else f"--method={config.method}"
        raise UserError(
            f"{name} learns from unlabelled points, but --train_unlabeled and "
            "--train_extra are 0; raise one of them, or use --method=pn"
        )


def _check_images(config: TrainConfig) -> None:
    """Raises if images are too small for the encoder."""
    needed = getattr(config.part(config.encoder), "smallest_image", 1)
    smallest = min(config.image_shape[:2])
    if smallest < needed:
        raise UserError(
            f"--encoder={config.encoder} needs images of {needed} pixels at least, and "
            f"{config.dataset} has {smallest}; use --encoder=mlp"
        )


def unused_reason(config: TrainConfig, part: str, field: dataclasses.Field) -> str:
    """Returns why nothing looks at a setting of a part; empty if something does."""
    settings, name = config.part(part), field.name
    if isinstance(settings, Term):
        off = settings.weight == 0 and name != "weight"
        return f"--{settings.name}_weight is 0" if off else ""
    if part in ENCODERS and config.encoder != part:
        return f"it belongs to --encoder={part}"
    methods = field.metadata["methods"]
    if methods and (config.head or config.method not in methods):
        return f"it belongs to --method={' or '.join(methods)}"
    return ""
