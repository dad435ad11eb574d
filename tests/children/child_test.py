"""Forked children are what fresh interpreters would be, as far as tests can tell."""

import contextlib
import functools
import os
import select
import signal
import subprocess
import sys

import pytest

from tests.children import child


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("", 0),
        ("import sys; sys.exit(7)", 7),
        ("import sys; sys.exit('why')", 1),
        ("import sys; sys.exit(None)", 0),
        ("1 / 0", 1),
        ("raise KeyboardInterrupt", -signal.SIGINT),
        ("import os, signal; os.kill(os.getpid(), signal.SIGTERM)", -signal.SIGTERM),
        ("import os, signal; os.kill(os.getpid(), signal.SIGPIPE); print(1)", 0),
    ],
)
def test_the_end_is_that_of_an_interpreter(code, expected):
    ours = child.run("-c", code)
    theirs = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True
    )
    assert ours.returncode == theirs.returncode == expected
    assert ours.stdout == theirs.stdout
    assert ours.stderr.splitlines()[-1:] == theirs.stderr.splitlines()[-1:]


ENDING = """
import atexit, threading
atexit.register(print, "exit")
main = threading.main_thread()
threading.Thread(target=lambda: (main.join(), print("thread"))).start()
print("main")
"""


def test_threads_and_exit_functions_are_awaited():
    assert child.run("-c", ENDING).stdout.split() == ["main", "thread", "exit"]


LOOK = """
import os, sys, tempfile
print(sys.argv, os.getcwd(), tempfile.gettempdir(), sorted(os.environ))
print([name for name in sys.modules if name.startswith("prwn_tf")])
print(sys.stdin.read(), sys.stdout.encoding, os.listdir("/proc/self/fd"))
"""


def test_a_child_sees_its_own_world(tmp_path):
    environment = {"TMPDIR": str(tmp_path), "MINE": "1"}
    kept = set(child.AT_START) & os.environ.keys()  # or another process is preloaded
    environment |= {name: os.environ[name] for name in kept}
    found = child.run("-c", LOOK, "a b", cwd=tmp_path, env=environment).stdout
    first, modules, last = found.splitlines()
    names = sorted(environment)
    assert first == f"{['-c', 'a b']} {tmp_path} {tmp_path} {names}"
    assert modules == "['prwn_tf']"
    # Input, output, errors, and the folder that is listed.
    assert last.strip() == f"utf-8 {['0', '1', '2', '3']}"


def test_tensorflow_is_loaded_and_has_not_run():
    code = """
import sys
assert "tensorflow" in sys.modules
import tensorflow as tf
tf.config.threading.set_inter_op_parallelism_threads(3)  # or an error
print(int(tf.constant(1) + 1))
"""
    assert child.run("-c", code, check=True).stdout == "2\n"


def test_what_comes_before():
    before = functools.partial(os.putenv, "SET_BEFORE", "1")
    code = "import subprocess; subprocess.run('echo $SET_BEFORE', shell=True)"
    assert child.run("-c", code, before=before).stdout == "1\n"


def test_files_are_programs_too(tmp_path):
    (tmp_path / "beside.py").write_text("VALUE = 5")
    (tmp_path / "it.py").write_text(
        "import sys, beside\n"
        "if __name__ == '__main__': print(beside.VALUE, *sys.argv[1:])"
    )
    assert child.run(tmp_path / "it.py", "x").stdout == "5 x\n"


def test_signals_and_time():
    code = "import signal; print('up', flush=True); signal.pause()"
    process = child.start("-c", code)
    assert process.stdout.readline() == "up\n"
    assert process.poll() is None
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(timeout=0)
    process.terminate()
    assert process.communicate() == ("", "")
    assert process.poll() == process.wait() == -signal.SIGTERM
    process.kill()  # nobody is there, and nothing happens


def await_the_end(process: int) -> None:
    """Waits for a process that is no child of ours."""
    with contextlib.suppress(ProcessLookupError):
        descriptor = os.pidfd_open(process)
        select.select([descriptor], [], [])
        os.close(descriptor)


ORPHAN = """
import os, signal, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for descriptor in (0, 1, 2):
            os.close(descriptor)
        signal.pause()
    os._exit(0)
os.wait()
"""


def test_orphans_are_found():
    assert not child.alive()
    child.run("-c", ORPHAN, check=True)
    [orphan] = child.alive()
    os.kill(orphan, signal.SIGKILL)
    await_the_end(orphan)
    assert not child.alive()


def test_a_preloaded_process_ends_with_the_tests():
    code = (
        "from tests.children import child\n"
        "child.LOADED = ()\n"
        "process = child.start('-c', 'import signal; signal.pause()')\n"
        "[preloaded] = child._preloaded.values()\n"
        "print(preloaded.process.pid, process.pid, flush=True)\n"
        "import os; os.kill(os.getpid(), 9)"
    )
    tests = subprocess.run(
        [sys.executable, "-c", code], cwd=child.ROOT, capture_output=True, text=True
    )
    assert tests.returncode == -signal.SIGKILL, tests.stderr
    for process in map(int, tests.stdout.split()):
        await_the_end(process)
