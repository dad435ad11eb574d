"""A training step of ours, of plain Keras and of PyTorch, turn by turn.

Each competitor lives in a process of its own, with its own allocator and threads, and
takes its steps when it is its turn, so that the noise of the machine falls on all
alike. The first step of a turn is not counted: training takes one step after another,
and does not begin each with caches that another process has filled.
"""

import dataclasses
import importlib.util
import os
import pathlib
import statistics
import subprocess
import sys
import time
from collections.abc import Callable

from prwn_tf import protocols
from prwn_tf.config import TrainConfig


@dataclasses.dataclass(frozen=True)
class Work:
    """The episode of one training step."""

    size: int
    channels: int
    way: int
    shot: int
    query: int
    unlabeled: int

    @property
    def images(self) -> int:
        return self.way * (self.shot + self.query + self.unlabeled)

    @property
    def layers(self) -> list[tuple[int, int]]:
        """Size and input channels of the four convolutions."""
        sizes = [self.size // 2**block for block in range(4)]
        return list(zip(sizes, [self.channels, 64, 64, 64], strict=True))


WORKS = {
    "omniglot": Work(28, 1, way=20, shot=1, query=1, unlabeled=10),
    "mini": Work(84, 3, way=5, shot=5, query=5, unlabeled=10),
}
COUNTED = 2  # steps of a turn
OTHER = "the other checkout"
BFLOAT16 = "ours, bfloat16"
GENERATOR = "ours, with MetaGAN's generator"
TORCH = ("torch nchw", "torch channels_last", "torch compile")


def training_step(
    size: int,
    channels: int,
    way: int,
    shot: int,
    query: int,
    unlabeled: int,
    conv_block: str = "auto",
    precision: str = "float32",
    gan_weight: float = 0.0,
) -> Callable[[], float]:
    """Returns a PRWN training step on fixed images, which waits for its own end.

    Example:
        step = training_step(28, 1, way=20, shot=1, query=1, unlabeled=10)
        timeit.timeit(step, number=10)
    """
    import tensorflow as tf

    from prwn_tf import build
    from prwn_tf.config import EpisodeSpec
    from prwn_tf.episodes.pipeline import Episode
    from prwn_tf.training import loop

    spec = EpisodeSpec(way, shot, query, unlabeled)
    config = _published()
    config = dataclasses.replace(
        config,
        train=spec,
        gan=dataclasses.replace(config.gan, weight=gan_weight),
        image_shape=(size, size, channels),
        conv_block=conv_block,
        precision=precision,
    )
    config = build.resolved(config)
    model = build.trainable_model(config)

    def images(*shape: int) -> tf.Tensor:
        shape = [*shape, size, size, channels]
        noise = tf.random.stateless_uniform(shape, [0, 1], 0, 256, tf.int32)
        return tf.cast(noise, tf.uint8)

    parts = images(way, shot), images(way, query), images(way * unlabeled)
    episode = Episode(*parts, index=tf.constant(0))
    step = loop.compiled_step(model, config)
    return lambda: float(step(episode)["loss"])


def compare(
    work: str, turns: int, against: pathlib.Path | None, program: pathlib.Path
) -> dict[str, float]:
    """Returns median milliseconds of a step of each, and the arithmetic limit.

    Args:
        against: another checkout, whose steps alone are then compared with ours.
        program: the benchmark itself, which calls `take_turns` in a child process.
    """
    names = [
        "ours",
        BFLOAT16,
        GENERATOR,
        "plain keras",
        *(TORCH if _has_torch() else ()),
        "convolution",
    ]
    if against:
        names = ["ours", OTHER, "convolution"]
    workers = {
        name: _Worker(work, "ours", against / "tools/benchmark.py", against)
        if name == OTHER
        else _Worker(work, name, program)
        for name in names
    }
    times = {name: [] for name in names}
    for turn in range(turns):
        print(f"\r{work}: turn {turn + 1} of {turns}", end="", flush=True)
        for name, worker in workers.items():
            times[name].append(worker.step())
    print()
    for worker in workers.values():
        worker.stop()
    medians = {name: 1e3 * statistics.median(each) for name, each in times.items()}
    medians.pop("convolution")
    medians["arithmetic limit"] = 1e3 * min(times["convolution"]) * _work_ratio(work)
    return medians


class _Worker:
    """A competitor in its own process; it does nothing until it is its turn."""

    def __init__(
        self,
        work: str,
        name: str,
        program: pathlib.Path,
        checkout: pathlib.Path | None = None,  # of another version of the project
    ):
        allocator = {"plain keras": "false"}.get(name, "true")
        path = os.environ.get("PYTHONPATH", "") if checkout is None else str(checkout)
        self._process = subprocess.Popen(
            [sys.executable, program, f"--worker={work}/{name}"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            # Waiting threads of PyTorch would spin, and slow the others down.
            env=os.environ
            | {"TF_CPU_ALLOCATOR_USE_BFC": allocator, "OMP_WAIT_POLICY": "PASSIVE"}
            | {"PYTHONPATH": path},
        )
        if self._process.stdout.readline() != "ready\n":
            raise RuntimeError(f"the benchmark of {name} did not start")

    def step(self) -> float:
        """Returns the seconds of a step, after one that is not counted."""
        self._process.stdin.write("step\n")
        self._process.stdin.flush()
        return float(self._process.stdout.readline())

    def stop(self) -> None:
        self._process.communicate()


def take_turns(work: str, name: str) -> None:
    """Warms up, then takes a turn for every line it is sent: the worker's side."""
    step = _competitor(WORKS[work], name)
    for _ in range(3):
        step()
    print("ready", flush=True)
    for _ in sys.stdin:
        step()
        start = time.perf_counter()
        for _ in range(COUNTED):
            step()
        print((time.perf_counter() - start) / COUNTED, flush=True)


def _competitor(work: Work, name: str) -> Callable[[], object]:
    sizes = dataclasses.asdict(work)
    if name == "ours":
        return training_step(**sizes)
    if name == BFLOAT16:
        return training_step(**sizes, precision="bfloat16")
    if name == GENERATOR:
        return training_step(**sizes, gan_weight=1.0)
    if name == "plain keras":
        return training_step(**sizes, conv_block="plain")
    if name == "convolution":
        return _convolution(work)
    import benchmark_torch

    config = _published()
    return benchmark_torch.training_step(
        **sizes,
        variant=name.split()[1],
        walk=config.walk,
        optimizer=config.optimizer,
    )


def _published() -> TrainConfig:
    """Returns what all competitors compute, but for the size of the episode."""
    return protocols.protocol(protocols.Task("omniglot", "prwn"))


def flops(images: int, size: int, channels: int) -> float:
    """Returns the operations of a convolution of ours."""
    return 2.0 * images * size * size * 9 * channels * 64


def _convolution(work: Work) -> Callable[[], object]:
    """Returns the forward convolution of the second block, oneDNN's best case here."""
    import tensorflow as tf

    size, channels = work.layers[1]
    features = tf.random.normal([work.images, size, size, channels])
    kernel = tf.random.normal([3, 3, channels, 64])
    run = tf.function(lambda x: tf.nn.conv2d(x, kernel, 1, "SAME"))
    return lambda: run(features)


def _work_ratio(name: str) -> float:
    """Returns the operations of a training step over those of `_convolution`.

    Forward, gradient to the kernel, gradient to the input; the first layer's input
    needs none.
    """
    work = WORKS[name]
    each = [flops(work.images, *layer) for layer in work.layers]
    return (3 * sum(each) - each[0]) / each[1]


def _has_torch() -> bool:
    return importlib.util.find_spec("torch") is not None
