"""Finished runs, opened to be tested and looked into.

Nothing here loads TensorFlow until a model is asked for.
"""

import dataclasses
import pathlib
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from prwn_tf.config import TrainConfig
from prwn_tf.data import catalog
from prwn_tf.data.store.reader import ClassStore
from prwn_tf.errors import UserError
from prwn_tf.training.workdir import Workdir

if TYPE_CHECKING:
    from prwn_tf.analysis.subject import Subject


@dataclasses.dataclass(frozen=True)
class Run:
    """A finished run under the name that it has in tables and figures."""

    label: str
    workdir: Workdir
    config: TrainConfig

    def subject(self, stores: dict[str, ClassStore], split: str) -> "Subject":
        """Its selected checkpoint, with a split embedded."""
        from prwn_tf import experiment
        from prwn_tf.analysis.subject import Subject
        from prwn_tf.training import weights

        run = experiment.create(self.config, self.workdir, stores)
        weights.restore(self.workdir.checkpoints, run.model, self.config.select)
        return Subject(
            label=self.label,
            model=run.model,
            store=stores[split],
            pools=run.pools[split],
            embeddings=run.embed(stores[split]),
            seed=self.config.eval_seed,
        )


def open_runs(paths: Iterable[pathlib.Path], labels: Sequence[str] = ()) -> list[Run]:
    """The finished runs in some folders, all of one data set.

    Unless labels are given, a run is called by its method, and by its folder as well
    where two have the same method.
    """
    workdirs = [Workdir(path) for path in paths]
    configs = [workdir.load_config() for workdir in workdirs]
    for workdir in workdirs:
        check_finished(workdir)
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


def open_data(found: Sequence[Run], data_dir: pathlib.Path) -> dict[str, ClassStore]:
    """The splits of the data set that some runs are of, the same for all."""
    stores = catalog.open_prepared(found[0].config.dataset, data_dir)
    for run in found:
        run.workdir.check_data(run.config, stores)
    return stores


def check_finished(workdir: Workdir) -> None:
    """Raises if the run in a folder has not come to its end."""
    if not workdir.result.exists():
        raise UserError(
            f"the run in {workdir.path} has no finished model (no result.json); its "
            "training command continues it, and with --episodes of a step that it has "
            "reached ends it there"
        )


def _labels(workdirs: Sequence[Workdir], configs: Sequence[TrainConfig]) -> list[str]:
    names = [_name(config) for config in configs]
    count = Counter(names)
    return [
        name if count[name] == 1 else f"{name} ({workdir.path.name})"
        for name, workdir in zip(names, workdirs, strict=True)
    ]


def _name(config: TrainConfig) -> str:
    """As the paper writes it: PN_all is PN with all labels."""
    everything = "_all" if config.method == "pn" and config.label_ratio == 1 else ""
    return config.method.upper() + everything
