"""Copies of the ledger: whole, checked, private, and made while it is written."""

from __future__ import annotations

import os
import shutil
import sqlite3
import stat
import threading
from contextlib import closing
from typing import TYPE_CHECKING, NamedTuple

import pytest

from cortex_actors.clock import SECOND, SystemClock
from cortex_actors.errors import BadInput, LedgerDown, NotFound, StorageFull
from cortex_actors.rules.decay import BACKUP_HOUR
from cortex_actors.storage.ledger import backups
from cortex_actors.storage.ledger.backups import copy, find_problem
from cortex_actors.storage.ledger.files import Halt, format_stamp
from cortex_actors.testing import EPOCH
from tests.storage.ledgers import Filed

if TYPE_CHECKING:
    from pathlib import Path


class Usage(NamedTuple):
    """What a disk has."""

    total: int
    used: int
    free: int


@pytest.fixture
def filed(tmp_path: Path) -> Filed:
    """Give a ledger with some events."""
    return Filed(tmp_path, events=20)


def rows(path: Path, table: str = "events") -> int:
    """Return how many rows a copy has, leaving nothing beside it."""
    with closing(sqlite3.connect(f"file:{path}?immutable=1", uri=True)) as opened:
        return int(opened.execute(f"SELECT count(*) FROM {table}").fetchone()[0])  # noqa: S608 - ours


class TestTake:
    def test_whole(self, filed: Filed) -> None:
        """A backup holds everything, is the owner's alone, and nothing else is left."""
        made = backups.take(filed.path, filed.home.backups, at=EPOCH)

        assert made is not None
        assert 20 == rows(made.path)
        assert "" == find_problem(made.path)
        assert 0o600 == stat.S_IMODE(made.path.stat().st_mode)
        assert 0o700 == stat.S_IMODE(filed.home.backups.stat().st_mode)
        assert [made.path.name] == [each.name for each in filed.home.backups.iterdir()]

    def test_wal(self, filed: Filed) -> None:
        """What still lies in the WAL is in the backup, too."""
        with closing(sqlite3.connect(filed.path)) as opened:
            opened.execute("PRAGMA wal_autocheckpoint = 0")
            with opened:
                opened.execute("DELETE FROM deliveries WHERE seq <= 5")
            made = backups.take_now(filed.path, filed.home.backups, at=EPOCH)

        assert 15 == rows(made.path, "deliveries")

    def test_written_by_hand(self, filed: Filed) -> None:
        """A row whose owner somebody deleted by hand keeps nobody from having backups."""
        filed.run("DELETE FROM events WHERE seq = 1")
        made = backups.take_now(filed.path, filed.home.backups, at=EPOCH)

        assert (19, 20) == (rows(made.path), rows(made.path, "deliveries"))

    def test_not_written(self, filed: Filed) -> None:
        """Nothing is copied twice: only what was written since the newest one is news."""
        for path in (filed.path, filed.home.root):
            os.utime(path, ns=(EPOCH * 1_000, EPOCH * 1_000))
        taken = [
            backups.take(filed.path, filed.home.backups, at=EPOCH + each * BACKUP_HOUR)
            for each in (1, 2)
        ]
        filed.say(1)
        taken.append(backups.take(filed.path, filed.home.backups, at=EPOCH + 3 * BACKUP_HOUR))

        assert [True, False, True] == [each is not None for each in taken]

    def test_same_tick(self, filed: Filed) -> None:
        """A write in the very moment of the backup is not taken for one that is in it."""
        now = SystemClock().now()
        os.utime(filed.path)
        first = backups.take(filed.path, filed.home.backups, at=now)
        second = backups.take(filed.path, filed.home.backups, at=now + SECOND)

        assert first is not None
        assert second is not None

    def test_once_an_hour(self, filed: Filed, monkeypatch: pytest.MonkeyPatch) -> None:
        """The first copy of each hour is checked as a whole, and so is what a user asks for."""
        looked: list[bool] = []

        def noted(_path: Path, *, quick: bool = False) -> str:
            looked.append(quick)
            return ""

        monkeypatch.setattr(backups, "find_problem", noted)
        for minutes in (0, 4, 8, 64, 68):
            filed.say(1)
            backups.take(filed.path, filed.home.backups, at=EPOCH + minutes * 60 * SECOND)
        backups.take_now(filed.path, filed.home.backups, at=EPOCH + BACKUP_HOUR)

        assert [False, True, True, False, True, False] == looked

    def test_no_ledger(self, tmp_path: Path) -> None:
        """Where there is no ledger, nothing is copied, and asking for it says so."""
        assert backups.take(tmp_path / "cortex.db", tmp_path / "backups", at=EPOCH) is None
        with pytest.raises(NotFound, match="no ledger"):
            backups.take_now(tmp_path / "cortex.db", tmp_path / "backups", at=EPOCH)

    def test_leftovers(self, filed: Filed) -> None:
        """What a crash left half made is gone after the next backup, and is never listed."""
        backups.prepare(filed.home.backups)
        (filed.home.backups / "cortex-20260101T000000Z.db.part").write_bytes(b"half")
        listed = backups.list_backups(filed.home.backups)
        backups.take(filed.path, filed.home.backups, at=EPOCH)

        assert [] == listed
        assert 1 == len(list(filed.home.backups.iterdir()))


class TestCopy:
    @pytest.mark.slow
    def test_under_load(self, tmp_path: Path) -> None:
        """However much is written meanwhile, a copy ends, is of one moment, and stalls nobody."""
        filed, clock = Filed(tmp_path), SystemClock()
        filed.run("CREATE TABLE ballast (n INTEGER PRIMARY KEY, text BLOB)")
        with closing(sqlite3.connect(filed.path)) as opened, opened:
            opened.executemany("INSERT INTO ballast (text) VALUES (?)", [(bytes(40_000),)] * 500)
        stop, waits = threading.Event(), [0.0]

        def write() -> None:
            with closing(sqlite3.connect(filed.path, isolation_level=None)) as opened:
                while not stop.is_set():
                    begun = clock.monotonic()
                    opened.execute("BEGIN IMMEDIATE")
                    opened.execute("UPDATE owner SET pid = pid + 1")
                    opened.execute("UPDATE owner SET started_at = pid")
                    opened.execute("COMMIT")
                    waits.append(clock.monotonic() - begun)

        thread = threading.Thread(target=write)
        thread.start()
        try:
            copy(filed.path, tmp_path / "copy.db")
        finally:
            stop.set()
            thread.join()
        with closing(sqlite3.connect(tmp_path / "copy.db")) as opened:
            pid, started_at = opened.execute("SELECT pid, started_at FROM owner").fetchone()

        said = f"{len(waits)} commits meanwhile, the longest took {max(waits) * 1_000:.1f} ms"
        print(said)  # noqa: T201 - a figure for the log
        assert pid == started_at
        assert len(waits) > 5
        assert max(waits) < 1.0

    def test_called_off(self, filed: Filed, tmp_path: Path) -> None:
        """A copy that is called off leaves nothing, and no later one begins."""
        halt = Halt()
        halt.ask()
        with pytest.raises(LedgerDown, match="called off"):
            copy(filed.path, tmp_path / "copy.db", halt=halt)

        assert [] == filed.names("copy*")

    def test_full(self, filed: Filed, monkeypatch: pytest.MonkeyPatch) -> None:
        """Where there is no room nothing is begun: the ledger needs the rest for itself."""
        monkeypatch.setattr(shutil, "disk_usage", lambda _: Usage(1, 1, backups.MARGIN))
        with pytest.raises(StorageFull, match=r"cortex daemon backup --to PATH"):
            backups.take(filed.path, filed.home.backups, at=EPOCH)

        assert [] == list(filed.home.backups.iterdir())

    def test_damaged(self, filed: Filed) -> None:
        """A copy of a damaged ledger is not kept, because it would be taken for a good one."""
        filed.overwrite(filed.root_of("events"), bytes(4_096))
        with pytest.raises(LedgerDown, match="cannot keep the copy"):
            backups.take(filed.path, filed.home.backups, at=EPOCH)

        assert [] == backups.list_backups(filed.home.backups)

    @pytest.mark.parametrize(
        ("content", "why"),
        [(b"", "no ledger"), (b"# notes\n" * 900, "not a database"), (None, "unable to open")],
    )
    def test_problem(self, tmp_path: Path, content: bytes | None, why: str) -> None:
        """What is no ledger is no good copy, and says why."""
        path = tmp_path / "copy.db"
        if content is not None:
            path.write_bytes(content)

        assert why in find_problem(path)


class TestTakeTo:
    def test_file(self, filed: Filed, tmp_path: Path) -> None:
        """A copy may be made anywhere, as a new file or into a folder."""
        (tmp_path / "disk").mkdir()
        made = [
            backups.take_to(filed.path, tmp_path / "mine.db", at=EPOCH),
            backups.take_to(filed.path, tmp_path / "disk", at=EPOCH),
        ]

        assert [20, 20] == [rows(each.path) for each in made]
        assert tmp_path / "disk" == made[1].path.parent

    def test_taken(self, filed: Filed, tmp_path: Path) -> None:
        """Nothing is overwritten, and no folder is made."""
        with pytest.raises(BadInput, match="give a new name"):
            backups.take_to(filed.path, filed.path, at=EPOCH)
        with pytest.raises(NotFound, match="no folder"):
            backups.take_to(filed.path, tmp_path / "no" / "mine.db", at=EPOCH)


class TestTidy:
    def test_kept(self, filed: Filed) -> None:
        """Of many hourly copies the last hours and days stay; those of migrations do not count."""
        backups.prepare(filed.home.backups)
        for each in range(100):
            name = f"cortex-{format_stamp(EPOCH - each * BACKUP_HOUR)}.db"
            (filed.home.backups / name).write_bytes(b"copy")
        (filed.home.backups / "before-v1-20200101T000000Z.db").write_bytes(b"copy")
        gone = backups.tidy(filed.home.backups, now=EPOCH, hourly=24, daily=3)
        left = backups.list_backups(filed.home.backups)

        assert [25, 1] == [sum(each.migrated is kind for each in left) for kind in (False, True)]
        assert 75 == len(gone)
        assert EPOCH // SECOND * SECOND == left[0].at

    def test_asked_for(self, filed: Filed) -> None:
        """What a user asked for is not pushed out by what the schedule makes in the same hour."""
        folder = filed.home.backups
        mine = backups.take_now(filed.path, folder, at=EPOCH)
        filed.say(1)
        newer = backups.take(filed.path, folder, at=EPOCH + 240 * SECOND)
        filed.say(1)
        newest = backups.take(filed.path, folder, at=EPOCH + 480 * SECOND)
        gone = backups.tidy(folder, now=EPOCH + 480 * SECOND, hourly=24, daily=7)

        assert newer is not None
        assert newest is not None
        assert [newest.path, mine.path] == [each.path for each in backups.list_backups(folder)]
        assert [newer.path] == gone

    @pytest.mark.parametrize(
        ("age", "others", "stays"), [(6, 1, True), (8, 1, False), (8, 9, True)]
    )
    def test_asked_for_ends(self, filed: Filed, age: int, others: int, stays: bool) -> None:
        """It goes after the days of which copies are kept, unless there is no newer one."""
        backups.prepare(filed.home.backups)
        for kind, days in (("manual", age), ("cortex", others)):
            name = f"{kind}-{format_stamp(EPOCH - days * 24 * BACKUP_HOUR)}.db"
            (filed.home.backups / name).write_bytes(b"copy")
        gone = backups.tidy(filed.home.backups, now=EPOCH, hourly=24, daily=7)

        assert stays == (not gone)

    def test_migrations(self, filed: Filed) -> None:
        """Of the copies from before migrations the last three stay."""
        for each in range(5):
            backups.copy_before_migration(
                filed.path, version=each + 1, at=EPOCH + each * BACKUP_HOUR
            )
        names = [each.path.name[:9] for each in backups.list_backups(filed.home.backups)]

        assert ["before-v5", "before-v4", "before-v3"] == names

    def test_age(self, filed: Filed) -> None:
        """The newest copy's age is never below zero, whatever the clock did."""
        folder = filed.home.backups
        ages = [backups.compute_age(folder, EPOCH)]
        backups.take(filed.path, folder, at=EPOCH)
        ages += [
            backups.compute_age(folder, EPOCH + BACKUP_HOUR),
            backups.compute_age(folder, EPOCH - BACKUP_HOUR),
        ]

        assert ages[0] is None
        assert [3_600, 0] == [round(each or 0) for each in ages[1:]]
