"""A disk without room: refused and typed, nobody crashes, and it heals by itself."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from cortex_actors.client.connection import Client
from cortex_actors.errors import HomeUnwritable, StorageFull, StorageReadOnly
from tests.faults.ground import Said, failing, fill, remount, started
from tests.process.commands import until

if TYPE_CHECKING:
    from pathlib import Path

    from tests.process.commands import Commands

pytestmark = pytest.mark.slow

#: Seconds after which writing works again once there is room.
HEALED = 5.0


def restarts(node: dict[str, object]) -> int:
    """Return how often anything in a tree was restarted."""
    children: list[dict[str, object]] = node["children"]  # type: ignore[assignment]
    return int(str(node["restarts"])) + sum(restarts(child) for child in children)


class TestFull:
    def test_whole_daemon(self, small: Path, cortex: Commands, tmp_path: Path) -> None:
        """On a full disk writes fail typed, reads go on, nobody restarts, and room heals it."""
        (tmp_path / "CLAUDE.md").write_text("# Rules\n\nTest with pytest.\n")
        started(cortex)
        client, said = Client(small), Said(small)
        client.call("add_project", path=str(tmp_path))
        until(lambda: client.call("insights")["total"] == 1, "the first insight")
        said.say(20)
        room = fill(small)
        said.say(20)
        (tmp_path / "CLAUDE.md").write_text("# Rules\n\nTest with unittest.\n")
        until(lambda: said.accepted() or said.status()["state"] == "degraded", "degraded")
        status, reads = said.status(), client.call("insights")["total"]
        again = restarts(client.call("tree")["root"])
        room.unlink()
        begun = time.monotonic()
        until(said.accepted, "room to be noticed")
        took = time.monotonic() - begun
        until(lambda: "unittest" in str(client.call("insights")), "the change to be learnt")
        until(lambda: said.status()["writing"] == {"state": "ok"}, "the gauge to clear")
        said.report("ENOSPC for a while")

        assert {StorageFull} == {type(error) for error in said.refused}
        assert len(said.acknowledged) >= 20
        assert "failing" == status["writing"]["state"]  # type: ignore[index]
        assert "free some space" in str(status["reasons"])
        assert (1, 0) == (reads, again)
        assert took < HEALED
        assert set() == said.lost()


class TestRefused:
    def test_quota_and_read_only(self, cortex: Commands, tmp_home: Path) -> None:
        """A user without quota and a disk gone read-only are no fault of the disk: both heal."""
        pid, said = started(cortex), Said(tmp_home)
        files = tmp_home / "cortex.db-wal", tmp_home / "cortex.db-probe"
        for name in ("EDQUOT", "EROFS"):
            said.say(3)
            with failing(pid, f"pwrite64,openat:error={name}", *files):
                said.say(2)
                reads = Client(tmp_home).call("insights")["total"]
            until(said.accepted, "the end of the fault to be noticed")
        said.report("EDQUOT and EROFS on every write of the log, for a while")

        expected = [StorageFull] * 2 + [StorageReadOnly] * 2
        assert expected == [type(error) for error in said.refused]
        assert 0 == reads
        assert set() == said.lost()

    def test_read_only_at_start(self, small: Path, cortex: Commands) -> None:
        """A home on a disk that cannot be written starts no daemon, exits 73 and says why."""
        remount(small, "ro")
        done = cortex("start")
        remount(small, "rw")

        assert HomeUnwritable.exit_code == done.returncode
        assert "Read-only file system" in done.stderr
