"""Programs of ours as children that are ended at a chosen change of the disk.

They are forked from a process that has TensorFlow loaded, which makes a start several
times faster, and that was started with a library that counts changes.
"""

import ctypes
import importlib
import multiprocessing
import multiprocessing.forkserver
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from typing import NamedTuple

import tqdm

SOURCE = pathlib.Path(__file__).with_name("changes.c")
PRELOADED = ["prwn_tf.experiment", "matplotlib.pyplot", "sklearn.manifold"]
ENDED = {-signal.SIGKILL, -signal.SIGTERM, 128 + signal.SIGTERM}


class Outcome(NamedTuple):
    """How a program ended, and after how many changes of the disk."""

    code: int
    changes: int

    @property
    def killed(self) -> bool:
        """Whether it was ended from outside."""
        return self.code in ENDED


class Killer:
    """Starts programs, and ends them where it is told.

    Attributes:
        temporary: the folder for temporary files of all programs.
    """

    def __init__(self, folder: pathlib.Path):
        """Builds the library in a folder, where logs and temporary files go as well."""
        self._folder = folder
        self.temporary = folder / "temporary"
        self.temporary.mkdir(parents=True, exist_ok=True)
        library = build(folder)
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(PRELOADED)
        before = os.environ.get("LD_PRELOAD")
        os.environ["LD_PRELOAD"] = str(library)
        multiprocessing.forkserver.ensure_running()
        os.environ["LD_PRELOAD"] = before or ""
        self._context = context

    def run(self, command: list[str], at: int = -1, sign: int = signal.SIGKILL):
        """Runs a module with flags, and returns its outcome.

        Args:
            at: the change of the disk right before which it gets the signal.
        """
        told, log = self._folder / "changes.txt", self._folder / "log.txt"
        told.write_text("0")
        files = _Files(told, log, self.temporary)
        process = self._context.Process(target=_run, args=(command, at, sign, files))
        process.start()
        process.join()
        return Outcome(process.exitcode, int(told.read_text()))

    def log(self) -> str:
        """Returns the last lines that programs have written."""
        return "\n".join((self._folder / "log.txt").read_text().splitlines()[-5:])


def build(folder: pathlib.Path) -> pathlib.Path:
    """Compiles the library that counts changes, and returns its path."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        raise SystemExit("there is no C compiler here; install one, such as gcc")
    library = folder / "changes.so"
    command = [compiler, "-shared", "-fPIC", "-o", library, SOURCE, "-ldl"]
    subprocess.run(command, check=True)
    return library


class _Files(NamedTuple):
    """Where a child puts what is of it alone."""

    changes: pathlib.Path
    log: pathlib.Path
    temporary: pathlib.Path


def _run(command: list[str], at: int, sign: int, files: _Files) -> None:
    """Runs a program in a child, with its output in a file."""
    os.environ["TMPDIR"] = str(files.temporary)
    tempfile.tempdir = None  # or that would not count
    with files.log.open("a") as file:
        for descriptor in (1, 2):
            os.dup2(file.fileno(), descriptor)
    # Its default is shared by processes, and nobody cleans up after a killed one.
    tqdm.tqdm.set_lock(threading.RLock())
    name, *sys.argv[1:] = command
    from prwn_tf import cli

    program = importlib.import_module(name)
    library = ctypes.CDLL(None)
    library.arm(ctypes.c_long(at), sign)
    try:
        cli.run(program.main)
    finally:
        files.changes.write_text(str(library.changes()))
