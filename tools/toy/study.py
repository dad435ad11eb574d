"""Trains the models of a setting over many seeds, quickly.

A step of these models takes a tenth of a millisecond of arithmetic and ten times that
in calls, so hundreds of `FewShotModel.train_step` run inside one compiled function,
and one compiled function serves all seeds.
"""

import dataclasses
import pathlib
from collections.abc import Sequence

import numpy as np
import tensorflow as tf
from toy.settings import Setting

from prwn_tf import methods
from prwn_tf.config import EpisodeSpec, TrainConfig
from prwn_tf.data import catalog
from prwn_tf.episodes import plan as plan_lib
from prwn_tf.episodes import pools as pools_lib
from prwn_tf.episodes.pipeline import Episode
from prwn_tf.heads.prototypes import PrototypeHead, nearest_scores
from prwn_tf.model import accuracy, query_labels
from prwn_tf.training.optimizer import build_optimizer

CHUNK = 100  # steps in one call
EPISODES = 600  # to test on


@dataclasses.dataclass(frozen=True)
class Outcome:
    """One trained model of one seed.

    Attributes:
        one_shot: accuracy of 1-shot episodes at the end, by split.
        by_labels: accuracy with all labelled training points as support, by split.
        curve: step -> one_shot, on the way.
        weights: of the trained model.
    """

    model: str
    seed: int
    one_shot: dict[str, float]
    by_labels: dict[str, float]
    curve: dict[int, dict[str, float]]
    weights: list[np.ndarray]


class Data:
    """The points of a set, and the episodes that models are tested on."""

    def __init__(self, dataset: str, data_dir: pathlib.Path):
        self.stores = catalog.open_prepared(dataset, data_dir)
        self.points = {
            split: tf.constant(store.read(np.arange(len(store))))
            for split, store in self.stores.items()
        }  # [points, 1, 1, 2]
        ways = len(self.stores["train"].names)
        self.spec = EpisodeSpec(ways, shot=1, query=15)
        self.plans = {split: self._plans(split) for split in self.stores}

    def _plans(self, split: str) -> plan_lib.Plan:
        pools = pools_lib.whole(self.stores[split], split)
        plan = plan_lib.planner(pools, self.spec, seed=0)
        return next(iter(tf.data.Dataset.range(EPISODES).map(plan).batch(EPISODES)))


class Trainer:
    """One kind of model, trained anew for each seed by the same compiled steps."""

    def __init__(self, setting: Setting, model: str, data: Data):
        self.name = model
        self.config = setting.config(model)
        self._data = data
        self.model = _compiled_model(self.config)
        self._fresh_optimizer = [v.numpy() for v in self.model.optimizer.variables]
        points = data.points["train"]

        @tf.function(jit_compile=True)
        def train(plans: plan_lib.Plan) -> None:
            for index in tf.range(CHUNK):
                rows = (plans.support, plans.query, plans.unlabeled)
                self.model.train_step(
                    Episode(*(tf.gather(points, part[index]) for part in rows))
                )

        self._train = train
        self._score = tf.function(_one_shot)

    def run(self, seed: int, look_at: Sequence[int] = ()) -> Outcome:
        """Trains from the weights and labels of a seed, and tests."""
        self._restart(seed)
        pools = pools_lib.split_labels(
            self._data.stores["train"], "train", self.config.label_ratio, seed
        )
        plan = plan_lib.planner(pools, self.config.train, seed)
        plans = tf.data.Dataset.range(_whole_chunks(self.config.episodes)).map(
            plan, num_parallel_calls=tf.data.AUTOTUNE
        )
        curve = {0: self._one_shot()} if 0 in look_at else {}
        for index, chunk in enumerate(plans.batch(CHUNK).prefetch(2), start=1):
            self._train(chunk)
            if index * CHUNK in look_at:
                curve[index * CHUNK] = self._one_shot()
        return Outcome(
            model=self.name,
            seed=seed,
            one_shot=self._one_shot(),
            by_labels=self._by_labels(pools),
            curve=curve,
            weights=self.model.get_weights(),
        )

    def _restart(self, seed: int) -> None:
        config = dataclasses.replace(self.config, seed=seed)
        self.model.set_weights(methods.build_model(config).get_weights())
        optimizer = self.model.optimizer
        for variable, value in zip(
            optimizer.variables, self._fresh_optimizer, strict=True
        ):
            variable.assign(value)

    def _one_shot(self) -> dict[str, float]:
        spec, accuracies = self._data.spec, {}
        labels = query_labels(spec.way, spec.query)
        for split, plan in self._data.plans.items():
            embeddings = self.model(self._data.points[split])
            episodes = self._score(embeddings, plan, labels)
            accuracies[split] = float(tf.reduce_mean(episodes))
        return accuracies

    def _by_labels(self, pools: pools_lib.Pools) -> dict[str, float]:
        prototypes = labeled_prototypes(self.model, self._data, pools)
        accuracies = {}
        for split, store in self._data.stores.items():
            scores = nearest_scores(prototypes, self.model(self._data.points[split]))
            labels = tf.constant(store.labels(), tf.int32)
            accuracies[split] = float(accuracy(scores, labels))
        return accuracies


def labeled_prototypes(model, data: Data, pools: pools_lib.Pools) -> tf.Tensor:
    """The mean embedding of each class's labelled training points: [N, D]."""
    rows = [
        pools.rows[start : start + count]
        for start, count in zip(pools.starts, pools.labeled, strict=True)
    ]
    points = data.points["train"]
    return tf.stack(
        [tf.reduce_mean(model(tf.gather(points, part)), axis=0) for part in rows]
    )


def run(
    setting: Setting,
    data: Data,
    models: Sequence[str],
    seeds: Sequence[int],
    look_at: Sequence[int] = (),
) -> list[Outcome]:
    """Every model of a setting with every seed."""
    outcomes = []
    for model in models:
        trainer = Trainer(setting, model, data)
        outcomes += [trainer.run(seed, look_at) for seed in seeds]
    return outcomes


def _compiled_model(config: TrainConfig):
    model = methods.build_model(config)
    model.compile(optimizer=build_optimizer(config.optimizer))
    model.optimizer.build(model.trainable_variables)
    return model


def _one_shot(
    embeddings: tf.Tensor, plan: plan_lib.Plan, labels: tf.Tensor
) -> tf.Tensor:
    """Accuracy of each episode from a split's embeddings [points, D]: [E]."""
    support = tf.gather(embeddings, plan.support)  # [E, N, 1, D]
    queries = tf.gather(embeddings, plan.query)  # [E, N, query, D]
    flat = tf.reshape(queries, [len(plan.query), -1, embeddings.shape[-1]])
    return accuracy(PrototypeHead().scores(support, flat, flat[:, :0]), labels)


def _whole_chunks(steps: int) -> int:
    if steps % CHUNK:
        raise ValueError(f"steps must be a multiple of {CHUNK}, got {steps}")
    return steps
