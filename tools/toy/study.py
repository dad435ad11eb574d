"""Trains the models of many settings over many seeds, quickly.

A step of these models takes a tenth of a millisecond of arithmetic and ten times that
in calls, so hundreds of `FewShotModel.train_step` run inside one compiled function.
One such function serves all seeds, labels and rates, and the episodes of a seed are
planned once for all models that share them.
"""

import dataclasses
import pathlib
from collections.abc import Hashable, Iterator, Mapping, Sequence

import numpy as np
import tensorflow as tf
from toy.settings import Setting

from prwn_tf import build
from prwn_tf.build import trainable_model
from prwn_tf.config import EpisodeSpec, TrainConfig
from prwn_tf.data import catalog
from prwn_tf.episodes import plan as plan_lib
from prwn_tf.episodes import pools as pools_lib
from prwn_tf.episodes.pipeline import Episode, query_labels
from prwn_tf.episodes.pools import Pools
from prwn_tf.heads.base import EmbeddedEpisode
from prwn_tf.heads.prototypes import PrototypeHead, nearest_scores
from prwn_tf.model import FewShotModel, accuracy

CHUNK = 100  # steps in one call
EPISODES = 600  # to test on


@dataclasses.dataclass(frozen=True)
class Job:
    """Models of a setting to be trained, each with every seed."""

    setting: Setting
    models: tuple[str, ...]
    seeds: tuple[int, ...]


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
        self._plans = {split: self._plan(split) for split in self.stores}

    def _plan(self, split: str) -> plan_lib.Plan:
        """Plans all test episodes of a split."""
        pools = pools_lib.whole(self.stores[split], split)
        plans = plan_lib.plans(pools, self.spec, seed=0, episodes=EPISODES)
        return next(iter(plans.batch(EPISODES)))

    def labels(self, ratio: float, seed: int) -> Pools:
        """Draws which training points have labels."""
        return pools_lib.split_labels(self.stores["train"], "train", ratio, seed)

    def one_shot(self, model: FewShotModel) -> dict[str, float]:
        """Returns the accuracy of 1-shot episodes, by split."""
        labels = query_labels(self.spec.way, self.spec.query)
        return {
            split: float(_one_shot(model(self.points[split]), plan, labels))
            for split, plan in self._plans.items()
        }

    def by_labels(self, model: FewShotModel, pools: Pools) -> dict[str, float]:
        """Returns the accuracy with all labelled points as support, by split."""
        prototypes = self.prototypes(model, pools)
        accuracies = {}
        for split, store in self.stores.items():
            scores = nearest_scores(prototypes, model(self.points[split]))
            labels = tf.constant(store.labels(), tf.int32)
            accuracies[split] = float(accuracy(scores, labels))
        return accuracies

    def prototypes(self, model: FewShotModel, pools: Pools) -> tf.Tensor:
        """Returns the mean embedding of each class's labelled points: [N, D]."""
        embeddings = model(self.points["train"])
        rows = [
            pools.rows[start : start + count]
            for start, count in zip(pools.starts, pools.labeled, strict=True)
        ]
        return tf.stack(
            [tf.reduce_mean(tf.gather(embeddings, part), axis=0) for part in rows]
        )


@tf.function(reduce_retracing=True)
def _one_shot(
    embeddings: tf.Tensor, plan: plan_lib.Plan, labels: tf.Tensor
) -> tf.Tensor:
    """Returns the accuracy over all test episodes, from a split's embeddings."""
    support = tf.gather(embeddings, plan.support)  # [E, N, 1, D]
    queries = tf.gather(embeddings, plan.query)  # [E, N, query, D]
    flat = tf.reshape(queries, [EPISODES, -1, embeddings.shape[-1]])
    episode = EmbeddedEpisode(support, flat, flat[:, :0])
    scores = PrototypeHead().answer(episode).scores
    return tf.reduce_mean(accuracy(scores, labels))


class Trainer:
    """One kind of model, trained anew each time by the same compiled steps."""

    def __init__(self, config: TrainConfig, data: Data):
        self._config = config
        self._data = data
        self._model = trainable_model(config)
        self._fresh = [variable.numpy() for variable in self._model.optimizer.variables]
        points, unlabeled = data.points["train"], config.train.unlabeled_points
        # AutoGraph is for the loop alone.
        step = tf.autograph.experimental.do_not_convert(self._model.train_step)

        @tf.function(jit_compile=True)
        def train(plans: plan_lib.Plan, start: tf.Tensor) -> None:
            rows = (plans.support, plans.query, plans.unlabeled[:, :unlabeled])
            for place in tf.range(CHUNK):
                images = (tf.gather(points, part[place]) for part in rows)
                step(
                    Episode(*images, classes=plans.classes[place], index=start + place)
                )

        self._train = train

    def run(
        self,
        name: str,
        config: TrainConfig,
        plans: Sequence[plan_lib.Plan],
        look_at: Sequence[int] = (),
    ) -> Outcome:
        """Trains from the first weights of a config, and tests."""
        self._restart(config)
        model, data = self._model, self._data
        curve = {0: data.one_shot(model)} if 0 in look_at else {}
        for step in range(CHUNK, config.episodes + 1, CHUNK):
            self._train(plans[step // CHUNK - 1], tf.constant(step - CHUNK))
            if step in look_at:
                curve[step] = data.one_shot(model)
        pools = data.labels(config.label_ratio, config.label_seed)
        return Outcome(
            model=name,
            seed=config.seed,
            one_shot=data.one_shot(model),
            by_labels=data.by_labels(model, pools),
            curve=curve,
            weights=model.get_weights(),
        )

    def _restart(self, config: TrainConfig) -> None:
        """Sets all variables as they are before the first step."""
        self._model.set_weights(build.build_model(config).get_weights())
        optimizer = self._model.optimizer
        for variable, value in zip(optimizer.variables, self._fresh, strict=True):
            variable.assign(value)
        optimizer.learning_rate = config.optimizer.learning_rate


class Study:
    """Trains jobs of one data set, sharing compiled steps and planned episodes."""

    def __init__(self, data: Data):
        self._data = data
        self._trainers: dict[tuple, Trainer] = {}

    def run(
        self, jobs: Mapping[Hashable, Job], look_at: Sequence[int] = ()
    ) -> Iterator[tuple[Hashable, Outcome]]:
        """Trains every job, and yields outcomes under the job's key, seed by seed."""
        for seed in dict.fromkeys(seed for job in jobs.values() for seed in job.seeds):
            todo = [
                (key, job.setting, model, _config(job.setting, model, seed))
                for key, job in jobs.items()
                if seed in job.seeds
                for model in job.models
            ]
            plans = self._plans(todo)
            for key, setting, model, config in todo:
                episodes = plans[_plan_key(setting, config)]
                trainer = self._trainer(config)
                yield key, trainer.run(model, config, episodes, look_at)

    def _plans(self, todo: Sequence[tuple]) -> dict[tuple, list[plan_lib.Plan]]:
        """Plans the episodes of all trainings of one seed, by `_plan_key`."""
        steps: dict[tuple, int] = {}
        for _, setting, _, config in todo:
            key = _plan_key(setting, config)
            steps[key] = max(steps.get(key, 0), config.episodes)
        plans = {}
        for key, count in steps.items():
            spec, ratio, seed = key
            planned = plan_lib.plans(self._data.labels(ratio, seed), spec, seed, count)
            plans[key] = list(planned.batch(CHUNK, drop_remainder=True))
        return plans

    def _trainer(self, config: TrainConfig) -> Trainer:
        """Returns the trainer of a kind of model, made when it is first needed."""
        key = (config.train, config.walk)
        if key not in self._trainers:
            self._trainers[key] = Trainer(config, self._data)
        return self._trainers[key]


def _config(setting: Setting, model: str, seed: int) -> TrainConfig:
    """Returns the config of a seed, which draws weights, episodes and labels."""
    config = setting.config(model)
    if config.episodes % CHUNK:
        raise ValueError(f"steps must be whole {CHUNK}s, got {config.episodes}")
    return dataclasses.replace(config, seed=seed, label_seed=seed)


def _plan_key(setting: Setting, config: TrainConfig) -> tuple:
    """Returns what decides the episodes of a training.

    The model without the walk takes the plans of the one with it, and leaves out the
    unlabelled points.
    """
    spec = config.train
    if config.label_ratio < 1:
        spec = dataclasses.replace(spec, unlabeled=setting.unlabeled)
    return spec, config.label_ratio, config.seed
