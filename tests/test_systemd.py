"""What systemd is told, on a real datagram socket."""

from __future__ import annotations

import os
import socket
import sys
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

from cortex_actors.service import Systemd

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class Manager:
    """The other end: what a service manager would hear."""

    def __init__(self, address: str) -> None:
        """Listen; "@" begins the name of an abstract socket."""
        self.address = address
        self._sock = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._sock.bind(address.replace("@", "\0", 1))
        self._sock.setblocking(False)

    def heard(self) -> list[str]:
        """Return the datagrams that came."""
        found: list[str] = []
        while True:
            try:
                found.append(self._sock.recv(4096).decode())
            except BlockingIOError:
                return found

    def close(self) -> None:
        """Stop listening."""
        self._sock.close()


@pytest.fixture
def manager(tmp_home: Path) -> Iterator[Manager]:
    """Give a manager that listens in the home."""
    found = Manager(str(tmp_home / "notify"))
    yield found
    found.close()


class TestSaying:
    def test_life(self, manager: Manager) -> None:
        """The states and a status go out as one datagram each."""
        systemd = Systemd(manager.address)
        systemd.report_status("starting")
        systemd.report_ready("running")
        systemd.report_stopping("stopping: signal SIGTERM")

        assert [
            "STATUS=starting",
            "READY=1\nSTATUS=running",
            "STOPPING=1\nSTATUS=stopping: signal SIGTERM",
        ] == manager.heard()

    def test_one_line(self, manager: Manager) -> None:
        """A status can forge no other message, whatever is in it."""
        Systemd(manager.address).report_status("a\nREADY=1\x00" + 500 * "b")
        (heard,) = manager.heard()

        assert heard.startswith("STATUS=a READY=1 bb")
        assert "\n" not in heard
        assert 310 > len(heard)

    @pytest.mark.skipif(sys.platform != "linux", reason="abstract sockets are Linux's")
    def test_abstract(self) -> None:
        """An address that begins with @ is an abstract socket."""
        manager = Manager(f"@cortex-test-{os.getpid()}")
        Systemd(manager.address).report_ready("running")
        heard = manager.heard()
        manager.close()

        assert ["READY=1\nSTATUS=running"] == heard

    @pytest.mark.parametrize("address", ["", "notify", "vsock:2:1234", "/nowhere/notify"])
    def test_nobody(self, address: str) -> None:
        """Where nobody listens nothing happens."""
        Systemd(address, 30.0).report_ready("running")
        Systemd(address, 30.0).feed(1.0)


class TestWatchdog:
    def test_less_than_half(self, manager: Manager) -> None:
        """It is fed again before half of its interval is over, and not at every heartbeat."""
        systemd = Systemd(manager.address, 30.0)
        fed = []
        for tick in range(240):
            systemd.feed(tick / 4)
            fed += [tick / 4] * len(manager.heard())

        assert 9 > len(fed)
        assert 15.0 > max(later - sooner for sooner, later in pairwise(fed))

    def test_none(self, manager: Manager) -> None:
        """A manager without a watchdog is not told that the loop turns."""
        Systemd(manager.address).feed(100.0)

        assert [] == manager.heard()


class TestEnvironment:
    def test_is_taken_out(self, manager: Manager) -> None:
        """Children do not find the socket: they cannot speak in our name."""
        environ = {
            "NOTIFY_SOCKET": manager.address,
            "WATCHDOG_USEC": "30000000",
            "WATCHDOG_PID": str(os.getpid()),
            "HOME": "/home/me",
        }
        systemd = Systemd.from_environment(environ)
        systemd.feed(1.0)

        assert {"HOME": "/home/me"} == environ
        assert 7.5 == systemd.meal
        assert ["WATCHDOG=1"] == manager.heard()

    @pytest.mark.parametrize(
        ("usec", "pid", "meal"),
        [
            ("2000000", None, 0.5),
            ("2000000", "1", None),
            ("2000000", "me", None),
            ("0", None, None),
            ("soon", None, None),
            (None, None, None),
        ],
    )
    def test_watchdog_of_whom(self, usec: str | None, pid: str | None, meal: float | None) -> None:
        """The watchdog is fed only if it was set, makes sense, and waits for this process."""
        environ = {"WATCHDOG_USEC": usec, "WATCHDOG_PID": pid}
        systemd = Systemd.from_environment(
            {name: value for name, value in environ.items() if value is not None}
        )

        assert meal == systemd.meal
