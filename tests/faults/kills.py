"""Programs that die at the n-th change of the disk, as Python's audit events tell it.

What TensorFlow's own code writes is not among them; `tools/soak.py` counts that, too.
"""

import os
import signal
import sys

from tests.faults import watch


def kill_at(number: int, sign: int = signal.SIGKILL, name: str = "") -> None:
    """For `before` of a child: sends it a signal right before its n-th change.

    Args:
        name: changes of other paths than those with it in their names do not count.
    """
    left = [number]

    def count(event: str, arguments: tuple) -> None:
        writing = event == "open" and (arguments[2] or 0) & watch.WRITING
        if (writing or event in watch.CHANGING) and name in str(arguments[0]):
            left[0] -= 1
            if left[0] == 0:
                os.kill(os.getpid(), sign)

    sys.addaudithook(count)
