"""Starts the real programs in a sandbox, interferes, and looks at what is left."""

import ctypes
import dataclasses
import functools
import hashlib
import os
import pathlib
import resource
import shutil
import subprocess
from collections.abc import Callable

import numpy as np
import tensorflow as tf

from tests.children import child

ROOT = pathlib.Path(__file__).parents[2]


@dataclasses.dataclass
class Sandbox:
    """Children with a temporary folder of their own; nothing of them may stay."""

    temporary: pathlib.Path
    started: list[child.Child] = dataclasses.field(default_factory=list)

    def start(
        self,
        program: str,
        *flags: str,
        faults: str = "",
        before: Callable[[], None] | None = None,
        **environment: str,
    ) -> child.Child:
        """Starts a program of ours.

        Args:
            faults: steps and signals for `interfered.py`, as in "4:SIGINT 5:SIGINT".
            before: called in the child before the program; it must be picklable.
        """
        module = ["-m", f"prwn_tf.{program}"]
        if faults:
            module = ["-m", "tests.faults.interfered", faults, program]
        process = child.start(
            *module,
            *flags,
            cwd=ROOT,
            before=before,
            env=os.environ | {"TMPDIR": str(self.temporary)} | environment,
        )
        self.started.append(process)
        return process

    def run(self, program: str, *flags: str, **how) -> subprocess.CompletedProcess:
        """Runs a program to its end."""
        process = self.start(program, *flags, **how)
        output, errors = process.communicate(timeout=300)
        return subprocess.CompletedProcess(
            process.args, process.returncode, output, errors
        )

    def check_clean(self) -> None:
        """Fails if a child still runs or a temporary file is left."""
        assert all(process.poll() is not None for process in self.started)
        assert not child.alive()
        left = [path.name for path in self.temporary.iterdir()]
        assert not left, left

    def close(self) -> None:
        """Ends what a failed test left running."""
        for process in self.started:
            if process.poll() is None:
                process.kill()
                process.communicate()


def file_limit(size: int) -> Callable[[], None]:
    """For `before`: no file can grow beyond `size` bytes, as on a full disk."""
    return functools.partial(resource.setrlimit, resource.RLIMIT_FSIZE, (size, size))


def two_devices() -> None:
    """For `before`: two devices where there is one CPU."""
    [cpu] = tf.config.list_physical_devices("CPU")
    half = tf.config.LogicalDeviceConfiguration()
    tf.config.set_logical_device_configuration(cpu, [half, half])


def bound_by_permissions() -> None:
    """For `before`: permissions hold for root, too."""
    system = ctypes.CDLL(None)
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)  # version 3, this thread
    sets = (ctypes.c_uint32 * 6)()  # effective, permitted, inheritable; low, high
    assert system.capget(header, sets) == 0
    override, read_search = 1, 2
    sets[0] &= ~(1 << override | 1 << read_search)
    assert system.capset(header, sets) == 0


def tensors(workdir: pathlib.Path, step: int) -> dict[str, np.ndarray]:
    """Returns all variables of a checkpoint but the clock and the count of saves."""
    reader = tf.train.load_checkpoint(str(workdir / "checkpoints" / f"ckpt-{step}"))
    skipped = ("seconds", "save_counter", "_CHECKPOINTABLE")
    return {
        name: np.asarray(reader.get_tensor(name))
        for name in sorted(reader.get_variable_to_shape_map())
        if not name.startswith(skipped)
    }


def as_if_killed(run: pathlib.Path, copy: pathlib.Path, step: int) -> None:
    """Copies a finished run as a kill would have left it after a checkpoint.

    Its curves go on beyond that step, as those of a killed run do.
    """
    shutil.copytree(run, copy)
    for name in ("result.json", "losses.json", "calibration.json", "episodes.csv"):
        (copy / name).unlink()
    for path in (copy / "checkpoints").glob("ckpt-*"):
        if int(path.name.removeprefix("ckpt-").split(".")[0]) > step:
            path.unlink()
    (copy / "checkpoints" / "checkpoint").unlink()


def weights(workdir: pathlib.Path, step: int) -> str:
    """Returns a hash of the variables of a checkpoint."""
    variables = tensors(workdir, step)
    assert any("moving_mean" in name for name in variables)
    digest = hashlib.sha256()
    for name, value in variables.items():
        digest.update(name.encode())
        digest.update(value.tobytes())
    return digest.hexdigest()


def curve(workdir: pathlib.Path, name: str) -> list[tuple[int, float]]:
    """The steps and values that TensorBoard has, in order, doubles kept."""
    return sorted(
        (event.step, float(tf.make_ndarray(value.tensor)))
        for path in workdir.glob("events.*")
        for event in tf.compat.v1.train.summary_iterator(str(path))
        for value in event.summary.value
        if value.tag == name
    )


def leftovers(workdir: pathlib.Path) -> list[str]:
    """Files that were to be renamed or removed."""
    return [path.name for path in workdir.rglob("*") if path.suffix == ".tmp"] + [
        path.name for path in workdir.rglob("*_temp")
    ]
