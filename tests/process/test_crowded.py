"""The commands of the owner while other programs crowd the control socket, or it is gone."""

from __future__ import annotations

import fcntl
import json
import signal
import socket
import subprocess
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

from tests.process.commands import Commands, alive

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

#: Clients that connect and say nothing: more than there are places.
IDLE = 300

#: A daemon that has no place for anyone.
FULL = """
import json, socket, sys
error = {"code": -32000, "message": "all at work", "data": {"type": "TooManyConnections"}}
server = socket.socket(socket.AF_UNIX)
server.bind(sys.argv[1])
server.listen()
print("listens", flush=True)
while True:
    client, _ = server.accept()
    try:
        client.sendall(json.dumps({"id": None, "error": error}).encode() + b"\\n")
    except BrokenPipeError:
        pass  # it only looked who listens
    client.close()
"""

pytestmark = pytest.mark.slow


@pytest.fixture
def crowd(cortex: Commands) -> Iterator[Callable[[], None]]:
    """Give a way to have the daemon's places taken by clients that say nothing."""
    clients: list[socket.socket] = []

    def come() -> None:
        for _ in range(IDLE):
            clients.append(socket.socket(socket.AF_UNIX))
            clients[-1].settimeout(5)
            with suppress(BlockingIOError):
                clients[-1].connect(str(cortex.home / "cortex.sock"))

    yield come
    for client in clients:
        client.close()


class TestCrowded:
    def test_idle_clients(self, cortex: Commands, crowd: Callable[[], None]) -> None:
        """Clients that do nothing keep nobody from `status`, `restart`, other work and `stop`."""
        cortex("start")
        crowd()
        pid = cortex.status()["pid"]
        tree = cortex("tree")
        restarted = cortex("restart")
        crowd()
        again = cortex.status()
        stopped = cortex("stop")

        assert (0, 0, 0) == (tree.returncode, restarted.returncode, again["code"]), tree.stderr
        assert pid != again["pid"]
        assert 0 == stopped.returncode, stopped.stderr
        assert "SIGTERM" not in stopped.stdout
        assert not alive(again["pid"])


class TestSignalled:
    def test_without_a_socket(self, cortex: Commands) -> None:
        """A daemon whose socket does not answer gets SIGTERM, and `stop` says so."""
        cortex("start")
        pid = cortex.status()["pid"]
        (cortex.home / "cortex.sock").unlink()
        stopped = cortex("stop", "--json")
        found = json.loads(stopped.stdout)

        assert 0 == stopped.returncode, stopped.stderr
        assert ("stopped", pid, "SIGTERM") == (found["state"], found["pid"], found["signal"])
        assert "no daemon answers" in found["reason"]
        assert "signal SIGTERM" in cortex.status()["reason"]

    def test_full(self, cortex: Commands) -> None:
        """One that has no place for the request is silent (4), and gets SIGTERM, too."""
        path = str(cortex.home / "cortex.sock")
        daemon = subprocess.Popen([sys.executable, "-c", FULL, path], stdout=subprocess.PIPE)
        with daemon:
            assert daemon.stdout is not None
            daemon.stdout.readline()
            found = cortex.status()
            stopped = cortex("stop")

        assert (4, "all at work") == (found["code"], found["reason"])
        assert 0 == stopped.returncode, stopped.stderr
        assert f"stopped, pid {daemon.pid}" in stopped.stdout
        assert "; SIGTERM was sent, because all at work" in stopped.stdout
        assert -signal.SIGTERM == daemon.returncode

    def test_not_another_process(self, cortex: Commands) -> None:
        """A process that has by now the number in the lock gets no signal; `stop` says so."""
        words = [sys.executable, "-c", "import sys; sys.stdin.read()"]
        other = subprocess.Popen(words, stdin=subprocess.PIPE)
        with other, (cortex.home / "cortex.lock").open("w+") as held:
            json.dump({"pid": other.pid, "state": "running", "epoch": 3}, held)
            held.flush()
            fcntl.flock(held, fcntl.LOCK_EX)
            stopped = cortex("stop")
            ended = other.poll()

        assert (1, None) == (stopped.returncode, ended)
        assert f"pid {other.pid}, does not" in stopped.stderr
        assert 0 == other.returncode
