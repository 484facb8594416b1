"""How long a daemon takes to be back after `kill -9`, with a ledger that has been used for long.

The vector index is meanwhile still being told of what the ledger holds, which takes a core: the
harder case, and the one after a crash in which the index was lost, too.
"""

from __future__ import annotations

import os
import random
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.stock import acknowledged, stock
from benchmarks.wire import cpu_seconds
from cortex_actors.client.connection import Client
from cortex_actors.errors import CortexError
from cortex_actors.home import Home

if TYPE_CHECKING:
    from collections.abc import Callable

#: Seconds a start may take before the benchmark gives up.
LIMIT = 60.0

#: Seconds between two tries to reach the daemon.
LOOK = 0.02

#: Seconds of writing before a kill, between these two.
SOONEST, LATEST = 0.2, 0.8


@dataclass(slots=True)
class Recovery:
    """What the kills showed: seconds from the start of the new process."""

    status: list[float] = field(default_factory=list)
    publish: list[float] = field(default_factory=list)
    #: CPU seconds of the daemon until then.
    spent: list[float] = field(default_factory=list)
    #: Events whose publish was answered, and those of them that the ledger lacks.
    said: list[str] = field(default_factory=list)
    lost: int = 0


def recover(rows: int, kills: int) -> Recovery:
    """Stock a home, then kill a daemon that is writing, and start it again, so many times."""
    found = Recovery()
    with tempfile.TemporaryDirectory(prefix="cx-") as folder:
        home = Home.find(folder)
        stock(home.ledger, rows)
        chance = random.Random(1)  # when to kill
        process = _started(folder)
        try:
            client = Client(home)
            _until(lambda: _said(client, found))
            for _ in range(kills):
                _kill_while_writing(process, client, found, chance.uniform(SOONEST, LATEST))
                begun = time.perf_counter()
                process = _started(folder)
                _until(lambda: client.call("status"))
                found.status.append(time.perf_counter() - begun)
                _until(lambda: _said(client, found))
                found.publish.append(time.perf_counter() - begun)
                found.spent.append(cpu_seconds(process.pid))
        finally:
            process.terminate()
            process.wait()
        ledger = sqlite3.connect(home.ledger)
        found.lost = len(set(found.said) - acknowledged(ledger))
        ledger.close()
    return found


def _kill_while_writing(
    process: subprocess.Popen[bytes], client: Client, found: Recovery, seconds: float
) -> None:
    """Publish from a thread for so long, then kill the daemon in the middle of it."""

    def write() -> None:
        try:
            while True:
                _said(client, found)
        except CortexError:
            return  # it is gone

    writing = threading.Thread(target=write)
    writing.start()
    time.sleep(seconds)
    process.kill()
    process.wait()
    writing.join()


def _said(client: Client, found: Recovery) -> bool:
    """Publish, and note that it was acknowledged."""
    found.said.append(_publish(client))
    return True


def _publish(client: Client) -> str:
    """Publish a durable event; return its id, once it was acknowledged."""
    answer = client.call("publish", topic="custom:bench", payload={"number": 1})
    return str(answer["id"])


def _started(folder: str) -> subprocess.Popen[bytes]:
    """Start a daemon with the hashing embedder, as `cortex run` does."""
    env = {**os.environ, "CORTEX_HOME": folder, "CORTEX_EMBEDDING__PROVIDER": "hashing"}
    return subprocess.Popen(
        [sys.executable, "-m", "cortex_actors", "run"],
        env=env,
        cwd=Path(__file__).parent.parent,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def _until(tried: Callable[[], Any]) -> None:
    """Try until it goes; raises `TimeoutError` when it never does."""
    end = time.monotonic() + LIMIT
    while time.monotonic() < end:
        try:
            if tried():
                return
        except CortexError:
            pass  # not there yet
        time.sleep(LOOK)
    raise TimeoutError("the daemon did not come back")
