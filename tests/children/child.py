"""Python programs as children of a preloaded process, used as those of `subprocess`.

    child.run("-m", "prwn_tf.train", "--shot=5")

Where it matters what is loaded or printed before a program runs, use `subprocess`.
"""

import atexit
import os
import pathlib
import pickle
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping

from tests.children import processes
from tests.children.request import Program

ROOT = pathlib.Path(__file__).parents[2]
SPENT = [0.0]  # core-seconds of the children that have ended
LOADED = (  # what our programs import of others
    *("tensorflow", "keras", "tqdm", "absl.app", "tensorboard.plugins.projector"),
    *("matplotlib.pyplot", "sklearn.manifold", "sklearn.decomposition"),
    *("tensorboard.summary.v2", "tensorboard.plugins.hparams.api"),
)
AT_START = ("LANG", "LC_ALL", "LC_CTYPE", "TZ")  # what an interpreter reads but once


def start(
    *arguments: object,
    cwd: os.PathLike | None = None,
    env: Mapping[str, str] | None = None,
    before: Callable[[], None] | None = None,
) -> "Child":
    """Starts what `python` would be told by these arguments.

    Args:
        before: called in the child before the program; it must be picklable.
    """
    environment = dict(os.environ if env is None else env)
    told = tuple(map(str, arguments))
    return Child(Program(told, environment, str(cwd or os.getcwd()), before))


def run(
    *arguments: object, timeout: float = 600, check: bool = False, **how
) -> subprocess.CompletedProcess:
    """Runs a program to its end."""
    process = start(*arguments, **how)
    output, errors = process.communicate(timeout)
    if check and process.returncode:
        raise AssertionError(errors)
    return subprocess.CompletedProcess(process.args, process.returncode, output, errors)


class Preloaded:
    """The process that forks children.

    Args:
        environment: what it reads at its start.
    """

    def __init__(self, environment: Mapping[str, str]):
        self.requests, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.log = tempfile.TemporaryFile()  # noqa: SIM115  (open as long as we are)
        with theirs:
            self.process = subprocess.Popen(
                [
                    *(sys.executable, "-m", "tests.children.preloaded"),
                    *(str(theirs.fileno()), *LOADED),
                ],
                cwd=ROOT,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=self.log,
                stderr=self.log,
                pass_fds=[theirs.fileno()],
                start_new_session=True,  # a Ctrl-C for pytest is none for it
            )
        atexit.register(self.close)

    def close(self) -> None:
        """Ends it; it ends with this process anyway."""
        self.requests.close()
        self.process.wait()

    def ask(self, program: Program, descriptors: list[int]) -> None:
        """Asks for a child."""
        try:
            socket.send_fds(self.requests, [pickle.dumps(program)], descriptors)
        except BrokenPipeError:
            self.fail()

    def fail(self) -> None:
        """Raises an error with what it wrote before it ended."""
        self.log.seek(0)
        raise RuntimeError(f"no preloaded process: {self.log.read().decode()}")


_preloaded: dict[tuple[str | None, ...], Preloaded] = {}


def preloaded(environment: Mapping[str, str]) -> Preloaded:
    """Returns the one for children in such an environment; the first call starts it."""
    key = tuple(map(environment.get, AT_START))
    if key not in _preloaded:
        _preloaded[key] = Preloaded(environment)
    return _preloaded[key]


def alive() -> set[int]:
    """Returns all children of this process, theirs, and orphans of theirs."""
    return set().union(
        *(processes.descendants(each.process.pid) for each in _preloaded.values())
    )


class Child:
    """A program that runs in a fork of the preloaded process.

    Attributes:
        args: what a shell would have been told.
        pid: the process id.
        stdout, stderr: pipes of text.
        returncode: its exit code, or minus the signal that ended it; None before.
    """

    def __init__(self, program: Program):
        self.args = [sys.executable, *program.arguments]
        self.returncode: int | None = None
        pipes = [os.pipe() for _ in range(3)]
        reading, writing = zip(*pipes, strict=True)
        parent = preloaded(program.environment)
        parent.ask(program, list(writing))
        for descriptor in writing:
            os.close(descriptor)
        self.stdout, self.stderr, self._status = (
            os.fdopen(descriptor, encoding="utf-8") for descriptor in reading
        )
        first = self._status.readline()
        if not first:
            parent.fail()
        self.pid = int(first)

    def poll(self) -> int | None:
        """Returns the exit code, or None while it runs."""
        return self._ended(0)

    def wait(self, timeout: float | None = None) -> int:
        """Waits for the end and returns the exit code."""
        if self._ended(timeout) is None:
            raise subprocess.TimeoutExpired(self.args, timeout)
        return self.returncode

    def _ended(self, timeout: float | None) -> int | None:
        if self.returncode is None:
            if not select.select([self._status], [], [], timeout)[0]:
                return None
            code, seconds = self._status.readline().split()
            SPENT[0] += float(seconds)
            self.returncode = int(code)
            self._status.close()
        return self.returncode

    def communicate(self, timeout: float | None = None) -> tuple[str, str]:
        """Returns all output and errors, when both are closed and the child ended."""
        texts = {}

        def read(name: str) -> None:
            with getattr(self, name) as pipe:
                texts[name] = pipe.read()

        readers = [
            threading.Thread(target=read, args=[name], daemon=True)
            for name in ("stdout", "stderr")
        ]
        for reader in readers:
            reader.start()
        for reader in readers:
            reader.join(timeout)
            if reader.is_alive():
                raise subprocess.TimeoutExpired(self.args, timeout)
        self.wait(timeout)
        return texts["stdout"], texts["stderr"]

    def send_signal(self, number: int) -> None:
        """Sends a signal, if the child has not ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        """Asks the child to end."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """Ends the child."""
        self.send_signal(signal.SIGKILL)
