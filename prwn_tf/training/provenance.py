"""Which data a run is of, and what computed it.

Another data set may be prepared in the same place.
"""

import dataclasses
import hashlib
import importlib.metadata
import json
import platform
import sys
from collections.abc import Mapping

from prwn_tf import __version__, files
from prwn_tf.config import TrainConfig
from prwn_tf.data.store import manifest
from prwn_tf.data.store.reader import UNLABELED, ClassStore

PACKAGES = ("tensorflow", "keras", "numpy", "tensorflow-datasets", "absl-py")


@dataclasses.dataclass(frozen=True)
class Provenance:
    """What tells one prepared data set from another.

    Attributes:
        source: where it came from, for people; two archives may hold the same images.
        images: of all splits that the run uses.
        sha256: of their pixels, and of the number of images in each class.
    """

    source: str
    images: int
    sha256: str

    def __str__(self) -> str:
        return f"{self.source} ({self.images:,} images, sha256 {self.sha256[:12]})"


def of(config: TrainConfig, stores: Mapping[str, ClassStore]) -> Provenance:
    """Returns that of a run's data; images of no class count if it learns from them."""
    content = manifest.read(stores["train"].path.parent)
    parts = {
        split: part
        for split, part in sorted(content["splits"].items())
        if split != UNLABELED or config.train.extra
    }
    told_by = {
        split: [part["sha256"], *part["classes"].values()]
        for split, part in parts.items()
    }
    source = content.get("source")
    return Provenance(
        source=source if files.is_text(source) else json.dumps(source),
        images=sum(part["images"] for part in parts.values()),
        sha256=hashlib.sha256(json.dumps(told_by).encode()).hexdigest(),
    )


def versions() -> dict[str, str]:
    """Returns what computed the run."""
    return {
        "prwn_tf": __version__,
        "python": sys.version.split()[0],
        "machine": platform.machine(),
        **{name: importlib.metadata.version(name) for name in PACKAGES},
    }
