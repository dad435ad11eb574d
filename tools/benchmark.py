"""How fast it is: ours, plain Keras and PyTorch, turn by turn in one run.

    python tools/benchmark.py --output=benchmark.json
    python tools/benchmark.py --parts=steps --against=../before  # a clone

PyTorch takes part if it is installed. Absolute times move with the machine; compare
ratios. Give it an idle machine: half an hour, most of it for the longest walks, which
--most_points leaves out.
"""

import dataclasses
import json
import pathlib
import sys
from collections.abc import Callable, Sequence
from typing import Any

from absl import app, flags

import prwn_tf  # noqa: F401  (sets the allocator before TensorFlow loads)

sys.path.insert(0, str(pathlib.Path(__file__).parent))  # for its neighbours
import benchmark_report
import benchmark_steps

OUTPUT = flags.DEFINE_string("output", None, "File for the numbers, as JSON.")
TURNS = flags.DEFINE_integer("turns", 9, "Turns of each competitor.", lower_bound=3)
MOST_POINTS = flags.DEFINE_integer("most_points", 100_000, "Longest walk, in points.")
AGAINST = flags.DEFINE_string(
    "against", None, "Another checkout of the project, to compare steps with."
)
CURVES = flags.DEFINE_string(
    "curves", None, "File for the table of the cost curves; their figure is redrawn."
)
WORKER = flags.DEFINE_string("worker", None, "For the program's own use.")


PROGRAM = pathlib.Path(__file__).resolve()
IMAGES = PROGRAM.parents[1] / "docs/images/cost"


def steps() -> dict[str, Any]:
    against = pathlib.Path(AGAINST.value).resolve() if AGAINST.value else None
    return {
        work: benchmark_steps.compare(work, TURNS.value, against, PROGRAM)
        for work in benchmark_steps.WORKS
    }


def blocks() -> dict[str, Any]:
    import benchmark_blocks

    work = benchmark_steps.WORKS["mini"]
    return benchmark_blocks.measure(work.images, work.layers, benchmark_steps.flops)


def parts() -> dict[str, Any]:
    import benchmark_parts

    return benchmark_parts.measure(_step("omniglot"), program=PROGRAM)


def photos() -> dict[str, Any]:
    import benchmark_photos

    return benchmark_photos.measure()


def resnet() -> dict[str, Any]:
    import benchmark_resnet

    return benchmark_resnet.measure()


def walk() -> dict[str, Any]:
    import benchmark_walk

    return benchmark_walk.measure(PROGRAM, MOST_POINTS.value)


def curves() -> dict[str, Any]:
    import benchmark_curves

    measured = benchmark_curves.measure(benchmark_steps.training_step)
    if CURVES.value:
        benchmark_curves.write(measured, pathlib.Path(CURVES.value), IMAGES)
    return measured


MEASURES = {
    each.__name__: each for each in (steps, blocks, parts, photos, resnet, walk, curves)
}
PARTS = flags.DEFINE_list("parts", list(MEASURES), f"Any of: {', '.join(MEASURES)}.")
flags.register_validator(
    "parts",
    lambda names: set(names) <= set(MEASURES),
    message=f"takes {', '.join(MEASURES)}",
)


def main(argv: Sequence[str]) -> None:
    if len(argv) > 1:
        raise app.UsageError(f"unexpected argument {argv[1]!r}")
    if WORKER.value:
        work(*WORKER.value.split("/", 1))
        return
    report = {"machine": _machine()}
    for name, measure in MEASURES.items():
        if name in PARTS.value:
            report[name] = measure()
    benchmark_report.print_report(report)
    if OUTPUT.value:
        path = pathlib.Path(OUTPUT.value)
        earlier = json.loads(path.read_text()) if path.exists() else {}
        # Parts that were measured before on such a machine stay.
        if earlier.get("machine") == report["machine"]:
            report = earlier | report
        path.write_text(json.dumps(report, indent=2) + "\n")
        print(f"numbers written to {OUTPUT.value}")


def work(kind: str, name: str) -> None:
    """Does what the program asked of a child process: a measurement, or turns."""
    if kind == "memory":
        import benchmark_parts

        print(benchmark_parts.train_from_sparse(pathlib.Path(name), _step("mini")))
    elif kind == "walk":
        import benchmark_walk

        print(benchmark_walk.run(name))
    else:
        benchmark_steps.take_turns(kind, name)


def _step(work: str) -> Callable[[], float]:
    """Returns our training step of a kind of episodes."""
    sizes = dataclasses.asdict(benchmark_steps.WORKS[work])
    return benchmark_steps.training_step(**sizes)


def _machine() -> str:
    lines = pathlib.Path("/proc/cpuinfo").read_text().splitlines()
    models = [line.split(":")[1].strip() for line in lines if "model name" in line]
    return f"{len(models)} x {models[0]}"


if __name__ == "__main__":
    app.run(main)
