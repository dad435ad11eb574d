"""A released row with its data, embedded once for everything that is asked of it."""

import dataclasses
import functools
import pathlib
from typing import Any

from prwn_tf import runs
from prwn_tf.config import EpisodeSpec, TrainConfig
from prwn_tf.data import catalog
from prwn_tf.episodes import pools
from prwn_tf.evaluation import calibration, fit
from prwn_tf.evaluation.embeddings import Embedder, Embeddings
from prwn_tf.evaluation.evaluate import Evaluation, Evaluator
from prwn_tf.training.workdir import Workdir


class Examined:
    """A released row; what is fitted to it is stored with it."""

    def __init__(self, row: pathlib.Path, data_dir: pathlib.Path):
        self._workdir = Workdir(row)
        trained = runs.load_model(self._workdir)
        self.config: TrainConfig = trained.config
        self._head = trained.model.head
        self._stores = catalog.open_prepared(self.config.dataset, data_dir)
        self._pools = pools.for_run(self.config, self._stores)
        self._embed = Embedder(trained.model)

    def calibrate(self) -> None:
        """Fits and stores what the validation classes say, unless it is there."""
        if not self._workdir.calibration.exists():
            embeddings = self._embed(self._stores["val"])
            fitted = fit.fit(self._pools["val"], embeddings, self._head, self.config)
            calibration.write(self._workdir.calibration, fitted)

    def evaluate(self, spec: EpisodeSpec, seed: int, episodes: int) -> list[Evaluation]:
        """Tests all adaptations and their rivals on episodes of the test classes."""
        names = (*self._head.adaptations, *self._head.rivals)
        evaluate = Evaluator(self._pools["test"], self._head, seed)
        return evaluate(self._embeddings, spec, names, episodes, self._known)

    def strangers(
        self, distractors: int, seed: int, episodes: int
    ) -> list[dict[str, Any]]:
        """Measures how well strangers are told on test classes."""
        task = dataclasses.replace(self.config.test, distractors=distractors)
        split = self._pools["test"], self._embeddings, self._head, self._known
        return fit.measure(*split, seed, episodes, task)

    @functools.cached_property
    def _embeddings(self) -> Embeddings:
        return self._embed(self._stores["test"])

    @property
    def _known(self) -> calibration.Calibration | None:
        return calibration.read(self._workdir.calibration)
