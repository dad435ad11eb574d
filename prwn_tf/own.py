"""Parts of the user's own: an encoder, a head or a loss term in a file of theirs.

Such a class extends the base class of its kind, and names its settings, if it has any,
as `Config`: a frozen dataclass that extends `Part` or `Term`. Its name is
"module:Class", for a module that Python finds.
"""

import dataclasses

from prwn_tf import backbones, imports
from prwn_tf.errors import UserError
from prwn_tf.settings import EncoderPart, Part, Term

# What a part extends, by the flag that names it.
_BASES = {
    "encoder": "prwn_tf.encoders.base:Encoder",
    "head": "prwn_tf.heads.base:Head",
    "regularizers": "prwn_tf.regularizers.base:Regularizer",
}


@dataclasses.dataclass(frozen=True)
class OwnPart:
    """A part of the user's: which class it was, and its settings, if it has any."""

    sha256: str  # of the file that the class is in
    settings: Part | None


def is_own(name: str) -> bool:
    """Returns whether a name is that of a class, which the package does not list."""
    return ":" in name and not backbones.is_backbone(name)


def own_part(name: str) -> OwnPart:
    """Returns a part of the user's with its defaults, from "module:Class"."""
    part = imports.load(name)
    kind = getattr(part, "Config", None)
    settings = kind() if dataclasses.is_dataclass(kind) else None
    return OwnPart(imports.source_hash(part), settings)


def check_kind(name: str, part: OwnPart, flag: str) -> None:
    """Raises if a part is of another kind than the flag that names it.

    A run that was begun has been checked, and goes on as it is.
    """
    found, base = imports.load(name), imports.load(_BASES[flag])
    if not issubclass(found, base):
        raise UserError(
            f"--{flag}={name} must be a class that extends {base.__name__} of "
            f"{base.__module__}"
        )
    kind = getattr(found, "Config", None)
    if kind not in (None, EncoderPart) and not isinstance(part.settings, Part):
        raise UserError(
            f"{name}.Config must be a dataclass of its settings; write "
            "@dataclasses.dataclass(frozen=True) above it, and have it extend Part, "
            "EncoderPart or Term of prwn_tf.settings"
        )
    if flag == "regularizers" and not isinstance(part.settings, Term):
        raise UserError(
            f"--regularizers={name} has no weight; give the class a Config that "
            "extends Term of prwn_tf.settings (docs/research.md has one)"
        )
