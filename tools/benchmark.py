"""How fast it is: ours, plain Keras and PyTorch, turn by turn in one run.

    python tools/benchmark.py --output=benchmark.json
    python tools/benchmark.py --parts=steps --against=../before  # a clone

Each competitor lives in a process of its own, with its own allocator and threads, and
takes its steps when it is its turn, so that the noise of the machine falls on all
alike. The first step of a turn is not counted: training takes one step after another,
and does not begin each with caches that another process has filled.
PyTorch takes part if it is installed. Absolute times move with the machine; compare
ratios. Give it an idle machine: half an hour, most of it for the longest walks, which
--most_points leaves out.
"""

import dataclasses
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence

from absl import app, flags

from prwn_tf import protocols  # sets the allocator before TensorFlow loads
from prwn_tf.config import TrainConfig

sys.path.insert(0, str(pathlib.Path(__file__).parent))  # for its neighbours
import benchmark_report

OUTPUT = flags.DEFINE_string("output", None, "File for the numbers, as JSON.")
TURNS = flags.DEFINE_integer("turns", 9, "Turns of each competitor.", lower_bound=3)
PARTS = flags.DEFINE_list(
    "parts",
    ["steps", "blocks", "parts", "photos", "resnet", "walk", "curves"],
    "Any of: steps, blocks, parts, photos, resnet, walk, curves.",
)
MOST_POINTS = flags.DEFINE_integer("most_points", 100_000, "Longest walk, in points.")
AGAINST = flags.DEFINE_string(
    "against", None, "Another checkout of the project, to compare steps with."
)
CURVES = flags.DEFINE_string(
    "curves", None, "File for the table of the cost curves; their figure is redrawn."
)
WORKER = flags.DEFINE_string("worker", None, "For the program's own use.")


@dataclasses.dataclass(frozen=True)
class Work:
    """The episode of one training step."""

    size: int
    channels: int
    way: int
    shot: int
    query: int
    unlabeled: int


WORKS = {
    "omniglot": Work(28, 1, way=20, shot=1, query=1, unlabeled=10),
    "mini": Work(84, 3, way=5, shot=5, query=5, unlabeled=10),
}
IMAGES = pathlib.Path(__file__).resolve().parents[1] / "docs/images/cost"
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


def main(argv: Sequence[str]) -> None:
    if len(argv) > 1:
        raise app.UsageError(f"unexpected argument {argv[1]!r}")
    if WORKER.value:
        _work(*WORKER.value.split("/", 1))
        return
    report = {"machine": _machine()}
    if "steps" in PARTS.value:
        report["steps"] = {name: _compare(name) for name in WORKS}
    if "blocks" in PARTS.value:
        import benchmark_blocks

        work = WORKS["mini"]
        report["blocks"] = benchmark_blocks.measure(
            _images(work), _layers(work), _flops
        )
    if "parts" in PARTS.value:
        import benchmark_parts

        step = training_step(**dataclasses.asdict(WORKS["omniglot"]))
        report["parts"] = benchmark_parts.measure(step, program=__file__)
    if "photos" in PARTS.value:
        import benchmark_photos

        report["photos"] = benchmark_photos.measure()
    if "resnet" in PARTS.value:
        import benchmark_resnet

        report["resnet"] = benchmark_resnet.measure()
    if "walk" in PARTS.value:
        import benchmark_walk

        program = pathlib.Path(__file__).resolve()
        report["walk"] = benchmark_walk.measure(program, MOST_POINTS.value)
    if "curves" in PARTS.value:
        import benchmark_curves

        report["curves"] = benchmark_curves.measure(training_step)
        if CURVES.value:
            benchmark_curves.write(report["curves"], pathlib.Path(CURVES.value), IMAGES)
    benchmark_report.print_report(report)
    if OUTPUT.value:
        path = pathlib.Path(OUTPUT.value)
        earlier = json.loads(path.read_text()) if path.exists() else {}
        # Parts that were measured before on such a machine stay.
        if earlier.get("machine") == report["machine"]:
            report = earlier | report
        path.write_text(json.dumps(report, indent=2) + "\n")
        print(f"numbers written to {OUTPUT.value}")


def _compare(work: str) -> dict[str, float]:
    """Returns median milliseconds of a step of each, and the arithmetic limit."""
    names = [
        "ours",
        BFLOAT16,
        GENERATOR,
        "plain keras",
        *(TORCH if _has_torch() else ()),
        "convolution",
    ]
    if AGAINST.value:
        names = ["ours", OTHER, "convolution"]
    workers = {name: _Worker(work, name) for name in names}
    times = {name: [] for name in names}
    for turn in range(TURNS.value):
        print(f"\r{work}: turn {turn + 1} of {TURNS.value}", end="", flush=True)
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

    def __init__(self, work: str, name: str):
        allocator = {"plain keras": "false"}.get(name, "true")
        program, path = (
            pathlib.Path(__file__).resolve(),
            os.environ.get("PYTHONPATH", ""),
        )
        if name == OTHER:
            path = str(pathlib.Path(AGAINST.value).resolve())
            program, name = pathlib.Path(path, "tools", "benchmark.py"), "ours"
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


def _work(work: str, name: str) -> None:
    """Warms up, then takes a turn for every line it is sent: the worker's side."""
    if work == "memory":
        import benchmark_parts

        step = training_step(**dataclasses.asdict(WORKS["mini"]))
        print(benchmark_parts.train_from_sparse(pathlib.Path(name), step))
        return
    if work == "walk":
        import benchmark_walk

        print(benchmark_walk.run(name))
        return
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


def _images(work: Work) -> int:
    return work.way * (work.shot + work.query + work.unlabeled)


def _layers(work: Work) -> list[tuple[int, int]]:
    """Returns size and input channels of the four convolutions."""
    sizes = [work.size // 2**block for block in range(4)]
    return list(zip(sizes, [work.channels, 64, 64, 64], strict=True))


def _flops(images: int, size: int, channels: int) -> float:
    return 2.0 * images * size * size * 9 * channels * 64


def _convolution(work: Work) -> Callable[[], object]:
    """Returns the forward convolution of the second block, oneDNN's best case here."""
    import tensorflow as tf

    size, channels = _layers(work)[1]
    features = tf.random.normal([_images(work), size, size, channels])
    kernel = tf.random.normal([3, 3, channels, 64])
    run = tf.function(lambda x: tf.nn.conv2d(x, kernel, 1, "SAME"))
    return lambda: run(features)


def _work_ratio(name: str) -> float:
    """Returns the operations of a training step over those of `_convolution`.

    Forward, gradient to the kernel, gradient to the input; the first layer's input
    needs none.
    """
    work = WORKS[name]
    layers = [_flops(_images(work), *layer) for layer in _layers(work)]
    return (3 * sum(layers) - layers[0]) / layers[1]


def _has_torch() -> bool:
    import importlib.util

    return importlib.util.find_spec("torch") is not None


def _machine() -> str:
    lines = pathlib.Path("/proc/cpuinfo").read_text().splitlines()
    models = [line.split(":")[1].strip() for line in lines if "model name" in line]
    return f"{len(models)} x {models[0]}"


if __name__ == "__main__":
    app.run(main)
