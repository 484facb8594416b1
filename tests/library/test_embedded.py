"""A memory without a daemon: its tree lives in the program, and leaves nothing of itself."""

from __future__ import annotations

import asyncio
import logging
import os
import subprocess
import sys
import threading
from typing import TYPE_CHECKING

import pytest

from cortex_actors import AsyncCortex, Cortex
from cortex_actors.errors import AlreadyRunning, DaemonDown
from cortex_actors.home import Home
from cortex_actors.process import lock
from tests.process.commands import ROOT

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("hashing")]

#: A program that forgets to close its memory.
FORGETFUL = """
import sys
from cortex_actors import Cortex
cortex = Cortex(sys.argv[1], embedded=True)
print(cortex.remember("The kettle is blue.").state)
"""


class TestLife:
    def test_leaves_nothing(self, tmp_home: Path, capfd: pytest.CaptureFixture[str]) -> None:
        """It prints nothing, and its end leaves no thread, no lock and no loggers of its own."""
        before, logger = set(threading.enumerate()), logging.getLogger("cortex")
        logged = (logger.level, logger.propagate, list(logger.handlers))
        with Cortex(tmp_home, embedded=True) as cortex:
            saved = cortex.remember("The kettle is blue.")
            assert saved.id == cortex.search("kettle")[0].id
        cortex.close()

        # One that was there before may have ended meanwhile.
        assert set() == set(threading.enumerate()) - before
        assert lock.HomeState.STOPPED == lock.read_state(Home(tmp_home))
        assert logged == (logger.level, logger.propagate, list(logger.handlers))
        assert ("", "") == capfd.readouterr()
        with pytest.raises(DaemonDown, match="has ended: the program closed it"):
            cortex.search("kettle")

    async def test_several_loops(self, tmp_home: Path) -> None:
        """One that is awaited outlives the loop that began it."""
        cortex = AsyncCortex(tmp_home, embedded=True)
        await cortex.remember("The kettle is blue.")
        found = await asyncio.to_thread(asyncio.run, _searched(cortex))
        await cortex.close()

        assert ["The kettle is blue."] == found

    def test_one_owner(self, tmp_home: Path) -> None:
        """A home has one: another program that embeds it is refused, and told why."""
        with (
            Cortex(tmp_home, embedded=True),
            pytest.raises(AlreadyRunning, match="another program has it embedded"),
        ):
            Cortex(tmp_home, embedded=True)

    def test_fork(self, tmp_home: Path) -> None:
        """A fork is told that it has no memory, and does not keep the home's lock."""
        (hears, says), (waits, lets_go) = os.pipe(), os.pipe()
        with Cortex(tmp_home, embedded=True) as cortex:
            if (child := os.fork()) == 0:  # pragma: no cover - the child
                os.close(lets_go)
                _in_fork(cortex, says, waits)
        said = os.read(hears, 1_000).decode()
        # The child is still there.
        lock.acquire(Home(tmp_home)).close()
        for each in (hears, says, waits, lets_go):
            os.close(each)
        os.waitpid(child, 0)

        assert "of which this is a fork" in said

    def test_forgotten(self, tmp_home: Path) -> None:
        """A program that ends without closing it ends well, and keeps what was answered."""
        env = {**os.environ, "PYTHONPATH": str(ROOT)}
        done = subprocess.run(
            [sys.executable, "-c", FORGETFUL, str(tmp_home)],
            env=env,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        log = (tmp_home / "logs" / "cortex.ndjson").read_text()

        assert (0, "saved\n", "") == (done.returncode, done.stdout, done.stderr)
        assert "error" not in {line.split('"level": "')[1].split('"')[0] for line in _lines(log)}
        assert not (tmp_home / "cortex.db-wal").exists()


async def _searched(cortex: AsyncCortex) -> list[str]:
    """Return what is found on another loop."""
    return [hit.text for hit in await cortex.search("kettle")]


def _lines(log: str) -> list[str]:
    """Return the records of a log."""
    return [line for line in log.splitlines() if '"level"' in line]


def _in_fork(cortex: Cortex, says: int, waits: int) -> None:
    """Say what a fork is told, and stay until the parent lets go."""
    try:
        cortex.search("kettle")
    except DaemonDown as error:
        os.write(says, str(error).encode())
    finally:
        os.read(waits, 1)
        os._exit(0)
