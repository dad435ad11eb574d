"""Semi-supervised few-shot image classification with Prototypical Random Walks.

Importing this package is cheap: TensorFlow is loaded by the modules that need it.
It must come before TensorFlow all the same, because TensorFlow reads the choice of
its CPU allocator once, while it loads, and Keras that of its backend.
"""

import importlib
import os
import sys
import warnings
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from prwn_tf.model import FewShotModel
    from prwn_tf.serving.classifier import FewShotClassifier

__all__ = ["FewShotClassifier", "FewShotModel"]

__version__ = "0.2.0"

# TensorFlow's default CPU allocator hands large tensors back to the system after
# each step and faults them in again: about half of a Conv-4 step on two cores.
_ALLOCATOR = "TF_CPU_ALLOCATOR_USE_BFC"

_BACKEND = "KERAS_BACKEND"

if "keras" not in sys.modules:
    os.environ[_BACKEND] = "tensorflow"
elif (backend := sys.modules["keras"].config.backend()) != "tensorflow":
    raise ImportError(
        f"prwn_tf needs Keras on TensorFlow, and keras was imported with {backend}: "
        f"import prwn_tf first, or set {_BACKEND}=tensorflow"
    )

if _ALLOCATOR not in os.environ:
    if "tensorflow" in sys.modules:
        warnings.warn(
            "tensorflow was imported before prwn_tf, so training on the CPU will be "
            f"slower: import prwn_tf first, or set {_ALLOCATOR}=true",
            RuntimeWarning,
            stacklevel=2,
        )
    else:
        os.environ[_ALLOCATOR] = "true"

_CLASSES = {
    "FewShotClassifier": "prwn_tf.serving.classifier:FewShotClassifier",
    "FewShotModel": "prwn_tf.model:FewShotModel",
}


def __getattr__(name: str) -> Any:
    """Loads a class when it is asked for, and TensorFlow with it."""
    if name not in _CLASSES:
        raise AttributeError(f"module 'prwn_tf' has no attribute {name!r}")
    return importlib.import_module("prwn_tf.imports").load(_CLASSES[name])


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
