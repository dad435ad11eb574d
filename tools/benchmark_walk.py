"""Time and memory of the walk as points are added, each in a process of its own."""

import pathlib
import re
import statistics
import subprocess
import sys
import time
from typing import NamedTuple

PROTOTYPES = 20
STATUS, PEAK = (pathlib.Path("/proc/self", name) for name in ("status", "clear_refs"))
ENOUGH = 2.0  # seconds of repeated walks, after which the median is taken


class Walk(NamedTuple):
    """What is measured: points U of D numbers, with the gradient or without."""

    points: int
    size: int
    gradient: bool


WALKS = tuple(
    Walk(points, size, gradient)
    for size in (64, 1600)
    for points, gradient in (
        (200, True),
        (2_000, True),
        (20_000, True),
        (100_000, False),
    )
)


def measure(program: pathlib.Path, most: int) -> list[dict[str, float | int | bool]]:
    """Returns a row for each walk of at most so many points.

    Args:
        program: the benchmark itself, which calls `run` in a child process.
    """
    rows = []
    for walk in WALKS:
        if walk.points > most:
            continue
        name = "/".join(str(int(value)) for value in walk)
        print(f"\rwalk: {walk.points} points of {walk.size}   ", end="", flush=True)
        child = subprocess.run(
            [sys.executable, program, f"--worker=walk/{name}"],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            check=True,
        )
        seconds, gigabytes = map(float, child.stdout.split())
        rows.append({**walk._asdict(), "seconds": seconds, "gigabytes": gigabytes})
    print()
    return rows


def run(name: str) -> str:
    """Returns seconds of a walk, and the gigabytes that it took beside its points."""
    import numpy as np
    import tensorflow as tf

    from prwn_tf.walk import losses

    points, size, gradient = map(int, name.split("/"))

    @tf.function(autograph=False)
    def walk(prototypes, unlabeled):
        if not gradient:
            return losses.walk_losses(prototypes, unlabeled)
        with tf.GradientTape() as tape:
            tape.watch([prototypes, unlabeled])
            walked = losses.walk_losses(prototypes, unlabeled)
            total = walked.walker + walked.visit
        return tape.gradient(total, [prototypes, unlabeled])

    def vectors(number: int) -> tf.Tensor:
        # Not by TensorFlow, which would keep what it needs to draw them.
        random = np.random.default_rng([number, size])
        return tf.constant(random.standard_normal((number, size), np.float32))

    walk(vectors(PROTOTYPES), vectors(10))  # so that all libraries are loaded
    arguments = vectors(PROTOTYPES), vectors(points)
    traced = walk.get_concrete_function(*arguments)
    PEAK.write_text("5")  # forgets the peak before
    before, times = gigabytes("VmRSS"), []
    while not times or (sum(times) < ENOUGH and len(times) < 50):
        start = time.perf_counter()
        traced(*arguments)
        times.append(time.perf_counter() - start)
    # The first walk of a process faults its memory in.
    seconds = statistics.median(times[1:] or times)
    return f"{seconds} {gigabytes('VmHWM') - before}"


def gigabytes(name: str) -> float:
    """Returns what Linux says of this process's memory, now (VmRSS) or at its peak.

    What `resource` has for a peak may be that of the parent process.
    """
    status = STATUS.read_text(encoding="ascii")
    return int(re.search(rf"{name}:\s*(\d+) kB", status).group(1)) / 2**20
