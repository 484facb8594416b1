"""Publishing while no daemon runs, while one starts, and again after it was killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from cortex_actors.client.connection import Client
from cortex_actors.home import Home
from cortex_actors.storage.ledger import connection
from cortex_actors.storage.ledger.connection import migrate
from tests.process.commands import PATIENCE, Commands, until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.slow

#: Publishers at once; each says so many events, one after the other.
PUBLISHERS, EACH = 20, 2

#: Runs the command in children of one process, because loading it is what takes long. What each
#: prints is written at once: they share a pipe.
PROGRAM = f"""
import os, sys
from cortex_actors.api import events
from cortex_actors.cli import entry, fast
from cortex_actors.storage.ledger import offline
for name in range({PUBLISHERS}):
    if not os.fork():
        sys.stdout = open(1, "w", closefd=False)
        words = ["publish", "custom:race", f"name={{name}}"]
        codes = [entry.main([*words, f"number:={{number}}"]) for number in range({EACH})]
        sys.stdout.flush()
        os._exit(max(codes))
raise SystemExit(max(os.waitstatus_to_exitcode(os.wait()[1]) for _ in range({PUBLISHERS})))
"""


@pytest.fixture
def cortex(tmp_home: Path) -> Iterator[Commands]:
    """Give the command line of a home with a ledger, as a daemon leaves it."""
    commands = Commands(tmp_home)
    path = Home(tmp_home).ledger
    engine = connection.open_writing(path)
    migrate(engine, path)
    engine.dispose()
    yield commands
    commands.clean_up()


def quiet(cortex: Commands) -> bool:
    """Tell whether nothing waits any more."""
    found = cortex.status()
    return found["code"] == 0 and found.get("waiting") == 0


def stored(cortex: Commands, topic: str) -> list[dict[str, Any]]:
    """Return the stored events of a topic."""
    found: list[dict[str, Any]] = Client(cortex.home).call("events", topic=topic, limit=1_000)[
        "events"
    ]
    return found


class TestRace:
    def test_start_in_between(self, cortex: Commands) -> None:
        """Of many who publish while a daemon starts, everybody is told a number, and it is true."""
        process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM],
            env=cortex.env,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        cortex.adopt(process)
        assert process.stdout is not None
        said = [process.stdout.readline()]
        # Those who publish take the lock in turns: a start may find it taken for too long.
        until(lambda: cortex("start").returncode == 0, "the daemon starts")
        rest, errors = process.communicate(timeout=3 * PATIENCE)
        said += rest.splitlines()
        assert [] == [line for line in said if not line.startswith("published ")], errors
        told = {line.split(", ")[1]: line.split()[4] for line in said}
        kept = {f"seq {each['seq']}": each["id"] for each in stored(cortex, "custom:race")}

        assert 0 == process.returncode, errors
        assert PUBLISHERS * EACH == len(said)
        assert "(no daemon runs" in said[0]
        assert kept == told


class TestHandled:
    def test_at_the_next_start(self, cortex: Commands, tmp_path: Path) -> None:
        """What was published after a kill is handled by the daemon that starts next."""
        (tmp_path / "atlas").mkdir()
        cortex("start")
        cortex("init", str(tmp_path / "atlas"))
        until(lambda: quiet(cortex), "all is handled")
        os.kill(cortex.status()["pid"], signal.SIGKILL)
        until(lambda: cortex.status()["code"] == 1, "it is dead")
        done = cortex("publish", "scan:requested", "--idempotency-key", "once")
        cortex("start")
        until(lambda: quiet(cortex), "all is handled")
        again = cortex("publish", "scan:requested", "--idempotency-key", "once")
        (scan,) = stored(cortex, "scan:*")

        assert 0 == done.returncode, done.stderr
        assert done.stdout.endswith("(no daemon runs: the next start has it)\n")
        assert again.stdout.endswith("(said before under this key)\n")
        assert "handled" == scan["state"]
        assert 1 == cortex("logs", "-n", "500").stdout.count(scan["id"])
