"""What several replicas make of a run's numbers, and what they cannot do."""

import pytest
import tensorflow as tf

from prwn_tf.errors import LostWorkerError, Stopped, UserError
from prwn_tf.training import loop, replicas
from prwn_tf.training.cluster import Cluster
from prwn_tf.training.replicas import Replicas
from tests.small import make_config


class Three:
    """Takes the place of a strategy on three devices of one process."""

    num_replicas_in_sync = 3


@pytest.mark.parametrize(
    ("start", "stop", "end"), [(0, 12, 12), (0, 10, 12), (4, 12, 13), (12, 5, 5)]
)
def test_the_last_step_is_whole(start, stop, end):
    assert Replicas(Three()).whole(start, stop) == end
    assert Replicas().whole(start, stop) == stop


def test_what_is_due_between_two_steps_is_not_missed():
    config = make_config("prwn", "off", report_every=4, validate_every=1000)
    due = [loop._due(config, step, 3, False).report for step in range(3, 26, 3)]
    assert due == [False, True, True, True, False, True, True, True]
    due = [loop._due(config, step, 1, False).report for step in range(1, 9)]
    assert due == [False, False, False, True] * 2


@pytest.mark.parametrize("change", [{"xla": "step"}, {"precision": "float16"}])
def test_what_several_replicas_cannot_do(change):
    config = make_config("prwn", **{"xla": "off"} | change)
    replicas._check(config, Replicas())
    with pytest.raises(UserError, match=r"and 3 replicas .* exclude each other"):
        replicas._check(config, Replicas(Three()))


LOST = tf.errors.UnavailableError(None, None, "aborted by: Socket closed\nmore")


def test_only_a_lost_worker_is_a_lost_worker():
    alone, one_of_two = Replicas(), Replicas(cluster=Cluster(("a:1", "b:1"), 1))
    with pytest.raises(tf.errors.UnavailableError), alone.together():
        raise LOST
    words = r"worker 1 lost another one \(Socket closed\)"
    with pytest.raises(UserError, match=words), one_of_two.together():
        raise LOST


class Parting(Replicas):
    """One of two workers, whose sums fail from one on."""

    def __init__(self, fails_at: int):
        super().__init__(cluster=Cluster(("a:1", "b:1")))
        object.__setattr__(self, "sums", iter(range(fails_at)))

    def _sum(self, number: int) -> int:
        if next(self.sums, None) is None:
            raise LOST
        return number


def test_who_leaves_first_is_not_lost():
    """The second sum tells that all others have the first, even where it fails."""
    for fails_at in (1, 2):
        replica = Parting(fails_at)
        with replica.together():
            pass
        assert not list(replica.sums)
    with pytest.raises(LostWorkerError), Parting(0).together():
        pass


def test_stopped_workers_leave_together():
    replica = Parting(2)
    with pytest.raises(Stopped), replica.together():
        raise Stopped(15, "stopped")
    assert not list(replica.sums)
    with pytest.raises(LostWorkerError), Parting(0).together():
        raise Stopped(15, "stopped")


def test_an_error_does_not_wait_for_others():
    replica = Parting(2)
    with pytest.raises(UserError, match="full"), replica.together():
        raise UserError("full")
    assert len(list(replica.sums)) == 2
