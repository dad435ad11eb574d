"""A run is its workdir: its config, and the promise that nobody else writes there."""

import contextlib
import dataclasses
import os
import pathlib
import shutil
from collections.abc import Iterator, Mapping

from prwn_tf import config_json, files, locks, methods
from prwn_tf.config import TrainConfig
from prwn_tf.data.store.reader import ClassStore
from prwn_tf.errors import UserError
from prwn_tf.training import provenance, run_files
from prwn_tf.training.provenance import Provenance


class Workdir:
    """The folder of one run, created if need be."""

    def __init__(self, path: pathlib.Path):
        self.path = path
        self._lock = None
        self._restarted = False

    @property
    def checkpoints(self) -> pathlib.Path:
        return self.path / "checkpoints"

    @property
    def tensorboard(self) -> pathlib.Path:
        """The folder itself, so that curves have its name; earlier runs had another."""
        earlier = self.path / "tensorboard"
        return earlier if earlier.exists() else self.path

    @property
    def result(self) -> pathlib.Path:
        """What the tests said when training had ended."""
        return self.path / "result.json"

    @property
    def losses(self) -> pathlib.Path:
        """What the terms of the loss were when training ended."""
        return self.path / "losses.json"

    @property
    def validation(self) -> pathlib.Path:
        """The accuracies on validation episodes on the way."""
        return self.path / "validation.csv"

    @property
    def calibration(self) -> pathlib.Path:
        """What validation episodes said of its answers when training had ended."""
        return self.path / "calibration.json"

    @property
    def _config(self) -> pathlib.Path:
        return self.path / "config.json"

    @property
    def _data(self) -> pathlib.Path:
        return self.path / "data.json"

    @property
    def has_config(self) -> bool:
        """Whether a run has begun here; a name that no file can have is no run's."""
        return os.path.exists(self._config)

    def load_config(self) -> TrainConfig:
        """Returns the config of the run in this folder."""
        files.check_name(self.path)
        path = self._config
        if not path.exists():
            raise UserError(
                f"{self.path} is not a run: it has no config.json; train one with "
                "python -m prwn_tf.train --workdir=..."
            )
        config = config_json.from_dict(TrainConfig, files.read_json(path), str(path))
        methods.check(config)
        return config

    @contextlib.contextmanager
    def taken(self) -> Iterator[None]:
        """Locks the folder, made if need be, and unmade if what follows fails."""
        was_there = self.path.exists()
        self._take()
        try:
            yield
        except BaseException:
            if not was_there and os.listdir(self.path) == [run_files.LOCK]:
                shutil.rmtree(self.path)
            self._lock.close()
            raise

    def claim(self, config: TrainConfig, *, restart: bool = False) -> None:
        """Makes the folder ready for a run, or says why it cannot be."""
        if self._lock is None:
            self._take()
        self._restarted = restart
        run_files.remove_leftovers(self.path)
        if not self.has_config:
            self._check_ours()
        if restart or (self.path / run_files.DELETED).exists():
            run_files.delete(self.path)
        elif self.has_config:
            self._compare(config)
        else:
            self._check_untrained()

    def join(self, config: TrainConfig, stores: Mapping[str, ClassStore]) -> None:
        """Raises if the run that another process has begun here is not this one."""
        if not self.has_config:
            raise UserError(
                f"{self.path} has no run of the chief; all workers share a --workdir"
            )
        self._compare(config)
        self.check_data(config, stores)

    def _take(self) -> None:
        """Locks the folder, or raises if another process has it."""
        files.check_name(self.path)
        try:
            self._lock = locks.hold(self.path / run_files.LOCK)
        except locks.HeldError as error:
            raise UserError(
                f"another process is training in {self.path}; wait for it or choose "
                "another --workdir"
            ) from error
        except locks.LockingError as error:
            raise UserError(
                f"cannot lock workdir {self.path}: {error.strerror}; choose another "
                "file system with --workdir"
            ) from error
        except OSError as error:
            raise UserError(
                f"cannot write to workdir {self.path}: {error.strerror}; choose "
                "another with --workdir"
            ) from error

    def _check_ours(self) -> None:
        foreign = sorted(
            p.name for p in self.path.iterdir() if not run_files.is_own(p.name)
        )
        if foreign:
            raise UserError(
                f"workdir {self.path} holds other files ({', '.join(foreign[:3])}) and "
                "no run; choose an empty or a new folder with --workdir"
            )

    def _check_untrained(self) -> None:
        # The first is written before the config, by a run that may have been killed.
        trained = [p for p in self.checkpoints.glob("*.index") if p.stem != "ckpt-0"]
        if trained:
            raise UserError(
                f"workdir {self.path} holds checkpoints ({trained[0].name}) but no "
                "config.json to say of what; put it back, choose another --workdir, "
                "or delete them with --restart"
            )

    def _compare(self, config: TrainConfig) -> None:
        differing = config_json.differences(self.load_config(), config)
        if differing:
            fields = "; ".join(
                f"{name} was {was}, now {now}" for name, (was, now) in differing.items()
            )
            raise UserError(
                f"workdir {self.path} holds a run with another config ({fields}); give "
                "the same flags, another --workdir, or --restart to delete it"
            )

    def check_finished(self) -> None:
        """Raises if the run in this folder has not come to its end."""
        if not self.result.exists():
            raise UserError(
                f"the run in {self.path} has no finished model (no result.json); its "
                "training command continues it, and with --episodes of a step that it "
                "has reached ends it there"
            )

    def provenance(self) -> Provenance | None:
        """Returns what the run in this folder is of; None if it does not say."""
        if not self._data.exists():
            return None
        content = files.read_json(self._data)
        return config_json.from_dict(Provenance, content, str(self._data))

    def check_data(self, config: TrainConfig, stores: Mapping[str, ClassStore]) -> None:
        """Raises if the run in this folder, if there is one, is of other data."""
        if not self.is_of(config, stores):
            now = provenance.of(config, stores)
            raise UserError(
                f"the run in {self.path} is of other data: of {self.provenance()}, "
                f"while {stores['train'].path.parent} holds {now}; prepare the former "
                "again, or give another --data_dir or --workdir"
            )

    def is_of(self, config: TrainConfig, stores: Mapping[str, ClassStore]) -> bool:
        """Returns whether a run with a config may be of some data.

        Runs that were given away do not say what they are of, and take any.
        """
        was = self.provenance()
        return was is None or was.sha256 == provenance.of(config, stores).sha256

    def describe(
        self, config: TrainConfig, stores: Mapping[str, ClassStore], flags_text: str
    ) -> None:
        """Writes what the run is; the config last, a sign that the rest is there."""
        run_files.remove_measured(self.path)
        about_data = dataclasses.asdict(provenance.of(config, stores))
        files.write_json(self._data, about_data)
        self._describe(config, flags_text)

    @property
    def continuation(self) -> str:
        """How a run that was stopped is continued, in words."""
        same = "the same command"
        return f"{same} without --restart" if self._restarted else same

    def describe_again(self, config: TrainConfig, step: int, flags_text: str) -> None:
        """Writes what changed in a run that goes on from `step`, if it does.

        What was measured at the step that was the last is not of this run any more.
        """
        if config.episodes > step:
            run_files.remove_measured(self.path)
            self._describe(config, flags_text)
        else:
            trained = dataclasses.replace(config, episodes=step)
            files.write_json(self._config, config_json.to_dict(trained))

    def _describe(self, config: TrainConfig, flags_text: str) -> None:
        files.write_text(self.path / "flags.txt", flags_text)
        files.write_json(self.path / "versions.json", provenance.versions())
        files.write_json(self._config, config_json.to_dict(config))
