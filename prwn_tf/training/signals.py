"""A run that is asked to stop finishes its step first."""

import contextlib
import signal
from collections.abc import Iterator


class StopRequest:
    """The signal that asked, once one did."""

    signal_number: int | None = None

    @property
    def requested(self) -> bool:
        return self.signal_number is not None


@contextlib.contextmanager
def graceful_stop() -> Iterator[StopRequest]:
    """Notes the first signal that asks to stop; a second one ends the program at once.

    That is SIGTERM, SIGINT of Ctrl-C, or SIGHUP of a terminal that is closed. The last
    one stays ignored where it is, as under nohup. SIGINT does not: shells ignore it for
    whatever they start in the background, and whoever sends it then means it.
    """
    request = StopRequest()
    before = {}

    def note(number: int, unused_frame) -> None:
        request.signal_number = number
        for each in before:
            signal.signal(each, signal.SIG_DFL)

    numbers = [signal.SIGTERM, signal.SIGINT]
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        numbers.append(signal.SIGHUP)
    for number in numbers:
        before[number] = signal.signal(number, note)
    try:
        yield request
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
