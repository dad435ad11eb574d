"""What surrounds a training step: input, walk, evaluation, memory, start-up."""

import os
import pathlib
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable

import numpy as np
import tensorflow as tf
from benchmark_walk import gigabytes

from prwn_tf import build, protocols
from prwn_tf.config import ADAPTATIONS, RIVALS, EpisodeSpec
from prwn_tf.data.store import reader as store_lib
from prwn_tf.data.store import writer as writer_lib
from prwn_tf.episodes import pipeline, pools
from prwn_tf.evaluation.embeddings import Embedder
from prwn_tf.evaluation.evaluate import Evaluator
from prwn_tf.walk import losses

SPARSE_CLASSES, SPARSE_IMAGES = 351, 1278  # tiered-ImageNet's training classes: 9.5 GB
PUBLISHED = ("none", "refine", "filter")


def measure(training_step: Callable[[], object], program: str) -> dict[str, str]:
    """Returns what was measured, in words, by its name.

    Args:
        training_step: on an Omniglot episode, to compare with.
        program: the benchmark itself, for measurements in a child process.
    """
    measured = {}
    with tempfile.TemporaryDirectory() as folder:
        omniglot = _noise_store(pathlib.Path(folder) / "noise", classes=1692)
        step = _best(training_step, times=10)
        measured |= _walk_alone(step)
        measured |= _input_alone(omniglot, step)
        measured |= _evaluation(omniglot)
        measured |= _memory(pathlib.Path(folder) / "sparse", program)
    measured |= _start_up()
    return measured


def _best(function: Callable[[], object], times: int) -> float:
    """Returns the seconds of the fastest of several calls, after two to warm up."""
    seconds = []
    for _ in range(times + 2):
        start = time.perf_counter()
        function()
        seconds.append(time.perf_counter() - start)
    return min(seconds[2:])


def _noise_store(folder: pathlib.Path, classes: int) -> store_lib.ClassStore:
    """Returns noise, of the size of Omniglot's test split."""
    images = np.random.default_rng(0).integers(0, 256, (20, 28, 28, 1), np.uint8)
    shape = images.shape[1:]
    with writer_lib.StoreWriter(folder, image_shape=shape, about={}) as writer:
        for index in range(classes):
            writer.add("test", str(index), np.roll(images, index, axis=1))
    return store_lib.open_dataset(folder)["test"]


def _walk_alone(step: float) -> dict[str, str]:
    """Returns the time of the walk's loss and gradient: 20 prototypes, 200 points."""
    prototypes, unlabeled = tf.random.normal([20, 64]), tf.random.normal([200, 64])

    @tf.function(autograph=False)
    def walk():
        with tf.GradientTape() as tape:
            tape.watch([prototypes, unlabeled])
            walked = losses.walk_losses(prototypes, unlabeled)
            total = walked.walker + walked.visit
        return tape.gradient(total, [prototypes, unlabeled])

    seconds = _best(walk, times=10)
    return {
        "walk alone, 200 points": f"{1e3 * seconds:.1f} ms, {100 * seconds / step:.1f} "
        f"% of the fastest step ({1e3 * step:.0f} ms)"
    }


def _input_alone(store: store_lib.ClassStore, step: float) -> dict[str, str]:
    """Returns how many episodes a second are read, with nobody to train on them."""
    pool = pools.split_labels(store, "test", 0.1, seed=0)
    spec = EpisodeSpec(way=20, shot=1, query=1, unlabeled=10)
    episodes = iter(pipeline.episodes(store, pool, spec, 0, 0, 100_000))
    for _ in range(100):
        next(episodes)
    start = time.perf_counter()
    for _ in range(1000):
        next(episodes)
    rate = 1000 / (time.perf_counter() - start)
    return {
        "input pipeline alone": f"{rate:.0f} episodes/s, {rate * step:.0f} times what "
        "training takes"
    }


def _evaluation(store: store_lib.ClassStore) -> dict[str, str]:
    """Returns the times of test episodes, cached and with each embedded anew."""
    config = protocols.protocol(protocols.Task("omniglot", "prwn", distractors=5))
    model = build.build_model(build.resolved(config))
    pool, spec = pools.whole(store, "test"), config.test
    evaluator, embed = Evaluator(pool, model.head, seed=0), Embedder(model)
    cached = _best(lambda: evaluator(embed(store), spec, PUBLISHED, 3000), times=2)
    encode = tf.function(lambda images: model(images, training=False), autograph=False)
    episodes = iter(pipeline.episodes(store, pool, spec, 0, 0, 1000))

    def anew() -> None:
        """Does what an evaluation without the cache does for each episode."""
        episode = next(episodes)
        for _ in PUBLISHED:
            for part in (episode.support, episode.query, episode.unlabeled):
                encode(tf.reshape(part, [-1, *store.image_shape]))

    each = _best(anew, times=20)
    wide = EpisodeSpec(way=800, shot=1, query=5)
    embeddings = embed(store)
    every = (*ADAPTATIONS, *RIVALS)
    all_seconds = _best(lambda: evaluator(embeddings, spec, every, 3000), times=2)
    wide_seconds = _best(lambda: evaluator(embeddings, wide, ["none"], 20), times=2)
    return {
        "3000 test episodes, none + refine + filter": f"{cached:.1f} s, "
        f"{3000 * each / cached:.0f} times faster than embedding each anew "
        f"({3000 * each:.0f} s, from 20 episodes)",
        f"3000 test episodes, all {len(every)} adaptations, from embeddings": (
            f"{all_seconds:.1f} s"
        ),
        "an 800-way test episode": f"{1e3 * wide_seconds / 20:.0f} ms",
    }


def _memory(folder: pathlib.Path, program: str) -> dict[str, str]:
    """Returns the memory of a child process that trains from a file of 9.5 GB."""
    finished = subprocess.run(
        [sys.executable, program, f"--worker=memory/{folder}"],
        capture_output=True,
        text=True,
        check=True,
    )
    return {"resident memory, training from a 9.5 GB store": finished.stdout.strip()}


def train_from_sparse(
    folder: pathlib.Path, step: Callable[[], object], episodes: int = 2000
) -> str:
    """Reads 4 GB of mini-ImageNet's episodes, with a training step after every 50."""
    shape = (84, 84, 3)
    with writer_lib.StoreWriter(folder, image_shape=shape, about={}):
        pass
    path = folder / "train.bin"
    os.truncate(path, SPARSE_CLASSES * SPARSE_IMAGES * int(np.prod(shape)))
    store = store_lib.ClassStore(
        path=path,
        image_shape=shape,
        names=tuple(map(str, range(SPARSE_CLASSES))),
        counts=np.full(SPARSE_CLASSES, SPARSE_IMAGES),
    )
    pool = pools.split_labels(store, "train", 0.1, seed=0)
    spec = EpisodeSpec(way=5, shot=5, query=5, unlabeled=10)
    for index, _ in enumerate(pipeline.episodes(store, pool, spec, 0, 0, episodes)):
        if index % 50 == 0:
            step()
    peak = gigabytes("VmHWM")
    return f"{peak:.2f} GB at most"


def _start_up() -> dict[str, str]:
    def helpshort() -> None:
        subprocess.run(
            [sys.executable, "-m", "prwn_tf.train", "--helpshort"],
            capture_output=True,
            check=False,
        )

    return {"python -m prwn_tf.train --helpshort": f"{_best(helpshort, times=5):.2f} s"}
