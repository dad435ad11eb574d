"""What several workers gain on paper: bytes sent in a step against the time of a step.

    python tools/scaling.py --output=results/scaling.csv
    python tools/scaling.py --conv4_ms=20  # a faster device

Workers average their gradients in a ring: each sends 2 (W - 1) / W of them. A step of
PRWN on mini-ImageNet takes what it takes alone, then what sending takes; that both go
on at once, as they do in part, is not counted. The step of an encoder is that of
Conv-4, as docs/speed.md has it, times its share of arithmetic. Gradients and averages
wait for one another, and the tensors of each travel side by side.
"""

import dataclasses
import math
import pathlib
from collections.abc import Sequence

from absl import app, flags, logging

from prwn_tf import files, protocols
from prwn_tf.imports import load_tensorflow

FLAGS = flags.FLAGS
ENCODERS = {"conv4": "Conv-4", "resnet12": "ResNet-12"}
WORKERS = [2**power for power in range(7)]
PHASES = 2  # gradients, then averages of batch norm


def define_flags() -> None:
    """Defines the flags of this program.

    Not at import, since a test has those of other programs as well.
    """
    flags.DEFINE_float(
        "conv4_ms", 373, "Time of a step with Conv-4, in ms.", lower_bound=0.001
    )
    flags.DEFINE_float(
        "latency_us", 50, "Time of an empty message, in microseconds.", lower_bound=0
    )
    flags.DEFINE_multi_float(
        "gigabits", [1, 10], "Gigabits that a worker sends in a second."
    )
    flags.DEFINE_string("output", None, "File for the table, as CSV.")


@dataclasses.dataclass(frozen=True)
class Step:
    """What a step costs a worker."""

    numbers: int  # gradients and averages, of 4 bytes
    operations: float  # of one image, forward

    def sent(self, workers: int) -> float:
        """Returns the bytes that each of some workers sends."""
        return 4 * self.numbers * 2 * (workers - 1) / workers

    def seconds(self, workers: int, gigabits: float) -> float:
        """Returns how long sending takes."""
        messages = PHASES * 2 * (workers - 1)
        bandwidth = gigabits * 1e9 / 8
        return self.sent(workers) / bandwidth + messages * FLAGS.latency_us * 1e-6


def measured(encoder: str) -> Step:
    """Returns what a step with an encoder sends and computes."""
    import tensorflow as tf

    from prwn_tf import build

    task = protocols.Task("mini", "prwn")
    config = dataclasses.replace(
        protocols.protocol(task), encoder=encoder, conv_block="plain"
    )
    model = build.build_model(config)
    forward = tf.function(lambda images: model(images, training=False))
    image = tf.TensorSpec([1, *config.image_shape], tf.float32)
    counted = tf.compat.v1.profiler.profile(
        forward.get_concrete_function(image).graph,
        options=tf.compat.v1.profiler.ProfileOptionBuilder(
            tf.compat.v1.profiler.ProfileOptionBuilder.float_operation()
        )
        .with_empty_output()
        .build(),
    )
    variables = (*model.trainable_variables, *model.encoder.non_trainable_variables)
    numbers = sum(math.prod(variable.shape) for variable in variables)
    return Step(numbers, counted.total_float_ops)


def rows(steps: dict[str, Step]) -> list[list[str]]:
    """Returns a row for each encoder and number of workers, below a header."""
    networks = [f"{each:g} Gbit/s" for each in FLAGS.gigabits]
    lines = [["encoder", "workers", "MB sent", *networks]]
    for encoder, step in steps.items():
        alone = _seconds_alone(step, steps)
        for workers in WORKERS:
            gains = [
                workers * alone / (alone + step.seconds(workers, each))
                for each in FLAGS.gigabits
            ]
            sent = step.sent(workers) / 1e6
            cells = [f"{each:.1f}" for each in (sent, *gains)]
            lines.append([ENCODERS[encoder], str(workers), *cells])
    return lines


def _seconds_alone(step: Step, steps: dict[str, Step]) -> float:
    """Returns how long a step takes that sends nothing."""
    return FLAGS.conv4_ms / 1e3 * step.operations / steps["conv4"].operations


def table(rows: Sequence[Sequence[str]]) -> str:
    """Returns rows below a header as Markdown."""
    header, *others = (f"| {' | '.join(row)} |" for row in rows)
    return "\n".join([header, "|---" * len(rows[0]) + "|", *others])


def main(argv: Sequence[str]) -> None:
    if len(argv) > 1:
        raise app.UsageError(f"unexpected argument {argv[1]!r}")
    load_tensorflow()
    logging.set_verbosity(logging.ERROR)  # the profiler calls what is deprecated
    steps = {encoder: measured(encoder) for encoder in ENCODERS}
    for encoder, step in steps.items():
        milliseconds = 1e3 * _seconds_alone(step, steps)
        name = ENCODERS[encoder]
        print(f"{name}: {step.numbers:,} numbers, a step of {milliseconds:.0f} ms")
    header, *lines = rows(steps)
    print(table([header, *lines]))
    if FLAGS.output:
        files.write_csv(pathlib.Path(FLAGS.output), header, lines)


if __name__ == "__main__":
    define_flags()
    app.run(main)
