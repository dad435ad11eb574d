"""A process that has loaded TensorFlow and forks a child for each program asked for.

    python -m tests.children.preloaded SOCKET MODULE...

A child costs a fiftieth of what a fresh interpreter spends on its imports. Nothing of
TensorFlow has run here, and of `prwn_tf` only the package itself is imported, so a
child finds what a fresh interpreter would have after importing TensorFlow.

`child.py` is the other side. It sends a pickled `Program` and three descriptors:
standard output, standard error, and where the process id of the child is written to,
and at its end its exit code and core-seconds, a line each.
"""

import atexit
import contextlib
import ctypes
import gc
import importlib
import os
import pickle
import runpy
import select
import signal
import socket
import sys
import tempfile
import threading
import types

import prwn_tf  # noqa: F401  (sets the allocator before TensorFlow loads)
from tests.children import processes
from tests.children.request import Program

LARGEST = 2**18  # bytes of a request


def load(names: list[str]) -> None:
    """Imports modules; of one that is missing, the programs will complain."""
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    gc.disable()
    for name in names:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    gc.freeze()  # or each child would copy what it looks through
    gc.enable()


def adopt_orphans() -> None:
    """Makes this process the parent of whatever its children leave behind."""
    child_subreaper = 36
    ctypes.CDLL(None).prctl(child_subreaper, 1, 0, 0, 0)


def serve(requests: socket.socket) -> Program:
    """Forks until nobody can ask any more; returns in the children alone."""
    running: dict[int, tuple[int, int]] = {}  # pidfd -> process, where to tell its end
    while True:
        ready, _, _ = select.select([requests, *running], [], [])
        for pidfd in running.keys() & set(ready):
            tell_the_end(pidfd, *running.pop(pidfd))
        reap_orphans({process for process, _ in running.values()})
        if requests not in ready:
            continue
        content, descriptors, _, _ = socket.recv_fds(requests, LARGEST, 3)
        if not content:
            end_everything()
        *output, status = descriptors
        process = os.fork()
        if process == 0:
            others = [each for _, each in running.values()]
            for descriptor in (requests.detach(), status, *running, *others):
                os.close(descriptor)
            return become(pickle.loads(content), output)
        for descriptor in output:
            os.close(descriptor)
        os.write(status, b"%d\n" % process)
        running[os.pidfd_open(process)] = (process, status)


def tell_the_end(pidfd: int, process: int, status: int) -> None:
    """Reaps a child and writes how it ended and what it cost."""
    os.close(pidfd)
    _, code, used = os.wait4(process, 0)
    code = os.waitstatus_to_exitcode(code)
    with contextlib.suppress(BrokenPipeError):
        os.write(status, b"%d %f\n" % (code, used.ru_utime + used.ru_stime))
    os.close(status)


def reap_orphans(children: set[int]) -> None:
    """Clears away orphans that have ended; children are reaped where it is told."""
    for process in processes.children(os.getpid()) - children:
        os.waitpid(process, os.WNOHANG)


def end_everything() -> None:
    """Ends this process and whatever it has started."""
    for process in processes.descendants(os.getpid()):
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)
    os._exit(0)


def become(program: Program, output: list[int]) -> Program:
    """Makes this process look as if it had been started for the program."""
    for target, descriptor in zip((1, 2), output, strict=True):
        os.dup2(descriptor, target)
        os.close(descriptor)
    os.environ.clear()
    os.environ.update(program.environment)
    os.chdir(program.directory)
    tempfile.tempdir = None  # or TMPDIR would not count
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed()
    if program.before:
        program.before()
    return program


def run(program: Program) -> None:
    """Runs a program as `python` does."""
    kind, *rest = program.arguments
    if kind == "-m":
        sys.argv, sys.path[0] = rest, program.directory
        runpy.run_module(rest[0], run_name="__main__", alter_sys=True)
    elif kind == "-c":
        sys.argv, sys.path[0] = [kind, *rest[1:]], ""
        sys.modules["__main__"] = types.ModuleType("__main__")
        exec(rest[0], vars(sys.modules["__main__"]))
    else:
        sys.argv, sys.path[0] = [kind, *rest], os.path.dirname(kind)
        runpy.run_path(kind, run_name="__main__")


def end(code: object) -> None:
    """Ends this process as an interpreter ends, but takes no module down.

    That would take more than a second where TensorFlow is loaded.
    """
    if code is not None and not isinstance(code, int):
        print(code, file=sys.stderr)
        code = 1
    threading._shutdown()
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit((code or 0) & 0xFF)


if __name__ == "__main__":
    adopt_orphans()
    load(sys.argv[2:])
    asked = serve(socket.socket(fileno=int(sys.argv[1])))
    try:
        run(asked)
    except SystemExit as stop:
        end(stop.code)
    end(None)  # other exceptions end it as they end every interpreter
