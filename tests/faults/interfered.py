"""Runs a program that gets a signal in the middle of a save.

python -m tests.faults.interfered "4:SIGINT 8:SIGKILL" train --workdir=...

A save writes to a temporary file and renames it; the signal comes between the two.
"""

import os
import re
import runpy
import signal
import sys

import prwn_tf  # noqa: F401  (sets the allocator before TensorFlow loads)

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

from tensorflow.python.ops import gen_io_ops


def interfere(faults: dict[int, signal.Signals]) -> None:
    """Sends this process a signal before the checkpoints of some steps are renamed."""
    rename = gen_io_ops.merge_v2_checkpoints

    def interfered(checkpoint_prefixes, destination_prefix, *more, **named):
        path = destination_prefix.numpy().decode()
        step = int(re.search(r"ckpt-(\d+)$", path).group(1))
        if step in faults and "/best/" not in path:
            os.kill(os.getpid(), faults.pop(step))
        return rename(checkpoint_prefixes, destination_prefix, *more, **named)

    gen_io_ops.merge_v2_checkpoints = interfered


if __name__ == "__main__":
    pairs = (pair.split(":") for pair in sys.argv[1].split())
    interfere({int(step): signal.Signals[name] for step, name in pairs})
    program = f"prwn_tf.{sys.argv[2]}"
    sys.argv = [program, *sys.argv[3:]]
    runpy.run_module(program, run_name="__main__")
