"""One run from its config to its result: trains, validates, tests, resumes."""

import dataclasses
import functools
import logging
import math
import pathlib
import sys
from collections.abc import Callable, Sequence

import tensorflow as tf
import tqdm

from prwn_tf import build, files, methods
from prwn_tf.config import EpisodeSpec, TrainConfig
from prwn_tf.data.store.reader import ClassStore, training_store
from prwn_tf.episodes import pipeline
from prwn_tf.episodes import pools as pools_lib
from prwn_tf.episodes.pipeline import Episode
from prwn_tf.evaluation import calibration as calibration_lib
from prwn_tf.evaluation import fit, report
from prwn_tf.evaluation.calibration import Calibration
from prwn_tf.evaluation.embeddings import Embedder, Embeddings
from prwn_tf.evaluation.evaluate import Evaluation, Evaluator
from prwn_tf.model import FewShotModel
from prwn_tf.training import loop, monitor, projector, validation, weights
from prwn_tf.training.checkpoints import Checkpoints
from prwn_tf.training.monitor import Monitor
from prwn_tf.training.replicas import Replicas
from prwn_tf.training.validation import Validation
from prwn_tf.training.workdir import Workdir

MAX_PROJECTED = 1_000  # images on TensorBoard's projector page, at most
MAX_PROJECTED_NUMBERS = 2**22  # in all of their embeddings, at most


@dataclasses.dataclass
class Experiment:
    """A model, its data and its workdir."""

    config: TrainConfig
    workdir: Workdir
    stores: dict[str, ClassStore]
    pools: dict[str, pools_lib.Pools]  # by split
    model: FewShotModel
    checkpoints: Checkpoints
    embed: Embedder
    evaluators: dict[str, Evaluator]  # by split
    replicas: Replicas

    def train(self, flags_text: str = "") -> int:
        """Trains to the end of the config, from wherever the workdir is: its step."""
        start = self.replicas.from_chief(self._start(flags_text))
        with Monitor(self.workdir.tensorboard, start) as curves:
            if start == 0:
                curves.settings(self.config)
                if self.stores["train"].visible:
                    spec = methods.training_spec(self.config)
                    curves.episode(self._first_episode, spec)
            loop.train(
                self.model,
                self._episodes,
                self.config,
                self.workdir,
                self.checkpoints,
                curves,
                lambda step: self._validate(step, curves),
                start,
                self.replicas,
            )
        return max(start, self.config.episodes)

    def follow(self) -> int:
        """Takes part in the chief's training, who alone writes and speaks: its step."""
        start = self.replicas.from_chief()
        self.workdir.join(self.config, self.stores)
        self.checkpoints.restore_step(start)
        self._end_with_a_step(start)
        loop.follow(self.model, self._episodes, self.config, start, self.replicas)
        return max(start, self.config.episodes)

    def _start(self, flags_text: str) -> int:
        self.checkpoints.remove_leftovers()
        if self.workdir.has_config:
            step = self.checkpoints.restore().step
            self.checkpoints.list_anew()
            print(f"resuming {self.workdir.path} at step {step}")
            self._end_with_a_step(step)
            self.workdir.describe_again(self.config, step, flags_text)
            return step
        if self.config.init_from:
            self._adopt_encoder()
        else:
            self.model.encoder.initialize()
        self._end_with_a_step(0)
        # From here on a workdir with a config has a checkpoint, so one that lost all
        # of them is told apart from one that has not begun.
        self.checkpoints.save(0)
        files.write_json(
            self.workdir.path / "label_split.json",
            pools_lib.describe(
                self.pools["train"], self.config.label_ratio, self.config.label_seed
            ),
        )
        self.workdir.describe(self.config, self.stores, flags_text)
        return 0

    def _adopt_encoder(self) -> None:
        """Begins with the encoder of another run."""
        origin = self.config.init_from
        print(f"first weights:     {origin}")
        run = Workdir(pathlib.Path(origin.workdir))
        weights.restore_encoder(run.path / origin.checkpoint, self.model.encoder)
        known = calibration_lib.read(run.calibration)
        temperature = known and known.temperature("none", self.config.train.shot)
        origin = dataclasses.replace(origin, temperature=temperature or 0.0)
        self.model.encoder.adopt(origin.temperature)
        self.config = dataclasses.replace(self.config, init_from=origin)
        for caution in origin.cautions:
            logging.warning("%s", caution)

    def _end_with_a_step(self, start: int) -> None:
        """Lets the last step be whole, of an episode for each replica."""
        episodes = self.replicas.whole(start, self.config.episodes)
        self.config = dataclasses.replace(self.config, episodes=episodes)

    @functools.cached_property
    def _first_episode(self) -> Episode:
        return self._read(tf.constant(0, tf.int64))

    def _episodes(self, start: int) -> tf.data.Dataset:
        cluster = self.replicas.cluster
        return pipeline.dataset(
            self._read, start + cluster.place, self.config.episodes, cluster.workers
        )

    @functools.cached_property
    def _read(self) -> Callable[[tf.Tensor], Episode]:
        return pipeline.reader(
            training_store(self.stores, self.config.train_splits),
            self.pools["train"],
            methods.training_spec(self.config),
            self.config.seed,
            self.config.augment,
        )

    def _validate(self, step: int, curves: Monitor) -> None:
        [evaluation] = self.evaluate(
            "val", self.config.test, ["none"], self.config.validation_episodes
        )
        curves.validation(step, {"accuracy": evaluation.accuracy})
        validation.record(
            self.workdir.validation,
            Validation(
                step,
                evaluation.accuracy,
                evaluation.interval,
                len(evaluation.accuracies),
            ),
        )
        if self.stores["train"].visible:
            drawn = self.model.pictures(self._first_episode)
            curves.drawn(step, self._first_episode, drawn)
        self.checkpoints.save_best(step, evaluation.accuracy)
        # Not `print`, which would write into the progress bar.
        about = [f"{len(evaluation.accuracies)} episodes"]
        about += report.drawn_from([evaluation])
        about += ["classes that it learns"] * self.config.learns_validation
        tqdm.tqdm.write(f"step {step}: validation {evaluation} ({'; '.join(about)})")
        sys.stdout.flush()

    def evaluate(
        self, split: str, spec: EpisodeSpec, adaptations: Sequence[str], episodes: int
    ) -> list[Evaluation]:
        """Returns the accuracy of the model as it is on episodes of a split."""
        embeddings = self.embed(self.stores[split])
        return self.evaluators[split](embeddings, spec, adaptations, episodes)

    def test(self) -> list[Evaluation]:
        """Tests the selected checkpoint and writes the result."""
        config, path = self.config, self.workdir.path
        seconds = float(self.checkpoints.seconds)  # the best one's are fewer
        restored = self.checkpoints.restore(config.select)
        held_out = self.embed(self.stores["val"])
        calibration = self._calibrate(held_out)
        embeddings = self.embed(self.stores["test"])
        adaptations = self.model.head.adaptations if config.test.unlabeled else ["none"]
        evaluations = self.evaluators["test"](
            embeddings, config.test, adaptations, config.eval_episodes, calibration
        )
        report.write_episodes(path / "episodes.csv", evaluations)
        losses = self.workdir.losses
        losses = files.read_json(losses) if losses.exists() else {}
        used = dataclasses.replace(config, select=restored.select)
        result = report.result(used, restored.step, seconds, evaluations, losses)
        result["replicas"] = self.replicas.count
        files.write_json(self.workdir.result, result)
        accuracies = {each.adapt: each.accuracy for each in evaluations}
        monitor.write_tests(self.workdir.tensorboard, restored.step, accuracies)
        if self.stores["val"].visible:
            self._project(held_out)
        return evaluations

    def _calibrate(self, held_out: Embeddings) -> Calibration | None:
        """Stores and returns what is known of how sure the model's answers are."""
        fitted, path = None, self.workdir.calibration
        if not self.config.learns_validation:
            head = self.model.head
            fitted = fit.fit(self.pools["val"], held_out, head, self.config)
        lines = calibration_lib.update(path, fitted)
        print("\n".join([*lines, *calibration_lib.caution(self.stores)]))
        return fitted or calibration_lib.read(path)

    def _project(self, embeddings: Embeddings) -> None:
        """Shows validation images, so that nobody is led to choose by those of test."""
        store = self.stores["val"]
        most = max(1, min(MAX_PROJECTED, MAX_PROJECTED_NUMBERS // embeddings.shape[1]))
        rows = projector.chosen(store, most)
        projector.write(
            self.workdir.tensorboard,
            embeddings.gather(rows).numpy(),
            [store.names[label] for label in store.labels()[rows]],
            store.read(rows),
        )


def run(
    config: TrainConfig,
    workdir: Workdir,
    stores: dict[str, ClassStore],
    flags_text: str,
    replicas: Replicas,
) -> tuple[int, list[Evaluation]]:
    """Trains what is left to train, then tests: the steps trained, and the tests."""
    if replicas.count > 1:
        print(f"a step:            {replicas.count} episodes, one a replica")
    print(f"training episodes: {methods.training_spec(config)}")
    print(f"test episodes:     {config.test}")
    print(f"labelled images:   {labelled(config)}")
    for text in report.warning(config).values():
        logging.warning(text)
    experiment = create(config, workdir, stores, replicas)
    print(f"parameters:        {_parameters(experiment.model)}")
    step = experiment.train(flags_text)
    return step, experiment.test()


def labelled(config: TrainConfig) -> str:
    """Returns how many training images are labelled and what is walked over."""
    if config.label_ratio < 1:
        share = f"{100 * config.label_ratio:.3g} % of each training class"
        return f"{share} (--label_ratio), the rest is unlabelled"
    method = methods.METHODS[config.method]
    if config.train.unlabeled and not method.batches:
        return "all; further ones of an episode's classes are its unlabelled images"
    left_out = [name for name in method.terms if name not in config.terms]
    if left_out and not config.train.unlabeled_points:
        terms = " and the ".join(left_out)
        return f"all, and none is left over: it trains without the {terms}"
    return "all"


def create(
    config: TrainConfig,
    workdir: Workdir,
    stores: dict[str, ClassStore],
    replicas: Replicas,
) -> Experiment:
    """Builds everything a run needs, after checking that its data suffices."""
    run_pools = pools_lib.for_run(config, stores)
    config = build.resolved(config, replicas.count)
    build.set_determinism(config)
    with replicas.scope():
        model = build.trainable_model(config)
    return Experiment(
        config=config,
        workdir=workdir,
        stores=stores,
        pools=run_pools,
        model=model,
        checkpoints=Checkpoints(workdir.checkpoints, model),
        embed=Embedder(model),
        evaluators={
            split: Evaluator(run_pools[split], model.head, config.eval_seed)
            for split in ("val", "test")
        },
        replicas=replicas,
    )


def _parameters(model: FewShotModel) -> str:
    """Returns how many numbers each part of a model learns, in words."""
    parts = {"encoder": model.encoder, "head": model.head}
    parts |= {type(term).__name__.lower(): term for term in model.regularizers}
    counts = {
        name: sum(math.prod(each.shape) for each in part.trainable_variables)
        for name, part in parts.items()
    }
    return ", ".join(f"{name} {count:,}" for name, count in counts.items() if count)
