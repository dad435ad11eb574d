"""Semi-supervised few-shot image classification with Prototypical Random Walks.

Importing this package is cheap: TensorFlow is loaded by the modules that need it.
It must come before TensorFlow all the same, because TensorFlow reads the choice of
its CPU allocator once, while it loads.
"""

import os
import sys
import warnings

__version__ = "0.2.0"

# TensorFlow's default CPU allocator hands large tensors back to the system after
# each step and faults them in again: about half of a Conv-4 step on two cores.
_ALLOCATOR = "TF_CPU_ALLOCATOR_USE_BFC"

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
