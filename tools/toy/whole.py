"""Everything the toy experiment trains, and the figures of it."""

import dataclasses
import pathlib
from collections.abc import Sequence
from typing import Any

import tqdm
from toy import pictures, settings, study, tuning

from prwn_tf import config_json, files
from prwn_tf.analysis import figures
from prwn_tf.config import TrainConfig
from prwn_tf.errors import UserError

TESTED_STEPS = (0, 100, 200, 300, 600, 1_000, 2_000, 3_000, 6_000)
SWEPT_SEEDS = 5
SWEPT_STEPS = (
    3_000  # one of TESTED_STEPS, where the models of the table are compared with
)
LABELS = {"spiral": (10, 40), "gaussian_circles": (8, 32)}
UNLABELED = (5, 60)
Key = tuple[str, str, int]  # data set, what is varied, its value


@dataclasses.dataclass(frozen=True)
class Trained:
    """A setting and all its trained models."""

    setting: settings.Setting
    outcomes: list[study.Outcome]


class Whole:
    """Equal training, equal epochs, and what length, labels and crowd change."""

    def __init__(
        self,
        data_dir: pathlib.Path,
        seeds: int,
        quick: bool = False,
        datasets: Sequence[str] = settings.DATASETS,
        tuned: pathlib.Path | None = None,
    ):
        """Trains everything.

        Args:
            tuned: file of the settings that validation prefers, if they were tried.
        """
        self.data = {name: study.Data(name, data_dir) for name in datasets}
        self.trained: dict[Key, Trained] = {}
        jobs = {
            name: _jobs(name, range(2 if quick else seeds), quick, tuned)
            for name in datasets
        }
        total = sum(
            len(job.models) * len(job.seeds)
            for set_jobs in jobs.values()
            for job in set_jobs.values()
        )
        with tqdm.tqdm(total=total, unit=" trainings", disable=None) as progress:
            for name, set_jobs in jobs.items():
                self._train(name, set_jobs, progress)

    def _train(
        self, name: str, jobs: dict[Key, study.Job], progress: tqdm.tqdm
    ) -> None:
        """Trains all jobs of one set."""
        for key, job in jobs.items():
            self.trained[key] = Trained(job.setting, [])
        for key, outcome in study.Study(self.data[name]).run(jobs, TESTED_STEPS):
            self.trained[key].outcomes.append(outcome)
            progress.update()

    def pictures(self) -> dict[str, figures.Drawing]:
        """Draws each set for one seed, both together, and the curves of all seeds."""
        planes = {}
        for name, data in self.data.items():
            trained = self.trained[name, "training", 0]
            planes[name] = pictures.Plane(name, trained.setting, data, trained.outcomes)
        drawn = {
            f"toy_{name}": figures.render(pictures.draw_plane, plane)
            for name, plane in planes.items()
        }
        drawn["toy"] = figures.render(pictures.draw_planes, list(planes.values()))
        outcomes = {
            name: self.trained[name, "lengths", 0].outcomes for name in self.data
        }
        drawn["toy_curves"] = figures.render(pictures.draw_curves, outcomes)
        return drawn

    def numbers(self, command: str) -> dict[str, Any]:
        """Returns every number behind the tables, seed by seed."""
        return {
            "command": command,
            "trained": [
                {
                    "dataset": name,
                    "varied": varied,
                    "value": value,
                    "configs": {
                        model: config_json.to_dict(each.setting.config(model))
                        for model in dict.fromkeys(o.model for o in each.outcomes)
                    },
                    "outcomes": [_numbers(outcome) for outcome in each.outcomes],
                }
                for (name, varied, value), each in self.trained.items()
            ],
        }


def _jobs(
    name: str, seeds: range, quick: bool, tuned: pathlib.Path | None
) -> dict[Key, study.Job]:
    """Returns what is trained on one set."""

    def lasting(setting: settings.Setting, steps: int) -> settings.Setting:
        return dataclasses.replace(setting, steps=(steps,) * len(settings.MODELS))

    kinds = {
        "training": settings.equal_training(name),
        "epochs": settings.equal_epochs(name),
        "lengths": lasting(settings.equal_training(name), TESTED_STEPS[-1]),
    }
    if quick:
        kinds = {kind: lasting(each, study.CHUNK) for kind, each in kinds.items()}
    jobs = {
        (name, kind, 0): study.Job(setting, settings.MODELS, tuple(seeds))
        for kind, setting in kinds.items()
    }
    if quick:
        return jobs
    for model, setting in (tuning.chosen(tuned, name) if tuned else {}).items():
        jobs[name, f"tuned_{model}", 0] = study.Job(setting, (model,), tuple(seeds))
    base, few = lasting(kinds["training"], SWEPT_STEPS), tuple(seeds[:SWEPT_SEEDS])
    for labels in LABELS[name]:
        setting = dataclasses.replace(base, labels=labels)
        jobs[name, "labels", labels] = study.Job(setting, ("few", "walk"), few)
    for unlabeled in UNLABELED:
        setting = dataclasses.replace(base, unlabeled=unlabeled)
        jobs[name, "unlabeled", unlabeled] = study.Job(setting, ("walk",), few)
    return jobs


def read(
    path: pathlib.Path, quick: bool = False, tuned: pathlib.Path | None = None
) -> tuple[str, dict[Key, Trained]]:
    """Reads the command and the models, without weights, of a file of numbers."""
    content = files.read_json(path)
    trained = {}
    for part in content["trained"]:
        key = (part["dataset"], part["varied"], part["value"])
        job = _jobs(part["dataset"], range(1), quick, tuned).get(key)
        setting = job.setting if job else None
        for model, config in part["configs"].items():
            stored = config_json.from_dict(TrainConfig, config)
            if setting is None or stored != setting.config(model):
                raise UserError(
                    f"{path} has {' '.join(map(str, key))} of other settings than "
                    "today's; train again, without --tables"
                )
        trained[key] = Trained(setting, [_outcome(each) for each in part["outcomes"]])
    return content["command"], trained


def _outcome(numbers: dict[str, Any]) -> study.Outcome:
    """Returns an outcome from its numbers in a file."""
    curve = {int(step): accuracies for step, accuracies in numbers["curve"].items()}
    return study.Outcome(**numbers | {"curve": curve, "weights": []})


def _numbers(outcome: study.Outcome) -> dict[str, Any]:
    """Returns the numbers of an outcome as a file has them."""
    fields = ("model", "seed", "one_shot", "by_labels", "curve")
    return _round({name: getattr(outcome, name) for name in fields})


def _round(value: Any) -> Any:
    """Rounds all numbers of a tree to four digits."""
    if isinstance(value, dict):
        return {key: _round(each) for key, each in value.items()}
    return round(value, 4) if isinstance(value, float) else value
