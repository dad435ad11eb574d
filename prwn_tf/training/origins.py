"""Finished runs as a beginning: which checkpoint, and whether its encoder fits.

Nothing here loads TensorFlow, so that mistakes are answered at once.
"""

import pathlib
from collections.abc import Iterator, Mapping

from prwn_tf import files, methods
from prwn_tf.config import TrainConfig
from prwn_tf.data.store.reader import ClassStore
from prwn_tf.errors import UserError
from prwn_tf.origin import Origin
from prwn_tf.training import checkpoint_files, provenance
from prwn_tf.training.workdir import Workdir


def origin_in(
    path: pathlib.Path,
    config: TrainConfig,
    stores: Mapping[str, ClassStore],
    workdir: Workdir,
    *,
    restart: bool = False,
) -> Origin:
    """Returns the run in a folder as the origin of the one in `workdir`.

    One that has begun, and is not begun anew (`restart`), knows its own, and the folder
    may be gone by then, but no other run may be in its place.
    """
    path = path.absolute()
    if path.resolve().is_relative_to(workdir.path.resolve()):
        raise UserError(
            f"--init_from={path} lies in the --workdir of this run; choose another "
            "--workdir"
        )
    if workdir.has_config and not restart:
        known = workdir.load_config().init_from
        if known.workdir == str(path):
            if _is_replaced(known):
                raise UserError(
                    f"--init_from={path} was trained again since the run in "
                    f"{workdir.path} began with it; to begin with what is there now, "
                    "give another --workdir, or --restart; to go on from what was, "
                    "move that folder away"
                )
            return known
    return _read(path, config, stores)


def _is_replaced(origin: Origin) -> bool:
    """Returns whether a run lies where an origin was, and has other weights."""
    path = pathlib.Path(origin.workdir)
    if not Workdir(path).has_config:
        return False
    weights = checkpoint_files.values(path / origin.checkpoint)
    return not weights.exists() or files.sha256(weights) != origin.sha256


def _read(
    path: pathlib.Path, config: TrainConfig, stores: Mapping[str, ClassStore]
) -> Origin:
    """Returns the run in a folder as an origin, or raises if it cannot be one."""
    if path.is_file():
        raise UserError(
            f"--init_from={path} is a file, and files of other programs are not "
            "loaded: they can run code; give the --workdir of a finished run"
        )
    run = Workdir(path)
    theirs = run.load_config()
    run.check_finished()
    _check_encoder(path, theirs, config)
    directory = checkpoint_files.place(run.checkpoints, theirs.select)
    step = max(checkpoint_files.steps(directory), default=0)
    checkpoint = directory / f"ckpt-{step}"
    if step == 0 or not checkpoint_files.values(checkpoint).exists():
        raise UserError(f"the run in {path} has no trained checkpoint in {directory}")
    return Origin(
        workdir=str(path),
        checkpoint=checkpoint.relative_to(path).as_posix(),
        sha256=files.sha256(checkpoint_files.values(checkpoint)),
        method=theirs.method,
        dataset=theirs.dataset,
        label_ratio=theirs.label_ratio,
        cautions=tuple(_cautions(run, theirs, config, stores)),
    )


def _check_encoder(
    path: pathlib.Path, theirs: TrainConfig, config: TrainConfig
) -> None:
    """Raises unless an encoder of the one config computes what the other's does."""
    before, now = methods.architecture(theirs), methods.architecture(config)
    if before != now:
        raise UserError(
            f"--init_from={path} has another encoder than this run: {before}, here "
            f"{now}; give the flags that it was trained with"
        )


def _cautions(
    run: Workdir,
    theirs: TrainConfig,
    config: TrainConfig,
    stores: Mapping[str, ClassStore],
) -> Iterator[str]:
    """Yields what makes results depend on more than a run's own data and labels."""
    yield from theirs.init_from.cautions
    known = run.provenance()
    same_data = known is None or known.sha256 == provenance.of(theirs, stores).sha256
    if theirs.dataset != config.dataset or not same_data:
        yield (
            f"the encoder was trained on other images ({known or theirs.dataset}), "
            "among which may be classes of this run's test"
        )
        return
    if theirs.learns_validation and not config.learns_validation:
        yield "the encoder has learned the validation classes of this run"
    if theirs.label_ratio > config.label_ratio or (
        theirs.label_seed != config.label_seed and config.label_ratio < 1
    ):
        yield (
            f"the encoder was trained with labels that this run hides: label_ratio "
            f"{theirs.label_ratio:g} of label_seed {theirs.label_seed}, here "
            f"{config.label_ratio:g} of {config.label_seed}"
        )
