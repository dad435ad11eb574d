"""Everything the toy experiment trains, and the figures of it."""

import dataclasses
import pathlib
from typing import Any

import tqdm
from toy import pictures, settings, study

from prwn_tf import config as config_lib
from prwn_tf.evaluation import figures

LOOK_AT = (0, 100, 200, 300, 600, 1_000, 2_000, 3_000, 6_000)
SWEPT_SEEDS = 5
SWEPT_STEPS = 3_000  # one of LOOK_AT, where the models of the table are compared with
LABELS = {"spiral": (10, 40), "gaussian_circles": (8, 32)}
UNLABELED = (5, 60)
Key = tuple[str, str, int]  # data set, what is varied, its value


@dataclasses.dataclass(frozen=True)
class Trained:
    """A setting and all its trained models."""

    setting: settings.Setting
    outcomes: list[study.Outcome]


class Whole:
    """The experiment of the paper, the one that shows its gap, and two sweeps."""

    def __init__(self, data_dir: pathlib.Path, seeds: int, quick: bool = False):
        self.data = {name: study.Data(name, data_dir) for name in settings.DATASETS}
        self.trained: dict[Key, Trained] = {}
        jobs = {
            name: self._jobs(name, range(2 if quick else seeds), quick)
            for name in settings.DATASETS
        }
        total = sum(
            len(job.models) * len(job.seeds)
            for found in jobs.values()
            for job in found.values()
        )
        with tqdm.tqdm(total=total, unit=" trainings", disable=None) as progress:
            for name, found in jobs.items():
                self._train(name, found, progress)

    def _jobs(self, name: str, seeds: range, quick: bool) -> dict[Key, study.Job]:
        equal, epochs = settings.equal_training(name), settings.equal_epochs(name)
        few, everything = tuple(seeds[:SWEPT_SEEDS]), tuple(seeds)
        if quick:
            short = {"steps": (study.CHUNK,) * len(settings.MODELS)}
            equal, epochs = (dataclasses.replace(s, **short) for s in (equal, epochs))
        jobs = {
            (name, "training", 0): study.Job(equal, settings.MODELS, everything),
            (name, "epochs", 0): study.Job(epochs, settings.MODELS, everything),
        }
        if quick:
            return jobs
        swept = dataclasses.replace(equal, steps=(SWEPT_STEPS,) * len(settings.MODELS))
        for labels in LABELS[name]:
            setting = dataclasses.replace(swept, labels=labels)
            jobs[name, "labels", labels] = study.Job(setting, ("few", "walk"), few)
        for unlabeled in UNLABELED:
            setting = dataclasses.replace(swept, unlabeled=unlabeled)
            jobs[name, "unlabeled", unlabeled] = study.Job(setting, ("walk",), few)
        return jobs

    def _train(self, name: str, jobs: dict[Key, study.Job], progress: tqdm.tqdm):
        keys = {job: key for key, job in jobs.items()}
        for key, job in jobs.items():
            self.trained[key] = Trained(job.setting, [])
        for job, outcome in study.Study(self.data[name]).run([*keys], LOOK_AT):
            self.trained[keys[job]].outcomes.append(outcome)
            progress.update()

    def pictures(self) -> dict[str, bytes]:
        """The figure of each set for seed 0, and the curves of all seeds."""
        drawn = {}
        for name, data in self.data.items():
            trained = self.trained[name, "training", 0]
            first = [each for each in trained.outcomes if each.seed == 0]
            drawn[f"toy_{name}"] = figures.rendered(
                pictures.plane, trained.setting, data, first
            )
        outcomes = {
            name: self.trained[name, "training", 0].outcomes for name in self.data
        }
        drawn["toy_curves"] = figures.rendered(pictures.curves, outcomes)
        return drawn

    def numbers(self, command: str) -> dict[str, Any]:
        """Every number behind the tables, seed by seed."""
        return {
            "command": command,
            "trained": [
                {
                    "dataset": name,
                    "varied": varied,
                    "value": value,
                    "configs": {
                        model: config_lib.to_dict(each.setting.config(model))
                        for model in dict.fromkeys(o.model for o in each.outcomes)
                    },
                    "outcomes": [_numbers(outcome) for outcome in each.outcomes],
                }
                for (name, varied, value), each in self.trained.items()
            ],
        }


def _numbers(outcome: study.Outcome) -> dict[str, Any]:
    fields = ("model", "seed", "one_shot", "by_labels", "curve")
    return _rounded({name: getattr(outcome, name) for name in fields})


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _rounded(each) for key, each in value.items()}
    return round(value, 4) if isinstance(value, float) else value
