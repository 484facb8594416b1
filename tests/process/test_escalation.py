"""What nobody in the tree can mend becomes the end of the daemon, which says who was to blame."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing, suppress

import pytest

from cortex_actors.client.connection import Client
from cortex_actors.errors import DaemonDown, UnknownActor
from tests.process.commands import PATIENCE, Commands, until

pytestmark = pytest.mark.slow


def crash_for_ever(client: Client, name: str) -> bool:
    """Crash an actor once more; say whether the daemon has ended over it."""
    try:
        with suppress(UnknownActor):
            client.call("crash", name=name)
    except DaemonDown:
        return True
    return False


class TestGivingUp:
    def test_actor(self, cortex: Commands) -> None:
        """An actor that always crashes ends the daemon with 1, and `status` says which and why."""
        cortex.env["CORTEX_DEBUG"] = "1"
        daemon = cortex.spawn("run")
        cortex.wait()
        client = Client(cortex.home)
        until(lambda: crash_for_ever(client, "cache"), "the end of the daemon")
        _, err = daemon.communicate(timeout=PATIENCE)
        status = cortex("status")

        why = "the tree gave up: embedding/cache crashed too often"
        assert 1 == daemon.returncode
        assert why in err.splitlines()[-1]
        assert 1 == status.returncode
        assert re.search(rf"^because +{re.escape(why)}", status.stdout, re.MULTILINE)
        assert "cache was asked to crash" in status.stdout

    def test_comes_back(self, cortex: Commands) -> None:
        """After such an end the next start is a start like any other."""
        cortex.env["CORTEX_DEBUG"] = "1"
        cortex("start")
        client = Client(cortex.home)
        until(lambda: crash_for_ever(client, "cache"), "the end of the daemon")
        until(lambda: 1 == cortex.status()["code"], "a crash")
        done = cortex("start")

        assert 0 == done.returncode, done.stderr
        assert 0 == cortex.status()["code"]


class TestStart:
    def test_newer_ledger(self, cortex: Commands) -> None:
        """A ledger that a newer program wrote keeps the daemon from starting; `start` says so."""
        with closing(sqlite3.connect(cortex.home / "cortex.db")) as ledger:
            ledger.execute("PRAGMA user_version = 1000")
            ledger.execute("CREATE TABLE anything (id)")
        done = cortex("start")

        assert 0 != done.returncode
        assert 1 == done.stderr.count("\n")
        assert done.stderr.startswith("cortex: the daemon did not start: ")
        assert "cortex.db" in done.stderr
        assert 0 != cortex.status()["code"]

    def test_older_ledger(self, cortex: Commands) -> None:
        """A ledger from before the baseline keeps the daemon from starting, with the way out."""
        with closing(sqlite3.connect(cortex.home / "cortex.db")) as ledger:
            ledger.execute("PRAGMA journal_mode = WAL")
            ledger.execute("PRAGMA user_version = 3")
            ledger.execute("CREATE TABLE anything (id)")
        before = (cortex.home / "cortex.db").read_bytes()
        done = cortex("start")
        ran = cortex("run")

        assert (78, 78) == (done.returncode, ran.returncode)
        assert "cortex.db: it has schema version 3, this program reads 7 and newer" in done.stderr
        assert "start it once with the last version that reads it" in done.stderr
        assert before == (cortex.home / "cortex.db").read_bytes()
