"""The state of a run on disk: named by step, verified when it is read back."""

import logging
import pathlib
import shutil

import keras
import tensorflow as tf

from prwn_tf import files
from prwn_tf.errors import StorageError, UserError, first_line
from prwn_tf.model import FewShotModel
from prwn_tf.training import checkpoint_files, others, weights

KEPT = {"last": 3, "best": 1}


class Checkpoints:
    """The newest checkpoints of a run, and the best one on validation."""

    def __init__(self, directory: pathlib.Path, model: FewShotModel):
        self._directory = directory
        self._model = model
        self.seconds = tf.Variable(0.0, dtype=tf.float64, trainable=False)
        parts = _parts(model) | {"seconds": self.seconds}
        means = {
            variable.path: variable
            for metric in model.metrics
            for variable in metric.variables
        }
        self._state = tf.train.Checkpoint(**parts, means=tf.train.Checkpoint(**means))
        self._without_means = tf.train.Checkpoint(**parts)
        self._managers: dict[str, tf.train.CheckpointManager] = {}

    def _managed(self, select: str) -> tf.train.CheckpointManager:
        if select not in self._managers:
            directory = checkpoint_files.place(self._directory, select)
            _list_anew(directory)
            self._managers[select] = tf.train.CheckpointManager(
                self._state,
                str(directory),
                max_to_keep=KEPT[select],
                checkpoint_name="ckpt",
            )
        return self._managers[select]

    def save(self, step: int) -> None:
        """Writes checkpoint `ckpt-<step>` and drops the oldest."""
        self._save("last", step)

    def save_best(self, step: int, accuracy: float) -> None:
        """Keeps this step as the best on validation if it is."""
        record = self._directory / "best.json"
        if record.exists() and _accuracy(record) >= accuracy:
            return
        self._save("best", step)
        files.write_json(record, {"step": step, "accuracy": accuracy})

    def _save(self, select: str, step: int) -> None:
        try:
            self._managed(select).save(checkpoint_number=step)
        except (tf.errors.OpError, OSError) as error:
            needed = sum(
                variable.numpy().nbytes for variable in _variables(self._model)
            )
            raise StorageError(
                f"cannot save step {step} in {self._directory}: {_reason(error)}; "
                f"about {needed:,} bytes needed, {files.room(self._directory)}; the "
                "checkpoint before it is intact"
            ) from error

    def remove_leftovers(self) -> None:
        """Removes what killed saves left; for the process that owns the workdir."""
        for leftover in self._directory.rglob("ckpt-*_temp"):
            logging.warning("removing %s, left by a killed save", leftover)
            shutil.rmtree(leftover, ignore_errors=True)
        # TensorFlow's list of checkpoints, before it was renamed.
        for leftover in self._directory.rglob("checkpoint.tmp*"):
            leftover.unlink()
        for select, kept in KEPT.items():
            checkpoint_files.drop(checkpoint_files.place(self._directory, select), kept)

    def list_anew(self) -> None:
        """Writes TensorFlow's lists from the checkpoints that are there.

        Where the last save of a run was killed, no later one would mend them.
        """
        for select in KEPT:
            _list_anew(checkpoint_files.place(self._directory, select))

    def restore(self, select: str = "last") -> weights.Restored:
        """Restores the newest readable checkpoint, or the "best" if it can be read."""
        return weights.first_readable(
            self._directory,
            select,
            self._read,
            "start over with python -m prwn_tf.train --restart",
        )

    def restore_step(self, step: int) -> None:
        """Restores the checkpoint of a step, which the chief has read or written."""
        path = self._directory / f"ckpt-{step}"
        try:
            self._read(str(path))
        # TensorFlow answers damage by whatever error its place in the file leads to.
        except Exception as error:
            raise UserError(
                f"{path}, where the chief begins, cannot be read here; all workers "
                "need the same --workdir, on a disk that they share"
            ) from error

    def _read(self, path: str) -> None:
        """Reads all of a checkpoint; the first versions saved no running means."""
        names = tf.train.load_checkpoint(path).get_variable_to_shape_map()
        parts = {name.partition("/")[0] for name in names}
        if "model" in parts and "optimizer" not in parts:
            raise UserError(
                f"{path} holds weights alone, as released models do: it can be "
                "evaluated, exported and asked, but not trained on; train in another "
                "--workdir"
            )
        state = self._state if "means" in parts else self._without_means
        state.restore(path).assert_consumed()
        weights.refresh(self._model)


def _parts(model: FewShotModel) -> dict[str, tf.train.Checkpoint]:
    """Returns everything of a model that a run needs to go on, by name."""
    optimizers = {group.name: group.optimizer for group in model.optimizer_groups}
    # Its optimizer sees what it trains, but who reads the model for use has none.
    layers = [model.encoder, model.head, *model.regularizers]
    return {"model": model, **optimizers, **others.missed(layers, model.variables)}


def _variables(model: FewShotModel) -> list[keras.Variable]:
    """Returns all variables of a model and of its optimizers."""
    optimizers = [group.optimizer for group in model.optimizer_groups]
    return [*model.variables, *(v for each in optimizers for v in each.variables)]


def _reason(error: tf.errors.OpError | OSError) -> str:
    """Returns the system's word for why a file could not be written."""
    if isinstance(error, OSError):
        return error.strerror or str(error)
    # TensorFlow writes the path before it, and its operation after it.
    return first_line(error).rpartition("; ")[2].partition(" [Op:")[0]


def _accuracy(record: pathlib.Path) -> float:
    try:
        return float(files.read_json(record)["accuracy"])
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise UserError(
            f"{record} is damaged ({error!r}); delete it to have the best checkpoint "
            "chosen among those to come"
        ) from error


def _list_anew(directory: pathlib.Path) -> None:
    """Writes the manager's list of checkpoints from those that are there.

    An empty list would stop the manager, and it deletes the oldest that are listed,
    wherever they lie.
    """
    names = [f"ckpt-{step}" for step in sorted(checkpoint_files.steps(directory))]
    index = directory / "checkpoint"
    index.unlink(missing_ok=True)
    if names:
        lines = [f'model_checkpoint_path: "{names[-1]}"']
        lines += [f'all_model_checkpoint_paths: "{name}"' for name in names]
        # Without times, the manager would keep all of them for ever.
        lines += ["all_model_checkpoint_timestamps: 1.0"] * len(names)
        files.write_text(index, "\n".join([*lines, ""]))
