"""The package's own programs, run as a reader would run them."""

import pathlib
import signal
import subprocess
import sys

from prwn_tf.errors import Stopped, UserError
from prwn_tf.training.signals import StopRequest, graceful_stop

POLL_SECONDS = 1.0  # between looks at our own signals


def run(name: str, *arguments: str, data_dir: pathlib.Path) -> None:
    """Runs `python -m prwn_tf.<name>` to its end, which may be a signal to us."""
    run_python("-m", f"prwn_tf.{name}", *arguments, data_dir=data_dir)


def run_python(*arguments: str, data_dir: pathlib.Path) -> None:
    """Runs an interpreter to its end, which may be a signal to us."""
    print(" ".join(["python", *arguments]), flush=True)
    with graceful_stop() as stop:
        command = [sys.executable, *arguments, f"--data_dir={data_dir}"]
        code = wait(subprocess.Popen(command), stop)
    name = arguments[arguments[0] == "-m"]
    going_on = "the same command continues from there"
    if stop.requested:
        raise Stopped(stop.signal_number, f"{name} was stopped; {going_on}")
    if code == UserError.exit_code:
        sys.exit(code)  # it has said what is wrong, and would say so again
    if code:
        raise UserError(f"{name} ended with code {code}; {going_on}")


def wait(child: subprocess.Popen, stop: StopRequest) -> int:
    """Waits for a program, passes on a request to stop, and returns its exit code."""
    told = False
    while True:
        try:
            return child.wait(POLL_SECONDS)
        except subprocess.TimeoutExpired:
            # Ctrl-C goes to both of us, other signals do not.
            if not told and stop.signal_number == signal.SIGTERM:
                child.terminate()
                told = True
