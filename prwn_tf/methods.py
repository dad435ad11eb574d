"""A method is a head on top of an encoder, plus loss terms by their weights.

Classes are named here and loaded when a model is built, so that flags can be checked
without loading TensorFlow.
"""

import dataclasses
from collections.abc import Callable, Collection, Mapping
from typing import Any

from prwn_tf import backbones, imports
from prwn_tf.config import ENCODERS, PARTS, EpisodeSpec, TrainConfig
from prwn_tf.errors import UserError
from prwn_tf.own import is_own
from prwn_tf.settings import EncoderPart, Term
from prwn_tf.spec import BatchSpec


@dataclasses.dataclass(frozen=True)
class Method:
    """A method by name.

    Attributes:
        head: its class.
        terms: loss terms that belong to it. Their weights in the config decide, which
            protocols.py sets: so any of them can join any head.
        uses_unlabeled: whether the head itself learns from unlabelled points.
        trained_as: whose episodes and rates train it: "prwn", the walk's paper,
            "ren2018", Ren et al., "liu2019", TPN's, "kim2019", EGNN's, "ye2020",
            FEAT's, or "ye2020_classes", what FEAT's authors train before it.
        batches: whether it learns from mini-batches in the place of episodes.
        joined_as: the same once a loss term joins it.
    """

    head: str
    terms: tuple[str, ...] = ()
    uses_unlabeled: bool = False
    trained_as: str = "prwn"
    joined_as: str = ""
    batches: bool = False


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
    # Published on MAML and on relation networks; on prototypes it is ours.
    "metagan": Method(_PROTOTYPES, ("gan",)),
    "classifier": Method(
        "prwn_tf.heads.linear:LinearHead", trained_as="ye2020_classes", batches=True
    ),
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
    part = PARTS.get(backbones.part_name(name))
    return imports.load(part.implementation if part else name)


def training_spec(config: TrainConfig) -> EpisodeSpec | BatchSpec:
    """Returns what a config's method learns from, step by step."""
    if METHODS[config.method].batches:
        return BatchSpec(config.classifier.batch_size)
    return config.train


def uses_unlabeled(config: TrainConfig) -> bool:
    """Returns whether a config's head itself learns from unlabelled points."""
    if config.head:
        return head_class(config).uses_unlabeled
    return METHODS[config.method].uses_unlabeled


def check(config: TrainConfig) -> None:
    """Raises if a name is unknown, or if parts of a config do not fit together."""
    _check_known("method", config.method, METHODS)
    if backbones.is_backbone(config.encoder):
        backbones.check(config.encoder)
    elif not is_own(config.encoder):
        _check_known("encoder", config.encoder, ENCODERS)
    _check_images(config)
    config.check_terms()
    if METHODS[config.method].batches:
        _check_batches(config)
    if uses_unlabeled(config) and config.train.unlabeled_points == 0:
        name = f"--head={config.head}" if config.head else f"--method={config.method}"
        raise UserError(
            f"{name} learns from unlabelled points, but --train_unlabeled and "
            "--train_extra are 0; raise one of them, or use --method=pn"
        )


def _check_batches(config: TrainConfig) -> None:
    """Raises if something needs what mini-batches have not: a support, points."""
    if config.resplits > 1:
        raise UserError(
            f"--resplits={config.resplits} splits episodes, and --method="
            f"{config.method} learns from mini-batches; leave it out"
        )
    terms = (config.part(name) for name in config.terms)
    needy = [f"--{term.name}_weight" for term in terms if term.points_needed()]
    if config.head and uses_unlabeled(config):
        needy.append(f"--head={config.head}")
    if needy:
        raise UserError(
            f"{needy[0]} needs unlabelled points, and --method={config.method} learns "
            "from mini-batches of labelled images; leave it out, or use another method"
        )


def _check_known(name: str, value: str, known: Collection[str]) -> None:
    """Raises unless a value is among those that are known."""
    if value not in known:
        raise UserError(f"{name} must be one of {', '.join(known)}, got {value!r}")


def _check_images(config: TrainConfig) -> None:
    """Raises if images are none that the encoder, or a term of the loss, can take."""
    if backbones.is_backbone(config.encoder):
        size = config.backbone.size
        backbones.check_images(config.encoder, size, config.image_shape)
    smallest = min(config.image_shape[:2])
    if config.augment and smallest == 1:  # spiral, gaussian_circles
        raise UserError(
            f"--augment changes images, and {config.dataset} has points of a plane; "
            "leave it out"
        )
    parts = {f"--encoder={config.encoder}": (config.encoder, "use --encoder=mlp")}
    for name in config.terms:
        flag = f"--{config.part(name).name}_weight"
        parts[flag] = (name, f"set {flag}=0")
    for flag, (name, remedy) in parts.items():
        # The settings of an encoder of the user's own may be none.
        needed = getattr(config.part(name), "smallest_image", 1)
        if smallest < needed:
            raise UserError(
                f"{flag} needs images of {needed} pixels at least, and "
                f"{config.dataset} has {smallest}; {remedy}"
            )


def architecture(config: TrainConfig) -> str:
    """Returns what a config's encoder computes, apart from its weights, in words."""
    own = config.own.get(config.encoder)
    facts = {
        "images": "x".join(map(str, config.image_shape)),
        "channels": config.channels,
        **_shaping(config),
        **({"sha256": own.sha256[:12]} if own else {}),
    }
    told = ", ".join(f"{name} {value}" for name, value in facts.items())
    return f"{config.encoder} ({told})"


def with_encoder(config: TrainConfig, other: TrainConfig) -> TrainConfig:
    """Returns a config whose encoder computes what another's does, and is its heir."""
    if other.encoder in other.own:
        return config  # code that the flags have to name
    name = backbones.part_name(other.encoder)
    settings = dataclasses.replace(
        config.part(name), **_shaping(other), **inherited(other)
    )
    changes = {"encoder": other.encoder, "channels": other.channels, name: settings}
    return dataclasses.replace(config, **changes)


def _shaping(config: TrainConfig) -> dict[str, Any]:
    """Returns the settings of an encoder that decide what it computes."""
    return _settings_where(config, lambda field: not field.get("training_only"))


def inherited(config: TrainConfig) -> dict[str, Any]:
    """Returns what a run that begins with a config's encoder takes over besides."""
    return _settings_where(config, lambda field: field.get("inherited"))


def _settings_where(
    config: TrainConfig, wanted: Callable[[Mapping[str, Any]], bool]
) -> dict[str, Any]:
    """Returns those settings of a config's encoder whose metadata is wanted."""
    settings = config.part(config.encoder)
    return {
        field.name: getattr(settings, field.name)
        for field in (dataclasses.fields(settings) if settings else ())
        if wanted(field.metadata)
    }


def unused_reason(config: TrainConfig, part: str, field: dataclasses.Field) -> str:
    """Returns why nothing looks at a setting of a part; empty if something does.

    Args:
        part: its name; "" for settings of the config itself.
    """
    settings, name = config.part(part) if part else config, field.name
    if isinstance(settings, EpisodeSpec) and METHODS[config.method].batches:
        return f"--method={config.method} learns from mini-batches"
    if reason := settings.unused_reason(name):
        return reason
    if isinstance(settings, Term):
        off = settings.weight == 0 and name != "weight"
        return f"--{settings.name}_weight is 0" if off else ""
    if (
        isinstance(settings, EncoderPart)
        and backbones.part_name(config.encoder) != part
    ):
        return f"it belongs to --encoder={settings.asked_as or part}"
    methods = field.metadata["methods"]
    if methods and (config.head or config.method not in methods):
        return f"it belongs to --method={' or '.join(methods)}"
    return ""
