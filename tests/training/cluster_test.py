"""Workers meet before TensorFlow begins, which would wait on and on."""

import threading

import pytest

from prwn_tf.errors import LostWorkerError, UserError
from prwn_tf.training.cluster import Cluster, from_environment
from tools import cluster


def members(count: int, monkeypatch) -> list[Cluster]:
    """Returns the workers of a cluster on free ports, as they see themselves."""
    found = []
    for environment in cluster.environments(count):
        monkeypatch.setenv("TF_CONFIG", environment["TF_CONFIG"])
        found.append(from_environment("auto"))
    return found


def test_who_is_who(monkeypatch):
    chief, second, third = members(3, monkeypatch)
    assert [each.is_chief for each in (chief, second, third)] == [True, False, False]
    assert [each.place for each in (chief, second, third)] == [0, 1, 2]
    assert from_environment("one") == from_environment("mirrored") == Cluster()
    with_chief = (
        '{"cluster": {"chief": ["c:1"], "worker": ["a:1"]}, '
        '"task": {"type": "worker", "index": 0}}'
    )
    monkeypatch.setenv("TF_CONFIG", with_chief)
    assert from_environment("multi_worker") == Cluster(("c:1", "a:1"), 1)
    monkeypatch.delenv("TF_CONFIG")
    assert from_environment("auto") == Cluster()


def test_all_go_on_when_the_last_has_come(monkeypatch):
    workers = members(3, monkeypatch)
    threads = [threading.Thread(target=each.meet, args=[30]) for each in workers]
    for thread in reversed(threads):  # the chief comes last
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()


def failing(worker: Cluster, patience: float, words: str) -> LostWorkerError:
    """Returns what a worker says that waits in vain."""
    with pytest.raises(LostWorkerError, match=words) as told:
        worker.meet(patience)
    return told.value


def test_who_does_not_come_is_named(monkeypatch):
    chief, second, third = members(3, monkeypatch)
    missing = chief.addresses[2]
    early = threading.Thread(target=failing, args=[second, 1, "worker 0 "])
    early.start()
    assert failing(chief, 0.5, rf"worker 2 \({missing}\) of TF_CONFIG").exit_code == 5
    early.join()
    failing(third, 0.1, r"worker 0 \(127.0.0.1:")


def test_a_port_that_is_taken(monkeypatch):
    chief, _ = members(2, monkeypatch)
    port = int(chief.addresses[0].rpartition(":")[2])
    with (
        cluster.socket.create_server(("127.0.0.1", port)),
        pytest.raises(UserError, match=f"port {port} of this worker"),
    ):
        chief.meet(1)
