"""What a network of eight bits costs: the same episodes, before and after."""

import pathlib
from collections.abc import Callable
from typing import Any

import numpy as np

from prwn_tf.data import catalog
from prwn_tf.data.store.reader import ClassStore
from prwn_tf.runs import Source
from prwn_tf.serving import inputs
from prwn_tf.serving.models import ServedModel
from prwn_tf.training.workdir import Workdir

WAY, SHOT, QUERIES = 5, 1, 5
EPISODES, CLASSES, IMAGES = 1000, 60, 20  # of the test split, and images of a class

# What is compared with a model: images [B, S, S, C] -> [B, D].
Network = Callable[[np.ndarray], np.ndarray]
# A model and its network of eight bits -> what to say of them.
Comparison = Callable[[ServedModel, Network], dict[str, Any]]


def comparison(source: Source, data_dir: pathlib.Path) -> Comparison:
    """Returns what compares a model and a network on the model's own test classes.

    Where they are not prepared, or others are by now, nothing is compared.
    """

    def compare(model: ServedModel, network: Network) -> dict[str, Any]:
        store = _own_test_classes(source, data_dir)
        if store is None:
            return {}
        images = _test_images(store)
        flat = images.reshape(-1, *images.shape[2:])
        before, after = (
            accuracy(points, *images.shape[:2])
            for points in (inputs.embeddings(flat, model), network(flat))
        )
        return {
            "dataset": model.about["dataset"],
            "way": min(WAY, len(images)),
            "before": before,
            "after": after,
        }

    return compare


def accuracy(embeddings: np.ndarray, classes: int, images: int) -> float:
    """Returns how many queries of episodes have the label of their nearest prototype.

    Args:
        embeddings: [classes * images, D], class by class.
    """
    points = embeddings.reshape(classes, images, -1)
    random, way = np.random.default_rng(0), min(WAY, classes)
    right = []
    for _ in range(EPISODES):
        drawn = random.choice(classes, way, replace=False)
        places = random.permutation(images)[: SHOT + QUERIES]
        episode = points[drawn][:, places]  # [N, K + q, D]
        prototypes = episode[:, :SHOT].mean(axis=1)  # [N, D]
        queries = episode[:, SHOT:, None] - prototypes  # [N, q, N, D]
        nearest = np.square(queries).sum(axis=-1).argmin(axis=-1)  # [N, q]
        right.append(np.mean(nearest == np.arange(way)[:, None]))
    return float(np.mean(right))


def _own_test_classes(source: Source, data_dir: pathlib.Path) -> ClassStore | None:
    """Returns the test classes of the data that a run is of, if they are there."""
    if not isinstance(source, Workdir):
        return None
    config = source.load_config()
    if not catalog.is_prepared(catalog.location(config.dataset, data_dir)):
        return None
    stores = catalog.open_prepared(config.dataset, data_dir)
    test = stores["test"]
    fits = source.is_of(config, stores) and test.image_shape == config.image_shape
    return test if fits else None


def _test_images(store: ClassStore) -> np.ndarray:
    """Returns as many images of each of some classes: [classes, images, S, S, C]."""
    images = min(IMAGES, int(store.counts.min()))
    chosen = np.linspace(0, len(store.names) - 1, min(CLASSES, len(store.names)))
    return np.stack([store.read(store.rows(int(label))[:images]) for label in chosen])
