"""The analyses of `prwn_tf.analyze` by name; a new one is a file and a line here.

Names are resolved when they are asked for, so that flags can be checked without
loading TensorFlow.
"""

import importlib
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from prwn_tf.analysis.findings import Finding
    from prwn_tf.analysis.settings import Settings
    from prwn_tf.analysis.subject import Subject

# Name -> the module whose `analyze` is the analysis.
ANALYSES = {
    "training": "prwn_tf.analysis.curves",
    "scale": "prwn_tf.analysis.scale",
    "landing": "prwn_tf.analysis.landing",
    "ways": "prwn_tf.analysis.ways",
    "consistency": "prwn_tf.analysis.consistency",
    "pairs": "prwn_tf.analysis.pairs",
    "embedding": "prwn_tf.analysis.projection",
    "calibration": "prwn_tf.analysis.reliability",
}


def function(name: str) -> Callable[[Sequence["Subject"], "Settings"], "Finding"]:
    """Returns the analysis of that name."""
    return importlib.import_module(ANALYSES[name]).analyze
