"""Parts of the user's own: an encoder, a head or a loss term in a file of theirs.

Such a class extends the base class of its kind, and names its settings, if it has any,
as `Config`: a frozen dataclass that extends `Part` or `Term`. Its name is
"module:Class", for a module that Python finds.
"""

import dataclasses

from prwn_tf import backbones, imports
from prwn_tf.settings import Part


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
