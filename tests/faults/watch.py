"""What a piece of our code does to the machine, as Python's audit events tell it."""

import contextlib
import os
import pathlib
import sys
from collections.abc import Iterator

WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
# Event -> which of its arguments are paths that it changes.
CHANGING = {
    "os.mkdir": (0,),
    "os.rename": (0, 1),
    "os.remove": (0,),
    "os.rmdir": (0,),
    "os.symlink": (1,),
    "os.link": (1,),
    "os.truncate": (0,),
    "os.chmod": (0,),
    "os.chown": (0,),
}
FORBIDDEN = (
    *("os.system", "os.exec", "os.fork", "os.posix_spawn", "os.spawn"),
    *("subprocess.Popen", "socket.connect", "pickle.find_class"),
)


class _Watch:
    allowed: str | None = None  # None while nobody watches
    found: list[str]

    def __call__(self, event: str, arguments: tuple) -> None:
        if self.allowed is None:
            return
        if event in FORBIDDEN:
            self.found.append(f"{event} {arguments!r}")
        elif event == "open" and (arguments[2] or 0) & WRITING:
            self._check(event, arguments[0])
        for place in CHANGING.get(event, ()):
            self._check(event, arguments[place])

    def _check(self, event: str, path: object) -> None:
        if isinstance(path, int) or path is None or os.fspath(path) == os.devnull:
            return
        # Paths relative to an open folder come from shutil.rmtree, which began inside.
        text = os.path.abspath(os.fsdecode(path))
        relative = not os.path.isabs(os.fsdecode(path))
        inside = os.path.commonpath([text, self.allowed]) == self.allowed
        if not inside and not (relative and event in ("os.rmdir", "os.remove")):
            self.found.append(f"{event} {text}")


_watch = _Watch()
_installed: list[_Watch] = []  # an audit hook stays for the life of the process


@contextlib.contextmanager
def nothing_outside(folder: pathlib.Path) -> Iterator[None]:
    """Fails if anything outside `folder` is changed, or a program started."""
    if not _installed:
        sys.addaudithook(_watch)
        _installed.append(_watch)
    _watch.found, _watch.allowed = [], os.path.abspath(folder)
    try:
        yield
    finally:
        _watch.allowed = None
    assert not _watch.found, _watch.found


@contextlib.contextmanager
def memory_below(limit: int) -> Iterator[None]:
    """Fails if the resident memory grows by more than `limit` bytes meanwhile."""
    pathlib.Path("/proc/self/clear_refs").write_text("5")  # forgets the peak so far
    before = _peak()
    yield
    grown = _peak() - before
    assert grown < limit, f"memory grew by {grown:,} bytes"


def _peak() -> int:
    for line in pathlib.Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    raise AssertionError("the system does not tell the peak of resident memory")
