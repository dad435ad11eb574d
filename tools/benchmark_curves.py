"""How the cost of an episode grows: training and evaluation, a factor at a time.

A training step is measured with everything in it. A test episode is scored from stored
embeddings, as every program does it, by prototypes with and without refinement; to
embed an image once is a column of its own.
"""

import csv
import dataclasses
import pathlib
import statistics
import time
from collections.abc import Callable, Iterator

import numpy as np
import tensorflow as tf
import tqdm

from prwn_tf import build, protocols
from prwn_tf.analysis import figures
from prwn_tf.config import EpisodeSpec
from prwn_tf.data.store import reader as store_lib
from prwn_tf.episodes import pools
from prwn_tf.evaluation.embeddings import Embeddings
from prwn_tf.evaluation.evaluate import Evaluator
from prwn_tf.heads.prototypes import PrototypeHead

BASE = {"way": 5, "shot": 5, "unlabeled": 10, "size": 84}
QUERY = 5
FACTORS = {
    "way": (2, 5, 10, 20),
    "shot": (1, 5, 10, 20),
    "unlabeled": (2, 10, 20, 40),
    "size": (28, 42, 56, 84),
}
AXES = {
    "way": "classes",
    "shot": "labelled images a class",
    "unlabeled": "unlabelled images a class",
    "size": "pixels of a side",
}
COLUMNS = ("factor", "value", "images", "training", "evaluation", "embedding")
STEPS, EPISODES, IMAGES = 5, 400, 64

Row = dict[str, str | float]


def measure(training_step: Callable[..., Callable[[], object]]) -> list[Row]:
    """Returns a row for every value of every factor: episodes and images a second.

    Args:
        training_step: sizes of an episode -> a step, as in `benchmark_steps`.
    """
    rows: list[Row] = []
    for factor, value in tqdm.tqdm(list(_points()), desc="curves", disable=None):
        sizes = BASE | {factor: value}
        images = sizes["way"] * (sizes["shot"] + QUERY + sizes["unlabeled"])
        step = training_step(channels=3, query=QUERY, **sizes)
        rows.append(
            {
                "factor": factor,
                "value": value,
                "images": images,
                "training": 1 / _median(step, STEPS),
                "evaluation": _episodes_a_second(**sizes),
                "embedding": _images_a_second(sizes["size"]),
            }
        )
    return rows


def write(rows: list[Row], table: pathlib.Path, figure: pathlib.Path) -> None:
    """Writes the table as CSV, and the figure beside others of the documentation."""
    with table.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(
            {name: f"{v:.4g}" if isinstance(v, float) else v for name, v in row.items()}
            for row in rows
        )
    figures.write(figure.parent, figure.name, figures.render(draw, rows))


def draw(rows: list[Row]):
    """Draws episodes a second against each factor, both axes by powers."""
    figure = figures.new_figure(figures.PAGE, 2.1)
    panels = figure.subplots(1, len(FACTORS), sharey=True)
    for axes, factor in zip(panels, FACTORS, strict=True):
        chosen = [row for row in rows if row["factor"] == factor]
        values = [row["value"] for row in chosen]
        for name, color, marker in (
            ("evaluation", figures.COLORS[0], "o"),
            ("training", figures.COLORS[1], "s"),
        ):
            rates = [row[name] for row in chosen]
            axes.plot(values, rates, color=color, marker=marker, label=name)
        axes.set(xscale="log", yscale="log", xlabel=AXES[factor])
        axes.set_xticks(values, [str(value) for value in values])
        axes.minorticks_off()
    panels[0].set_ylabel("episodes a second")
    panels[0].legend()
    return figure


def _points() -> Iterator[tuple[str, int]]:
    for factor, values in FACTORS.items():
        for value in values:
            yield factor, value


def _median(function: Callable[[], object], times: int) -> float:
    """Returns the seconds of a call, after two to warm up."""
    seconds = []
    for _ in range(times + 2):
        start = time.perf_counter()
        function()
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds[2:])


def _episodes_a_second(way: int, shot: int, unlabeled: int, size: int) -> float:
    """Returns how many test episodes are scored from embeddings."""
    images = shot + QUERY + unlabeled
    width = 64 * (size // 16) ** 2
    vectors = np.random.default_rng(0).normal(size=(way * 4 * images, width))
    counts = np.full(4 * way, images)
    store = store_lib.ClassStore(
        path=pathlib.Path("never read"),
        image_shape=(size, size, 3),
        names=tuple(map(str, range(len(counts)))),
        counts=counts,
    )
    evaluator = Evaluator(pools.whole(store, "test"), PrototypeHead(), seed=0)
    embeddings = Embeddings.of(vectors.astype(np.float32))
    spec = EpisodeSpec(way=way, shot=shot, query=QUERY, unlabeled=unlabeled)
    adaptations = ("none", "refine")
    return EPISODES / _median(
        lambda: evaluator(embeddings, spec, adaptations, EPISODES), 3
    )


def _images_a_second(size: int) -> float:
    """Returns how many images are embedded, by the encoder of a test."""
    task = protocols.Task("mini", "prwn")
    config = dataclasses.replace(protocols.protocol(task), image_shape=(size, size, 3))
    model = build.build_model(build.resolved(config))
    encode = tf.function(lambda images: model(images, training=False))
    images = tf.random.stateless_uniform([IMAGES, size, size, 3], [0, 1])
    return IMAGES / _median(lambda: encode(images), STEPS)
