"""The published settings of each data set and method: defaults behind unset flags.

Where a source is silent the decision is ours and marked so, or stands in
docs/differences.md. Those of one's own images are in own_images.py.
"""

import dataclasses
import re
from collections.abc import Callable, Sequence

from prwn_tf import authors, backbones, dataset_names, own_images
from prwn_tf.authors import every
from prwn_tf.backbones import BackboneConfig
from prwn_tf.config import EpisodeSpec, OptimizerConfig, TrainConfig, WalkConfig
from prwn_tf.task import Prepared, Task


def protocol(task: Task) -> TrainConfig:
    """Returns the published configuration for a task."""
    return _PROTOCOLS[dataset_names.kind(task.dataset)](task)


def authors_of(trained_as: str) -> str:
    """Returns who published a protocol, from its name in `Method.trained_as`."""
    name = {"prwn": "ayyad2021"}.get(trained_as, trained_as)
    author, year = re.match(r"([a-z]+)(\d{4})", name).groups()
    return f"{author.capitalize()} et al. {year}"


def untrained(
    encoder: str,
    weights: str,
    dataset: str = "folder",
    prepared: Prepared | None = None,
) -> TrainConfig:
    """Returns the config of a network of Keras as it was published, frozen.

    Prototypes of its embeddings classify. Images are resized to what it was trained
    with. Without a data set, they are photographs of that size.
    """
    pixels = backbones.pixels(encoder)
    prepared = prepared or Prepared((pixels, pixels, 3))
    return dataclasses.replace(
        protocol(Task(dataset, "pn", prepared=prepared)),
        encoder=encoder,
        backbone=BackboneConfig(weights, trainable="none", size=pixels),
    )


def _glyphs(task: Task) -> TrainConfig:
    """Returns our own: Omniglot's setting, made small enough for a first look."""
    test = _of_twenty(task)
    train = EpisodeSpec(way=10, shot=1, query=1, unlabeled=8)
    return TrainConfig(
        dataset=task.dataset,
        method=task.method,
        train=task.train_spec(train, test),
        test=test,
        image_shape=(28, 28, 1),
        label_ratio=0.1,
        **task.published_terms(WalkConfig(weight=1.0, decay=1.0)),
        optimizer=OptimizerConfig(halve_at=every(300, 900)),
        episodes=900,
        eval_episodes=1_000,
        validate_every=300,
        checkpoint_every=300,
    )


def _omniglot(task: Task) -> TrainConfig:
    """Returns Omniglot's: 2 of 20 drawings are labelled, so training can ask one."""
    test = _of_twenty(task)
    crowded, as_paper = test.distractors > 0, task.trained_as == "prwn"
    train = EpisodeSpec(
        way=20 if as_paper and not crowded else 5,
        shot=1,
        query=1,
        unlabeled=10 if as_paper else 5,
    )
    walk = WalkConfig(weight=2.0, decay=0.7) if crowded else WalkConfig(1.5, decay=1.0)
    paper = OptimizerConfig(halve_at=every(2_000, 20_000))
    return TrainConfig(
        dataset=task.dataset,
        method=task.method,
        train=task.train_spec(train, test),
        test=test,
        image_shape=(28, 28, 1),
        label_ratio=0.1,
        **task.published_terms(walk),
        optimizer=paper if as_paper else _REN_OMNIGLOT,
        episodes=20_000,
        validate_every=1_000,
        checkpoint_every=1_000,
    )


def _of_twenty(task: Task) -> EpisodeSpec:
    """Returns test episodes of classes of 20: they ask all that the rest leaves."""
    shot, unlabeled = task.shot or 1, 5 if task.unlabeled is None else task.unlabeled
    query = max(1, 20 - shot - unlabeled)
    return task.spec(way=5, shot=shot, query=query, unlabeled=unlabeled, distractors=0)


def _mini(task: Task) -> TrainConfig:
    """Returns mini's, of whoever published the method."""
    config = _mini_of_paper(task)
    change = authors.ON_MINI.get(task.trained_as)
    return change(config, task) if change else config


def _mini_of_paper(task: Task) -> TrainConfig:
    """Returns mini's: the paper trains with 5 shots also for 1, others do not."""
    test = task.spec(way=5, shot=5, query=20, unlabeled=20, distractors=0)
    as_paper = task.trained_as == "prwn"
    train = EpisodeSpec(
        way=5,
        shot=5 if as_paper else test.shot,
        query=5,
        unlabeled=10 if as_paper else 5,
    )
    # The authors train VAT for longer.
    episodes = 120_000 if "vat" in task.used else 100_000
    paper = OptimizerConfig(learning_rate=2.5e-4, halve_at=every(12_500, episodes))
    return TrainConfig(
        dataset=task.dataset,
        method=task.method,
        train=task.train_spec(train, test),
        test=test,
        image_shape=(task.prepared or Prepared()).image_shape,
        fit=(task.prepared or Prepared()).fit,
        label_ratio=0.4,
        **task.published_terms(WalkConfig(weight=0.5)),
        optimizer=paper if as_paper else _REN,
        episodes=episodes if as_paper else 200_000,
        validate_every=2_000,
        checkpoint_every=2_000,
    )


def _tiered(task: Task) -> TrainConfig:
    """Returns mini's on the schedule of Ren et al. (decision): the paper has none.

    Others halve their rates less often than on mini, as published.
    """
    config = _mini(task)
    episodes, interval = authors.ON_TIERED.get(task.trained_as, (200_000, 0))
    halve_at = every(interval, episodes) if interval else _REN.halve_at
    return dataclasses.replace(
        config,
        label_ratio=0.1,
        optimizer=dataclasses.replace(config.optimizer, halve_at=halve_at),
        episodes=episodes,
    )


def _spiral(task: Task) -> TrainConfig:
    """Returns the paper's network, shots and labels; the rest is ours.

    Validation chose it (results/toy/tuning.md), for the circles as well.
    """
    walk = WalkConfig(1.0, steps=0)
    return _plane(task, way=5, label_ratio=0.1, walk=walk, rate=1e-2, episodes=6_000)


def _gaussian_circles(task: Task) -> TrainConfig:
    """Returns the same as for the spiral; tau = 1 stands in the paper's figure."""
    walk = WalkConfig(0.3, visit_weight=0.0, steps=1)
    return _plane(task, way=3, label_ratio=0.05, walk=walk, rate=3e-2, episodes=1_000)


def _plane(
    task: Task,
    way: int,
    label_ratio: float,
    walk: WalkConfig,
    rate: float,
    episodes: int,
) -> TrainConfig:
    test = task.spec(way=way, shot=1, query=15, unlabeled=20, distractors=0)
    train = EpisodeSpec(way=way, shot=1, query=15, unlabeled=20)
    return TrainConfig(
        dataset=task.dataset,
        method=task.method,
        train=task.train_spec(train, test),
        test=test,
        image_shape=(1, 1, 2),
        encoder="mlp",
        channels=32,
        label_ratio=label_ratio,
        **task.published_terms(walk),
        optimizer=OptimizerConfig(learning_rate=rate, weight_decay=0.0),
        episodes=episodes,
        eval_episodes=600,
        validate_every=1_000,
        checkpoint_every=1_000,
    )


# Ren et al. 2018: the first halving in their lists multiplies by one. Adam's second
# beta is not set there, which means 0.999.
_REN = OptimizerConfig(halve_at=tuple(range(50_000, 200_000, 25_000)), beta_2=0.999)
_REN_OMNIGLOT = OptimizerConfig(
    halve_at=(6_000, 8_000, 12_000, 14_000, 16_000, 18_000), beta_2=0.999
)

_PROTOCOLS: dict[str, Callable[[Task], TrainConfig]] = {
    "glyphs": _glyphs,
    "omniglot": _omniglot,
    "mini": _mini,
    "tiered": _tiered,
    "folder": own_images.protocol,
    "tfds": own_images.protocol,
    "spiral": _spiral,
    "gaussian_circles": _gaussian_circles,
}

DATASETS: Sequence[str] = tuple(_PROTOCOLS)  # or kinds of them
PUBLISHED = ("omniglot", "mini", "tiered")  # the rest of the settings are ours
ANY_SIZE = ("mini", "tiered", "folder", "tfds")  # decided when they are prepared
