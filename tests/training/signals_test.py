"""A run that is asked to stop notes it, and a second time ends."""

import os
import signal

import pytest

from prwn_tf.training.signals import graceful_stop

ASKING = [signal.SIGTERM, signal.SIGINT, signal.SIGHUP]


@pytest.fixture(autouse=True)
def as_in_a_terminal():
    """Nothing is ignored, even if these tests run under nohup."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


@pytest.mark.parametrize("number", ASKING)
def test_the_first_signal_is_noted_and_the_second_ends(number):
    before = [signal.getsignal(each) for each in ASKING]
    with graceful_stop() as stop:
        assert not stop.requested
        os.kill(os.getpid(), number)
        assert stop.signal_number == number
        assert {signal.getsignal(each) for each in ASKING} == {signal.SIG_DFL}
    assert [signal.getsignal(each) for each in ASKING] == before


def test_what_nohup_ignores_stays_ignored():
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    with graceful_stop() as stop:
        os.kill(os.getpid(), signal.SIGHUP)
        assert not stop.requested
