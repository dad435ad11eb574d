"""Several processes that train one run: who they are, and how they find each other.

Nothing here loads TensorFlow, so that mistakes are answered at once.
"""

import contextlib
import dataclasses
import json
import os
import socket
import time
from typing import Any

from prwn_tf.errors import LostWorkerError, UserError

VARIABLE = "TF_CONFIG"
PATIENCE = 300.0  # seconds for all workers to come
RETRY = 0.2  # seconds between two attempts to reach the chief
REPLY = 5.0  # seconds for whoever has come to say who it is
GO = b"go\n"


@dataclasses.dataclass(frozen=True)
class Cluster:
    """The workers of a run, and which of them this process is.

    The first is the chief, who alone writes and speaks.
    """

    addresses: tuple[str, ...] = ("",)  # "host:port" of each
    place: int = 0

    @property
    def workers(self) -> int:
        return len(self.addresses)

    @property
    def is_chief(self) -> bool:
        return self.place == 0

    def meet(self, patience: float = PATIENCE) -> None:
        """Waits until all workers are there.

        TensorFlow would wait on and on, and SIGTERM would not end it.

        Raises:
            LostWorkerError: in some seconds (`patience`) not all of them came.
        """
        deadline = time.monotonic() + patience
        if self.is_chief:
            missing = self._gather(deadline)
        else:
            missing = [] if self._join(deadline) else [0]
        if missing:
            names = ", ".join(f"{place} ({self.addresses[place]})" for place in missing)
            raise LostWorkerError(
                f"worker {names} of {VARIABLE} did not come within {patience:g} "
                "seconds; start all workers at about the same time"
            )

    def _gather(self, deadline: float) -> list[int]:
        """Has the chief await the others and send them on: those that did not come."""
        port = int(self.addresses[0].rpartition(":")[2])
        with contextlib.ExitStack() as stack:
            server = stack.enter_context(_listening(port))
            waiting: dict[int, socket.socket] = {}
            while len(waiting) < self.workers - 1:
                server.settimeout(max(0.01, deadline - time.monotonic()))
                try:
                    connection, _ = server.accept()
                except TimeoutError:
                    break
                stack.enter_context(connection).settimeout(REPLY)
                with contextlib.suppress(OSError, ValueError):
                    place = int(connection.recv(16))
                    if 0 < place < self.workers:
                        waiting[place] = connection
            missing = [p for p in range(1, self.workers) if p not in waiting]
            for connection in waiting.values() if not missing else ():
                with contextlib.suppress(OSError):
                    connection.sendall(GO)
                    # Whoever closes first keeps a port busy; the chief's is needed.
                    connection.recv(1)
        return missing

    def _join(self, deadline: float) -> bool:
        """Returns whether the chief was there and sent this worker on."""
        host, _, port = self.addresses[0].rpartition(":")
        while (left := deadline - time.monotonic()) > 0:
            # Names of machines may be known later than the machines are there.
            with contextlib.suppress(OSError):
                address = (host.strip("[]"), int(port))
                with socket.create_connection(address, timeout=left) as chief:
                    chief.sendall(b"%d\n" % self.place)
                    if chief.recv(len(GO)) == GO:
                        return True
            time.sleep(RETRY)
        return False


def from_environment(strategy: str) -> Cluster:
    """Returns the workers that the variable TF_CONFIG names, if a strategy looks at it.

    One process alone is its own chief.
    """
    content = os.environ.get(VARIABLE, "").strip()
    if strategy == "multi_worker" and not content:
        raise UserError(
            f"--strategy=multi_worker reads from the variable {VARIABLE} who the "
            "workers are, and it is not set; set it, or use --strategy=one"
        )
    if strategy not in ("auto", "multi_worker") or not content:
        return Cluster()
    try:
        cluster = _parsed(json.loads(content))
    except (ValueError, TypeError, KeyError, AttributeError, IndexError) as error:
        raise UserError(
            f"the variable {VARIABLE} cannot be understood ({error}), got "
            f'{content[:200]}; it is like {{"cluster": {{"worker": ["host0:2222", '
            '"host1:2222"]}, "task": {"type": "worker", "index": 0}}, or use '
            "--strategy=one"
        ) from error
    return cluster if cluster.workers > 1 else Cluster()


def _parsed(content: Any) -> Cluster:
    """Returns what TF_CONFIG says, or raises whatever is wrong with it."""
    jobs, task = content["cluster"], content["task"]
    foreign = jobs.keys() - {"chief", "worker"}
    if foreign or task["type"] not in jobs:
        raise ValueError(f"only chief and worker train, not {foreign or task['type']}")
    chief = list(jobs.get("chief", []))
    addresses = (*chief, *jobs.get("worker", []))
    place = int(task["index"]) + (len(chief) if task["type"] == "worker" else 0)
    for address in addresses:
        int(address.rpartition(":")[2])
    if not 0 <= place < len(addresses):
        raise ValueError(f"there is no {task['type']} {task['index']}")
    return Cluster(addresses, place)


def _listening(port: int) -> socket.socket:
    """Returns a socket at which others can reach this machine, or raises."""
    both = socket.has_dualstack_ipv6()
    family = socket.AF_INET6 if both else socket.AF_INET
    try:
        return socket.create_server(("", port), family=family, dualstack_ipv6=both)
    except OSError as error:
        raise UserError(
            f"port {port} of this worker in {VARIABLE} cannot be used: "
            f"{error.strerror}; choose another for all workers"
        ) from error
