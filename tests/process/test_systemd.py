"""The daemon as systemd sees it: the unit's own command, a real socket, a loop that freezes."""

from __future__ import annotations

import re
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from cortex_actors.cli.service import make_unit
from cortex_actors.home import Home
from tests.process.commands import PATIENCE, Commands, until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = pytest.mark.slow

#: Microseconds of the watchdog that is set here.
WATCHDOG = 2_000_000

#: Starts a command as systemd does, which writes the process's own number into its environment.
_WITH_PID = ["/bin/sh", "-c", 'WATCHDOG_PID=$$ exec "$@"', "sh"]


class Manager:
    """A service manager's ear."""

    def __init__(self, address: str) -> None:
        """Listen."""
        self.address = address
        self.heard: list[tuple[float, str]] = []
        self._sock = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._sock.bind(address)
        self._sock.settimeout(0.1)

    def listen(self, until_heard: Callable[[str], object], what: str) -> None:
        """Take datagrams until one is as wanted."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            try:
                self.heard.append((time.monotonic(), self._sock.recv(4096).decode()))
            except TimeoutError:
                continue
            if until_heard(self.heard[-1][1]):
                return
        pytest.fail(f"never heard: {what}; heard {self.heard}")

    def drain(self) -> None:
        """Forget what was said until now."""
        self._sock.setblocking(False)
        with suppress(BlockingIOError):
            while True:
                self._sock.recv(4096)
        self._sock.settimeout(0.1)

    def silent(self, seconds: float) -> bool:
        """Say whether nothing more comes of the watchdog's food for a while."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            try:
                if "WATCHDOG=1" in self._sock.recv(4096).decode():
                    return False
            except TimeoutError:
                continue
        return True

    def lines(self) -> list[str]:
        """Return every line that was heard."""
        return [line for _, text in self.heard for line in text.splitlines()]

    def close(self) -> None:
        """Stop listening."""
        self._sock.close()


@pytest.fixture
def manager(cortex: Commands) -> Iterator[Manager]:
    """Give a manager that every daemon started from now on speaks to."""
    found = Manager(str(cortex.home / "notify"))
    cortex.env |= {"NOTIFY_SOCKET": found.address, "WATCHDOG_USEC": str(WATCHDOG)}
    yield found
    found.close()


def exec_start(home: Home) -> tuple[list[str], dict[str, str]]:
    """Return the unit's command, and what it sets in the environment."""
    text = make_unit(home)
    (command,) = re.findall(r"^ExecStart=:(.*)$", text, re.MULTILINE)
    given = re.findall(r"^Environment=(\w+)=(.*)$", text, re.MULTILINE)
    return str(command).split(), dict(given)


class TestUnit:
    def test_life(self, cortex: Commands, manager: Manager) -> None:
        """The unit's command says READY, feeds the watchdog in time, says STOPPING and ends."""
        command, given = exec_start(Home(cortex.home))
        env = {name: each for name, each in cortex.env.items() if name != "PYTHONPATH"} | given
        daemon = subprocess.Popen(
            [*_WITH_PID, *command],
            env=env,
            cwd="/",
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        cortex.adopt(daemon)
        manager.listen(lambda text: "READY=1" in text, "READY")
        for _ in range(6):
            manager.listen(lambda text: "WATCHDOG=1" in text, "WATCHDOG")
        daemon.terminate()
        manager.listen(lambda text: "STOPPING=1" in text, "STOPPING")
        _, err = daemon.communicate(timeout=PATIENCE)

        assert (0, "") == (daemon.returncode, err)
        meals = [at for at, text in manager.heard if "WATCHDOG=1" in text]
        gaps = [later - sooner for sooner, later in pairwise(meals)]
        assert WATCHDOG / 1_000_000 / 2 > sorted(gaps)[len(gaps) // 2]
        assert ["STATUS=starting", "READY=1", "STATUS=running"] == [
            line for line in manager.lines() if line != "WATCHDOG=1"
        ][:3]
        assert "STATUS=stopping: signal SIGTERM" in manager.lines()

    @pytest.mark.skipif(sys.platform != "linux", reason="reads /proc, which is Linux's")
    def test_children(self, cortex: Commands, manager: Manager) -> None:
        """The processes that the daemon starts do not know the socket."""
        daemon = cortex.spawn("run")
        manager.listen(lambda text: "READY=1" in text, "READY")
        until(lambda: _children(daemon.pid), "a child")

        def knowing() -> list[bytes]:
            environments = [_environment(pid) for pid in _children(daemon.pid)]
            return [each for each in environments if b"NOTIFY_SOCKET" in each]

        # Until it becomes its own program a child still shows what the daemon has.
        until(lambda: not knowing(), "children that do not know the socket")

    def test_another_process(self, cortex: Commands, manager: Manager) -> None:
        """A watchdog that waits for another process is not fed."""
        cortex.env["WATCHDOG_PID"] = "1"
        cortex.fake("")
        manager.listen(lambda text: "READY=1" in text, "READY")

        assert manager.silent(1.5)


class TestFreeze:
    def test_starves_the_watchdog(self, cortex: Commands, manager: Manager) -> None:
        """A loop that freezes feeds no more, and every stack is in its error output, once."""
        daemon = cortex.fake("frozen")
        manager.listen(lambda text: "WATCHDOG=1" in text, "WATCHDOG")
        cortex.spawn("status")
        assert daemon.stderr is not None
        first = daemon.stderr.readline()
        manager.drain()
        starved = manager.silent(1.5)
        daemon.send_signal(signal.SIGABRT)
        err = daemon.stderr.read()
        daemon.wait(PATIENCE)

        assert starved
        assert -signal.SIGABRT == daemon.returncode
        assert "Timeout (0:00:05)!\n" == first
        assert "Timeout" not in err
        assert "fake_tree.py" in err.partition("Fatal Python error")[0]
        assert "Fatal Python error: Aborted" in err

    def test_thaws(self, cortex: Commands, manager: Manager) -> None:
        """A loop that goes on says for how long it stood still, and feeds again."""
        cortex.fake("nap")
        manager.listen(lambda text: "READY=1" in text, "READY")
        cortex.spawn("status")
        log = cortex.home / "logs" / "cortex.ndjson"
        until(lambda: "it stood still for" in log.read_text(), "a line in the log")
        manager.listen(lambda text: "WATCHDOG=1" in text, "WATCHDOG")

        (seconds,) = re.findall(r"it stood still for (\d+\.\d) s", log.read_text())
        assert 5.0 <= float(seconds)


def _children(pid: int) -> list[str]:
    """Return the numbers of a process's children."""
    numbers = [path.name for path in Path("/proc").iterdir() if path.name.isdecimal()]
    return [number for number in numbers if _parent(number) == pid]


def _parent(pid: str) -> int:
    """Return a process's parent; 0 for one that is gone."""
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0


def _environment(pid: str) -> bytes:
    """Return a process's environment."""
    return Path(f"/proc/{pid}/environ").read_bytes()
