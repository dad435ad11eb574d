"""Starts several workers of one training on this machine: an example to copy.

    python tools/cluster.py --workers=2 -- --dataset=glyphs --workdir=runs/two

What follows -- are flags of prwn_tf.train, the same for all workers. On several
machines each starts its own worker, and the scheduler sets TF_CONFIG
(docs/cluster.md).
"""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence

from absl import app, flags

WORKERS = flags.DEFINE_integer("workers", 2, "Processes to start.", lower_bound=1)


def environments(count: int) -> list[dict[str, str]]:
    """Returns what tells each worker who it is: the variable TF_CONFIG."""
    addresses = [f"127.0.0.1:{port}" for port in _free_ports(count)]
    return [
        {
            "TF_CONFIG": json.dumps(
                {
                    "cluster": {"worker": addresses},
                    "task": {"type": "worker", "index": index},
                }
            )
        }
        for index in range(count)
    ]


def _free_ports(count: int) -> list[int]:
    """Returns ports that nobody uses at the moment."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]


@contextlib.contextmanager
def _passing_on(workers: Sequence[subprocess.Popen]) -> Iterator[None]:
    """Gives signals that ask to stop to all workers, who save before they do."""

    def pass_on(number: int, unused_frame) -> None:
        for worker in workers:
            worker.send_signal(number)

    before = {
        number: signal.signal(number, pass_on)
        for number in (signal.SIGTERM, signal.SIGINT)
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def main(argv: Sequence[str]) -> int:
    command = [sys.executable, "-m", "prwn_tf.train", *argv[1:]]
    workers = [
        # In sessions of their own, so that a Ctrl-C comes once, from here.
        subprocess.Popen(command, env=os.environ | each, start_new_session=True)
        for each in environments(WORKERS.value)
    ]
    with _passing_on(workers):
        return _end(workers)


def _end(workers: Sequence[subprocess.Popen]) -> int:
    """Waits for all workers, and ends them when one has failed: its exit code."""
    while any(worker.poll() is None for worker in workers):
        failures = [worker.returncode for worker in workers if worker.returncode]
        if failures:
            for worker in workers:
                worker.terminate()
            for worker in workers:
                worker.wait()
            return failures[0]
        time.sleep(0.2)
    return max((worker.returncode for worker in workers), key=abs)


if __name__ == "__main__":
    app.run(main)
