"""Everything the toy experiment trains, and the text that it comes to."""

import dataclasses
import pathlib
from collections.abc import Iterator
from typing import Any

import tqdm
from toy import pictures, settings, study, tables
from toy.settings import Setting

from prwn_tf import config as config_lib
from prwn_tf.evaluation import figures

LOOK_AT = (0, 100, 200, 300, 600, 1_000, 2_000, 3_000, 6_000)
SWEPT_SEEDS = 5
LABELS = {"spiral": (5, 10, 20, 40), "gaussian_circles": (4, 8, 16, 32)}
UNLABELED = (5, 20, 60)


@dataclasses.dataclass(frozen=True)
class Trained:
    """A setting and all its trained models."""

    setting: Setting
    outcomes: list[study.Outcome]


class Whole:
    """The experiment of the paper, the one that shows its gap, and two sweeps."""

    def __init__(self, data_dir: pathlib.Path, seeds: int, quick: bool = False):
        self._quick = quick
        self._seeds = range(2 if quick else seeds)
        self._swept_seeds = self._seeds[:SWEPT_SEEDS]
        self.data = {name: study.Data(name, data_dir) for name in settings.DATASETS}
        jobs = list(self._jobs())
        self._progress = tqdm.tqdm(jobs, "toy", unit=" trainings", disable=None)
        self.trained = {key: self._train(*job) for key, *job in self._progress}

    def _jobs(self) -> Iterator[tuple]:
        """Key, setting, models and seeds of everything that is to be trained."""
        few = ("few", "walk")
        for name in settings.DATASETS:
            equal = settings.equal_training(name)
            yield (name, "training"), equal, settings.MODELS, self._seeds
            epochs = settings.equal_epochs(name)
            yield (name, "epochs"), epochs, settings.MODELS, self._seeds
            for labels in LABELS[name]:
                if labels != equal.labels:
                    changed = dataclasses.replace(equal, labels=labels)
                    yield (name, "labels", labels), changed, few, self._swept_seeds
            for unlabeled in UNLABELED:
                if unlabeled != equal.unlabeled:
                    changed = dataclasses.replace(equal, unlabeled=unlabeled)
                    key = (name, "unlabeled", unlabeled)
                    yield key, changed, ("walk",), self._swept_seeds

    def _train(self, setting: Setting, models, seeds) -> Trained:
        if self._quick:
            steps = dict.fromkeys(setting.steps, study.CHUNK)
            setting = dataclasses.replace(setting, steps=steps)
        data = self.data[setting.dataset]
        return Trained(setting, study.run(setting, data, models, seeds, LOOK_AT))

    def pictures(self) -> dict[str, bytes]:
        """The figure of each set for seed 0, and the curves of all seeds."""
        drawn = {}
        for name, data in self.data.items():
            trained = self.trained[name, "training"]
            first = [each for each in trained.outcomes if each.seed == 0]
            drawn[f"toy_{name}"] = figures.rendered(
                pictures.plane, trained.setting, data, first
            )
        outcomes = {name: self.trained[name, "training"].outcomes for name in self.data}
        drawn["toy_curves"] = figures.rendered(pictures.curves, outcomes)
        return drawn

    def report(self, command: str) -> str:
        """The tables with what they say."""
        return tables.report(self, command)

    def numbers(self, command: str) -> dict[str, Any]:
        """Every number behind the tables, seed by seed."""
        return {
            "command": command,
            "trained": [
                {
                    "key": list(key),
                    "configs": {
                        model: config_lib.to_dict(each.setting.config(model))
                        for model in dict.fromkeys(o.model for o in each.outcomes)
                    },
                    "outcomes": [_numbers(outcome) for outcome in each.outcomes],
                }
                for key, each in self.trained.items()
            ],
        }


def _numbers(outcome: study.Outcome) -> dict[str, Any]:
    fields = ("model", "seed", "one_shot", "by_labels", "curve")
    return _rounded({name: getattr(outcome, name) for name in fields})


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _rounded(each) for key, each in value.items()}
    return round(value, 5) if isinstance(value, float) else value
