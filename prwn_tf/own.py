"""Parts of the user's own: an encoder, a head or a loss term in a file of theirs.

Such a class extends the base class of its kind, and names its settings, if it has any,
as `Config`: a frozen dataclass that extends `Part` or `Term`. Its name is
"module:Class", for a module that Python finds.
"""

import dataclasses

from prwn_tf import backbones, imports
from prwn_tf.errors import UserError
from prwn_tf.settings import EncoderPart, Part


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
    if kind in (None, EncoderPart):  # which encoders have if they say nothing
        return OwnPart(imports.source_hash(part), None)
    _check_settings(name, kind)
    return OwnPart(imports.source_hash(part), kind())


def _check_settings(name: str, kind: type) -> None:
    """Raises unless a class can be the settings of a part."""
    made = dataclasses.is_dataclass(kind) and "__dataclass_params__" in vars(kind)
    if not (made and kind.__dataclass_params__.frozen and issubclass(kind, Part)):
        raise UserError(
            f"{name}.Config must be a dataclass of its settings; write "
            "@dataclasses.dataclass(frozen=True) above it, and have it extend Part, "
            "EncoderPart or Term of prwn_tf.settings"
        )
