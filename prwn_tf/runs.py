"""Finished runs, opened to be tested, looked into and served.

Nothing here loads TensorFlow until a model is asked for.
"""

import dataclasses
import pathlib
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from prwn_tf import backbones, methods, released
from prwn_tf.config import TrainConfig
from prwn_tf.data import catalog
from prwn_tf.data.store.reader import ClassStore
from prwn_tf.episodes import pools
from prwn_tf.errors import UserError
from prwn_tf.evaluation import calibration
from prwn_tf.evaluation.calibration import Calibration
from prwn_tf.training import validation
from prwn_tf.training.workdir import Workdir

if TYPE_CHECKING:
    from prwn_tf.analysis.subject import Subject
    from prwn_tf.model import FewShotModel


# What a model is made from: a run, or the config of one that needs no training.
Source = Workdir | TrainConfig


class TrainedModel(NamedTuple):
    """The selected checkpoint of a run, ready to answer."""

    model: "FewShotModel"
    config: TrainConfig  # as it stands in the workdir
    step: int  # 0 if it is as its encoder was published

    @property
    def name(self) -> str:
        """What made it: a method, or if nothing was trained, the encoder."""
        return self.config.method if self.step else self.config.encoder

    @property
    def learned_from(self) -> str:
        """What it was trained on: a data set, or where its encoder's weights are of."""
        if self.step:
            return self.config.dataset
        weights = self.config.backbone.weights
        named = {backbones.IMAGENET: "ImageNet", backbones.NONE: "nothing"}
        return named.get(weights, weights)


def load_model(source: Source, precision: str = "") -> TrainedModel:
    """Rebuilds the model of a run from its workdir alone, without its data.

    Of a config, it is the model that a run would begin with.

    Args:
        precision: what its encoder computes with, if not as it was trained.
    """
    from prwn_tf import build
    from prwn_tf.training import weights

    config = config_of(source)
    changes = {"precision": precision, "conv_block": "auto"} if precision else {}
    changed = dataclasses.replace(config, **changes)
    model = build.build_model(build.resolved(changed))
    if isinstance(source, TrainConfig):
        model.encoder.initialize()
        return TrainedModel(model, config, 0)
    step = weights.restore(source.checkpoints, model, config.select)
    if step == 0:
        raise UserError(f"the run in {source.path} has not been trained for a step")
    return TrainedModel(model, config, step)


def config_of(source: Source) -> TrainConfig:
    """Returns the config of a run, or the one that is given."""
    return source if isinstance(source, TrainConfig) else source.load_config()


def calibration_of_like(path: pathlib.Path, config: TrainConfig) -> Calibration:
    """Returns the calibration of a run that computes what one with a config does.

    It is for a run that has learned the validation classes, and so has none of its own:
    one of the same settings that has not learned them answers much as it does.
    """
    theirs = Workdir(path).load_config()
    kinds = [_kind(each) for each in (theirs, config)]
    if kinds[0] != kinds[1]:
        raise UserError(
            f"the run in {path} is of another kind: {kinds[0]}, here {kinds[1]}"
        )
    known = calibration.read(Workdir(path).calibration)
    if known is None:
        raise UserError(f"the run in {path} is not calibrated itself")
    return known


def _kind(config: TrainConfig) -> str:
    """Returns what decides how a run's answers are computed, apart from its weights."""
    method = config.method + (f" with {config.head}" if config.head else "")
    return f"{method} on {config.dataset}, {methods.architecture(config)}"


def load_whole_model(workdir: Workdir) -> TrainedModel:
    """Rebuilds the model of a run with all that its training used, as a generator.

    A released model has weights of encoder and head alone, and is refused.
    """
    from prwn_tf import build
    from prwn_tf.training.checkpoints import Checkpoints

    config = workdir.load_config()
    model = build.trainable_model(build.resolved(config))
    step = Checkpoints(workdir.checkpoints, model).restore(config.select).step
    return TrainedModel(model, config, step)


@dataclasses.dataclass(frozen=True)
class Run:
    """A finished run under the name that it has in tables and figures."""

    label: str
    workdir: Workdir
    config: TrainConfig

    def subject(
        self, stores: dict[str, ClassStore], split: str, seed: int
    ) -> "Subject":
        """Loads the model and embeds a split with it, for the analyses.

        Args:
            seed: draws the episodes, the same for all that are compared.
        """
        from prwn_tf import build
        from prwn_tf.analysis.subject import Subject
        from prwn_tf.evaluation.embeddings import Embedder

        split_pools = pools.for_run(self.config, stores)[split]
        build.set_determinism(self.config)
        model = load_model(self.workdir).model
        return Subject(
            label=self.label,
            model=model,
            store=stores[split],
            pools=split_pools,
            embeddings=Embedder(model)(stores[split]),
            seed=seed,
            validations=validation.read(self.workdir.validation),
            calibration=calibration.read(self.workdir.calibration),
        )


def subjects(
    opened: Sequence[Run],
    stores: dict[str, ClassStore],
    split: str,
    seed: int | None = None,
) -> list["Subject"]:
    """Loads runs to compare them on the same episodes.

    Args:
        seed: draws the episodes; by default as the first run was tested.
    """
    if seed is None:
        seed = opened[0].config.eval_seed
        if any(run.config.eval_seed != seed for run in opened):
            print(f"all runs on the episodes of the first: --eval_seed={seed}")
    return [run.subject(stores, split, seed) for run in opened]


def open_runs(paths: Iterable[pathlib.Path], labels: Sequence[str] = ()) -> list[Run]:
    """Opens the finished runs in some folders, all of one data set.

    Unless labels are given, a run is called by its method, and by its folder as well
    where two have the same method.
    """
    workdirs = [Workdir(released.model(path)) for path in paths]
    configs = [workdir.load_config() for workdir in workdirs]
    for workdir in workdirs:
        workdir.check_finished()
    datasets = sorted({config.dataset for config in configs})
    if len(datasets) > 1:
        raise UserError(
            f"runs of different data sets cannot be compared: {', '.join(datasets)}"
        )
    if labels and len(labels) != len(workdirs):
        raise UserError(
            f"give a --label for each --workdir: found {len(labels)} labels and "
            f"{len(workdirs)} workdirs"
        )
    labels = labels or _labels(workdirs, configs)
    if len(set(labels)) < len(labels):
        raise UserError(
            f"two runs have the same label: {', '.join(labels)}; give each a --label "
            "of its own"
        )
    return [Run(*each) for each in zip(labels, workdirs, configs, strict=True)]


def open_data(runs: Sequence[Run], data_dir: pathlib.Path) -> dict[str, ClassStore]:
    """Opens the data set of some runs, and checks that each was trained on it."""
    stores = catalog.open_prepared(runs[0].config.dataset, data_dir)
    for run in runs:
        run.workdir.check_data(run.config, stores)
    return stores


def _labels(workdirs: Sequence[Workdir], configs: Sequence[TrainConfig]) -> list[str]:
    """Returns a label for each run, with its folder where methods are the same."""
    names = [_method_name(config) for config in configs]
    count = Counter(names)
    return [
        name if count[name] == 1 else f"{name} ({workdir.path.name})"
        for name, workdir in zip(names, workdirs, strict=True)
    ]


def _method_name(config: TrainConfig) -> str:
    """Returns the method as the paper writes it: PN_all is PN with all labels."""
    everything = "_all" if config.method == "pn" and config.label_ratio == 1 else ""
    return config.method.upper() + everything
