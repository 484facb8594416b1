"""A disk that fails, and a home that another daemon has taken: the daemon ends by itself."""

from __future__ import annotations

import os
import signal
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from cortex_actors.client.connection import Client
from cortex_actors.errors import DiskFault, LedgerBusy, Superseded
from cortex_actors.home import Home
from cortex_actors.process import lock
from tests.faults.ground import Said, ended, failing, started
from tests.process.commands import until

if TYPE_CHECKING:
    from pathlib import Path

    from tests.process.commands import Commands

pytestmark = pytest.mark.slow


class TestFault:
    def test_failed_sync(self, cortex: Commands, tmp_home: Path) -> None:
        """After a failed fsync nothing is acknowledged: the daemon exits 70, the next has all."""
        daemon, said = cortex.spawn("run"), Said(tmp_home)
        cortex.wait()
        said.say(10)
        with failing(daemon.pid, "fsync,fdatasync:error=EIO"):
            said.say(3)
            ended(daemon.pid)
        _, errors = daemon.communicate()
        status, log = cortex.status(), (tmp_home / "logs/cortex.ndjson").read_text()
        started(cortex)
        said.say(2)
        said.report("EIO on every fsync")

        assert DiskFault.exit_code == daemon.returncode
        assert "nothing more is acknowledged" in errors
        assert "crashed" == status["state"]
        assert "SQLITE_IOERR_FSYNC" in str(status)
        assert "actor:restarted" not in log
        assert DiskFault is type(said.refused[0])
        assert (12, 3) == (len(said.acknowledged), len(said.refused))
        assert set() == said.lost()


class TestLocked:
    def test_by_another_process(self, cortex: Commands, tmp_home: Path) -> None:
        """While another process has the ledger locked, writes are refused and reads go on."""
        cortex.env["CORTEX_STORAGE__BUSY_TIMEOUT_S"] = "0.2"
        said = Said(tmp_home)
        started(cortex)
        said.say(2)
        with closing(sqlite3.connect(tmp_home / "cortex.db", isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            said.say()
            listed = Client(tmp_home).call("events", topic="custom:*")["events"]
            other.execute("ROLLBACK")
        until(said.accepted, "it goes on by itself")
        said.report("the ledger locked by another process")

        assert LedgerBusy is type(said.refused[0])
        assert "fuser -v" in str(said.refused[0])
        assert 2 == len(listed)
        assert set() == said.lost()


class TestSuperseded:
    @pytest.mark.parametrize("paused", [False, True])
    def test_ends_by_itself(
        self, cortex: Commands, tmp_home: Path, tmp_path: Path, *, paused: bool
    ) -> None:
        """One whose home was taken writes nothing, exits 75, and leaves the other its files."""
        (tmp_path / "CLAUDE.md").write_text("# Rules\n\nTest with pytest.\n")
        old = cortex.spawn("run")
        cortex.wait()
        Client(tmp_home).call("add_project", path=str(tmp_path))
        if paused:
            os.kill(old.pid, signal.SIGSTOP)
        (tmp_home / "cortex.lock").unlink()
        new, said = started(cortex), Said(tmp_home)
        (tmp_path / "CLAUDE.md").write_text("# Rules\n\nTest with unittest.\n")
        os.kill(old.pid, signal.SIGCONT)
        ended(old.pid)
        _, errors = old.communicate()
        said.say(3)
        status, owner = cortex.status(), lock.read(Home(tmp_home))
        said.report(f"the lock file replaced{', the old owner paused' if paused else ''}")

        assert Superseded.exit_code == old.returncode
        assert f"another daemon owns it (pid {new}, epoch 2, ours is 1)" in errors
        assert (new, 0) == (status["pid"], status["code"])
        assert (new, "running") == (owner.pid, owner.state)
        assert 3 == len(said.acknowledged)
        assert set() == said.lost()
