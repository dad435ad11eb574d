"""Kills a training run at random moments until it is done, and compares the weights.

    python tools/soak.py --kills=1000 --episodes=20000

First a run that nobody disturbs, then the same run, killed and started again. A kill
comes when a checkpoint of a random step begins or ends to be written, or before the
first step; so the moments that matter are hit often. The last line says whether the
weights are the same, bit for bit. Programs are forked from one that has TensorFlow
loaded, which makes a start three times faster.
"""

import contextlib
import hashlib
import multiprocessing
import os
import pathlib
import random
import sys
import tempfile
import threading
import time

import tqdm
from absl import app, flags

from prwn_tf.data import catalog

FLAGS = flags.FLAGS
PRELOADED = ["prwn_tf.experiment"]
# A checkpoint begins to be written, has its weights, is there.
SIGNS = ("ckpt-{}_temp", "ckpt-{}.data-00000-of-00001", "ckpt-{}.index")
POLL_SECONDS = 0.002  # between looks at the checkpoints


def define_flags() -> None:
    """Defines the flags of this program.

    Not at import, since the children import this file and have the flags of train.
    """
    flags.DEFINE_enum("dataset", "glyphs", list(catalog.DRAWN_DATASETS), "Data set.")
    flags.DEFINE_integer("kills", 10, "Kills to survive.", lower_bound=0)
    flags.DEFINE_integer("episodes", 60, "Episodes of the run.", lower_bound=1)
    flags.DEFINE_integer(
        "checkpoint_every", 2, "Episodes between checkpoints.", lower_bound=1
    )
    flags.DEFINE_integer("seed", 0, "Draws the moments of the kills.")
    flags.DEFINE_string("soak_dir", None, "Folder for both runs; default: a temporary.")


def main(argv: list[str]) -> int:
    del argv
    with contextlib.ExitStack() as stack:
        folder = FLAGS.soak_dir or stack.enter_context(tempfile.TemporaryDirectory())
        same = soak(pathlib.Path(folder))
    return 0 if same else 1


def soak(folder: pathlib.Path) -> bool:
    """Returns whether the run that was killed ended with the weights of the other."""
    catalog.open_prepared(FLAGS.dataset, folder / "data")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(PRELOADED)
    start = time.monotonic()
    unbroken, killed = folder / "unbroken", folder / "killed"
    _finish(context, unbroken)
    chance, kills, starts = random.Random(FLAGS.seed), 0, 0
    while kills < FLAGS.kills and newest(killed) < FLAGS.episodes:
        starts += 1
        kills += _kill_once(context, killed, chance, FLAGS.kills - kills)
        print(f"kill {kills} at step {newest(killed)}", flush=True)
    _finish(context, killed)
    same = weights(unbroken) == weights(killed)
    print(
        f"{kills} kills in {starts} starts, {FLAGS.episodes} episodes, "
        f"{time.monotonic() - start:.0f} s: weights are "
        f"{'equal' if same else 'DIFFERENT'}"
    )
    return same


def _finish(context, workdir: pathlib.Path) -> None:
    """Runs the training in a folder to its end."""
    process = _start(context, workdir)
    process.join()
    if process.exitcode != 0:
        raise SystemExit(f"training in {workdir} ended with {process.exitcode}")


def _kill_once(
    context, workdir: pathlib.Path, chance: random.Random, left: int
) -> bool:
    """Starts a run, and returns whether it was killed before it came to its end."""
    # The steps that are left are shared out among the kills that are left.
    reached = newest(workdir)
    span = max(1, (FLAGS.episodes - reached) // (left * FLAGS.checkpoint_every))
    saves = chance.randint(1, span)
    target = reached + saves * FLAGS.checkpoint_every
    sign = chance.choice(SIGNS)
    if chance.random() < 0.2:  # before the first step, or as early as can be
        target, sign = 0, "checkpoint"
    awaited = workdir / "checkpoints" / sign.format(target)
    process = _start(context, workdir)
    while process.is_alive() and not awaited.exists() and newest(workdir) <= target:
        time.sleep(POLL_SECONDS)
    time.sleep(chance.random() * 5 * POLL_SECONDS)
    process.kill()
    process.join()
    if process.exitcode not in (0, -9):
        raise SystemExit(f"training in {workdir} ended with {process.exitcode}")
    return process.exitcode == -9


def _start(context, workdir: pathlib.Path):
    """Starts the training in a folder, from wherever it is, as a child."""
    values = {
        "dataset": FLAGS.dataset,
        "workdir": workdir,
        "data_dir": workdir.parent / "data",
        "episodes": FLAGS.episodes,
        "checkpoint_every": FLAGS.checkpoint_every,
        "validate_every": max(1, FLAGS.episodes // 3),
        "report_every": 1,
        "channels": 8,
        "train_way": 3,
        "train_unlabeled": 2,
        "validation_episodes": 20,
        "eval_episodes": 20,
    }
    arguments = ["train", "--nocompare"]
    arguments += [f"--{name}={value}" for name, value in values.items()]
    log = workdir.with_suffix(".log")
    process = context.Process(target=train, args=(arguments, log))
    process.start()
    return process


def train(arguments: list[str], log: pathlib.Path) -> None:
    """Runs the program itself in a child, with its output in a file."""
    with log.open("a") as file:
        for descriptor in (1, 2):
            os.dup2(file.fileno(), descriptor)
    sys.argv = arguments
    # Its default is shared by processes, and nobody cleans up after a killed one.
    tqdm.tqdm.set_lock(threading.RLock())
    from prwn_tf import cli
    from prwn_tf import train as program

    cli.run(program.main)


def newest(workdir: pathlib.Path) -> int:
    """Returns the step of the newest checkpoint, -1 if there is none."""
    paths = (workdir / "checkpoints").glob("ckpt-*.index")
    return max((int(path.stem.removeprefix("ckpt-")) for path in paths), default=-1)


def weights(workdir: pathlib.Path) -> str:
    """Returns a hash of all variables at the end of a run, but the clock."""
    import tensorflow as tf

    path = workdir / "checkpoints" / f"ckpt-{FLAGS.episodes}"
    reader = tf.train.load_checkpoint(str(path))
    digest = hashlib.sha256()
    for name in sorted(reader.get_variable_to_shape_map()):
        if not name.startswith(("seconds", "save_counter", "_CHECKPOINTABLE")):
            digest.update(name.encode() + reader.get_tensor(name).tobytes())
    return digest.hexdigest()


if __name__ == "__main__":
    define_flags()
    app.run(main)
