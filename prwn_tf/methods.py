"""A method is a head on top of an encoder, plus regularizers by their weights.

Names are resolved when a model is built, so that flags can be checked without
loading TensorFlow.
"""

import dataclasses

from prwn_tf.config import TrainConfig
from prwn_tf.errors import UserError


@dataclasses.dataclass(frozen=True)
class Method:
    """A method by name.

    Attributes:
        head: its class.
        terms: loss terms that belong to it. Their weights in the config decide, which
            protocols.py sets: so any of them can join any head.
        refines: whether the head itself learns from unlabelled points.
    """

    head: str
    terms: tuple[str, ...] = ()
    refines: bool = False


_PROTOTYPES = "prwn_tf.heads.prototypes:PrototypeHead"
METHODS = {
    "pn": Method(_PROTOTYPES),
    "prwn": Method(_PROTOTYPES, ("walk",)),
    "pn_vat": Method(_PROTOTYPES, ("vat", "entropy")),
    "association": Method(_PROTOTYPES, ("association",)),
    "soft_kmeans": Method("prwn_tf.heads.kmeans:SoftKMeans", refines=True),
    "cluster_kmeans": Method("prwn_tf.heads.kmeans:ClusterKMeans", refines=True),
    "masked_kmeans": Method("prwn_tf.heads.kmeans:MaskedKMeans", refines=True),
}
REGULARIZERS = {
    "walk": "prwn_tf.regularizers.walk:Walk",
    "vat": "prwn_tf.regularizers.vat:Vat",
    "entropy": "prwn_tf.regularizers.entropy:Entropy",
    "association": "prwn_tf.regularizers.association:Association",
}
ENCODERS = {
    "conv4": "prwn_tf.encoders.conv4:Conv4",
    "mlp": "prwn_tf.encoders.mlp:MLP",
}
CONV4_PIXELS = 16


def check(config: TrainConfig) -> None:
    """Raises if a name is unknown, or if parts of a config do not fit together."""
    for name, known in (("method", METHODS), ("encoder", ENCODERS)):
        if (value := getattr(config, name)) not in known:
            raise UserError(f"{name} must be one of {', '.join(known)}, got {value!r}")
    smallest = min(config.image_shape[:2])
    if config.encoder == "conv4" and smallest < CONV4_PIXELS:
        raise UserError(
            f"--encoder=conv4 halves an image four times, so it needs {CONV4_PIXELS} "
            f"pixels at least, and {config.dataset} has {smallest}; use --encoder=mlp"
        )
    config.check_terms()
    if METHODS[config.method].refines and config.train.unlabeled_points == 0:
        raise UserError(
            f"--method={config.method} learns from unlabelled points, but "
            "--train_unlabeled and --train_extra are 0; raise one of them, or use "
            "--method=pn"
        )
