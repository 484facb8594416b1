"""A real daemon on a home of its own, and a client that publishes to it over the control socket.

Both are kept on one core while they are measured, as the tasks of the ping-pong are: between cores
each answer also wakes a sleeping core, which on a virtual machine costs as much as the request.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Self

from cortex_actors.client.connection import Client
from cortex_actors.home import Home

if TYPE_CHECKING:
    from types import TracebackType

#: Publishes of one turn: a tenth of a second, so that of several turns one is undisturbed.
PUBLISHES = 2_000

#: Publishes before the first round, which find the code and the memory cold.
WARM = 500


class Server:
    """A daemon in another process, with the hashing embedder; ends with the block."""

    def __init__(self, *, transient: bool = True) -> None:
        """Prepare a home; the daemon starts when it is first needed."""
        # Made before anything is measured.
        self._requests = [_request(number, transient=transient) for number in range(100)]
        self._folder = tempfile.TemporaryDirectory(prefix="cx-")
        self._home = Home.find(self._folder.name)
        self._rounds: list[list[float]] = []
        self._clock: int | None = None
        self._socket: socket.socket | None = None

    def __enter__(self) -> Self:
        """Begin with nothing running."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop the daemon and remove its home."""
        if self._socket is not None:
            self._answers.close()
            self._socket.close()
            self._cortex("stop")
        self._folder.cleanup()

    def start(self) -> None:
        """Start the daemon, connect, and wait until it has nothing else to do."""
        self._cortex("start")
        client = Client(self._home)
        while client.call("status")["model"]["state"] == "loading":
            time.sleep(0.1)
        pid = client.find_pid()
        self._clock = _cpu_clock(pid)
        if pid is not None:
            _keep(_threads(pid), _FIRST_CORE)
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.connect(str(self._home.socket))
        self._answers = self._socket.makefile("rb")
        self._publish(self._socket, WARM)

    def publish(self) -> int:
        """Publish events, each when the one before it was acknowledged."""
        assert self._socket is not None, "start() comes first"
        _keep([0], _FIRST_CORE)
        try:
            self._rounds.append(self._publish(self._socket, PUBLISHES))
        finally:
            _keep([0], _CORES)
        return PUBLISHES

    def spent(self) -> float:
        """Return the daemon's CPU seconds; wall-clock seconds where they cannot be had."""
        return time.perf_counter() if self._clock is None else time.clock_gettime(self._clock)

    def spent_by_both(self) -> float:
        """Return the CPU seconds of the daemon and of this client."""
        return self.spent() + (0.0 if self._clock is None else time.process_time())

    def p99(self) -> float | None:
        """Return the microseconds that 99 of 100 publishes stayed below, in the best round."""
        if not self._rounds:
            return None
        return min(sorted(each)[len(each) * 99 // 100] for each in self._rounds) * 1e6

    def percentiles(self) -> tuple[float, float]:
        """Return the seconds that half of the publishes and 99 of 100 stayed below, of all."""
        took = sorted(seconds for each in self._rounds for seconds in each)
        return took[len(took) // 2], took[len(took) * 99 // 100]

    def _publish(self, to: socket.socket, times: int) -> list[float]:
        """Return the seconds each publish took."""
        took: list[float] = []
        for number in range(times):
            request = self._requests[number % len(self._requests)]
            begun = time.perf_counter()
            to.sendall(request)
            answer = self._answers.readline()
            took.append(time.perf_counter() - begun)
            assert b'"result"' in answer, answer
        return took

    def _cortex(self, word: str) -> None:
        """Run the command line; anything but exit code 0 is an error."""
        subprocess.run(  # noqa: S603 - our own program
            [sys.executable, "-m", "cortex_actors", word],
            check=True,
            stdout=subprocess.DEVNULL,
            env={
                **os.environ,
                "CORTEX_HOME": self._folder.name,
                "CORTEX_EMBEDDING__PROVIDER": "hashing",
            },
            cwd=Path(__file__).parent.parent,
        )


def _request(number: int, *, transient: bool) -> bytes:
    """Return one request as a line."""
    payload = {"path": f"projects/{number}/CLAUDE.md", "sha256": "0" * 64}
    params = {"topic": "custom:bench", "payload": payload, "transient": transient}
    request = {"jsonrpc": "2.0", "id": number, "method": "publish", "params": params}
    return json.dumps(request).encode() + b"\n"


def _threads(pid: int) -> list[int]:
    """Return a process's threads, as Linux numbers them; none elsewhere."""
    return [int(each.name) for each in Path(f"/proc/{pid}/task").glob("*")]


def _keep(threads: list[int], cores: set[int]) -> None:
    """Keep threads on some cores, where the system lets us say so."""
    if sys.platform.startswith("linux"):
        for thread in threads:
            os.sched_setaffinity(thread, cores)


def cpu_seconds(pid: int) -> float:
    """Return the CPU seconds another process has taken; 0 where they cannot be had."""
    clock = _cpu_clock(pid)
    return 0.0 if clock is None else time.clock_gettime(clock)


def _cpu_clock(pid: int | None) -> int | None:
    """Return the clock of another process's CPU time, as Linux numbers it; None elsewhere."""
    if pid is None or not sys.platform.startswith("linux"):
        return None
    return ~pid << 3 | 2


#: The cores we may use, and the one on which the socket is measured.
_CORES = os.sched_getaffinity(0) if sys.platform.startswith("linux") else set()
_FIRST_CORE = {min(_CORES, default=0)}
