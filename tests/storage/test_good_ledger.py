"""A good ledger stays where it is, whatever makes it look damaged for a moment."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from cortex_actors.errors import DiskFault, LedgerDown, StorageReadOnly
from cortex_actors.home import Home
from cortex_actors.storage.ledger import connection as opening
from cortex_actors.storage.ledger import faults, files, recovery
from cortex_actors.storage.ledger.files import Halt, list_beside, open_reader
from cortex_actors.testing import EPOCH
from tests.storage.damage import AFTER, BEFORE, damaged, recovered
from tests.storage.ledgers import Filed, unclosed

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def failing(times: int) -> Callable[[Path], sqlite3.Connection]:
    """Return what opens a ledger, but for so many times: then SQLite has met an error in a read."""
    left = [times]

    def opened(path: Path) -> sqlite3.Connection:
        if not left[0]:
            return open_reader(path)
        left[0] -= 1
        error = sqlite3.DatabaseError("database disk image is malformed")
        error.sqlite_errorname = "SQLITE_CORRUPT"
        raise error

    return opened


class TestUnreadDisk:
    def test_once(self, filed: Filed, monkeypatch: pytest.MonkeyPatch) -> None:
        """One read that failed, which SQLite calls damage, moves nothing."""
        monkeypatch.setattr(files, "open_reader", failing(1))

        assert recovery.make_ready(filed.home, filed.clock) is None
        assert BEFORE + AFTER == filed.count("events")

    def test_for_good(self, filed: Filed, monkeypatch: pytest.MonkeyPatch) -> None:
        """A ledger that the disk does not give moves nothing either, and a person is asked."""

        def unread(_descriptor: int, _most: int) -> bytes:
            raise OSError(5, "Input/output error")

        monkeypatch.setattr(files, "open_reader", failing(9))
        monkeypatch.setattr(os, "read", unread)
        with pytest.raises(DiskFault, match="nothing was moved.*cortex daemon restore"):
            recovery.make_ready(filed.home, filed.clock)

        assert [] == filed.names("*corrupt*")
        assert BEFORE + AFTER == filed.count("events")

    @pytest.mark.parametrize("code", [266, 8458, 7])
    def test_mentioned(self, filed: Filed, monkeypatch: pytest.MonkeyPatch, code: int) -> None:
        """A check that only mentions a page which the disk did not give knows nothing."""
        said = f"SELECT 'Page 274: unable to get the page. error code={code}'"
        monkeypatch.setattr(faults, "_WHOLE", said)
        with pytest.raises(LedgerDown, match="try again") as caught:
            faults.check_whole(filed.path, Halt())

        assert not caught.value.ends_daemon
        assert not faults.name_marker(filed.path).exists()


class TestHalfMade:
    def test_first_transaction(self, filed: Filed, tmp_path: Path) -> None:
        """A power cut in the first transaction of a new ledger leaves one that opens."""
        made, home = tmp_path / "made.db", Home(tmp_path / "cut")
        home.root.mkdir()
        with closing(sqlite3.connect(made, isolation_level=None)) as opened:
            opened.execute("PRAGMA cache_size = 1")  # so that pages are written before the end
            opened.execute("BEGIN")
            opened.execute("CREATE TABLE half (text)")
            opened.executemany("INSERT INTO half VALUES (?)", [("x" * 4_000,)] * 50)
            for end in ("", "-journal"):
                found = made.with_name(made.name + end).read_bytes()
                home.ledger.with_name(home.ledger.name + end).write_bytes(found)
        with (
            closing(open_reader(home.ledger)) as only_reads,
            pytest.raises(sqlite3.OperationalError, match="readonly"),
        ):
            only_reads.execute("SELECT * FROM half")

        assert recovery.make_ready(home, filed.clock) is None
        assert not files.measure_size(home.ledger)


class TestNewer:
    def test_unknown_words(self, filed: Filed) -> None:
        """A newer program's tables may use words that our SQLite does not know."""
        with closing(sqlite3.connect(filed.path, isolation_level=None)) as opened:
            opened.execute("PRAGMA writable_schema = ON")
            opened.execute(
                "UPDATE sqlite_schema SET sql = sql || ' OF TOMORROW' WHERE name = 'projects'"
            )
            opened.execute("PRAGMA user_version = 99")

        assert "" == faults.find_damage(filed.path)


class TestTooLarge:
    def test_suspicion_stays(self, filed: Filed, monkeypatch: pytest.MonkeyPatch) -> None:
        """A suspicion that there was no time to look into is kept for the daemon's own check."""
        monkeypatch.setattr(faults, "_first", lambda *_, **__: None)
        faults.suspect(filed.path, "an error while reading")

        assert "" == faults.find_damage(filed.path)
        assert faults.name_marker(filed.path).exists()


class TestLogAlone:
    def test_is_kept(self, filed: Filed) -> None:
        """What is in the log of a ledger that was moved away is never deleted with it."""
        unclosed(filed, lambda opened: opened.execute("UPDATE owner SET epoch = 9"))
        log = list_beside(filed.path)[0].read_bytes()
        filed.path.unlink()
        recovered(filed)
        engine = opening.open_writing(filed.path)
        opening.find_driver(engine)
        engine.dispose()
        (aside,) = filed.home.root.glob("cortex.db.corrupt-*-wal")

        assert log == aside.read_bytes()
        assert BEFORE == filed.count("events")

    def test_is_named(self, filed: Filed) -> None:
        """The report names the file that is there, or none where nothing was left to keep."""
        unclosed(filed, lambda opened: opened.execute("UPDATE owner SET epoch = 9"))
        filed.path.unlink()
        named = recovered(filed).ledger
        (aside,) = filed.home.root.glob("cortex.db.corrupt-*-wal")
        filed.path.unlink()

        assert str(aside) == named
        assert recovery.recover(filed.home, "it is gone", at=EPOCH).ledger is None


class TestBackups:
    def test_two_tries(self, filed: Filed, monkeypatch: pytest.MonkeyPatch) -> None:
        """A backup that could not be read once is not passed over for an older one."""
        said = iter(["disk I/O error"])
        monkeypatch.setattr(recovery, "find_problem", lambda _: next(said, ""))
        damaged(filed, "no database")

        assert {} == recovered(filed).refused

    def test_no_right(self, filed: Filed, monkeypatch: pytest.MonkeyPatch) -> None:
        """A backup that may not be read stops the recovery: a person can mend that."""
        monkeypatch.setattr("cortex_actors.storage.ledger.recovery.os.access", lambda *_: False)
        damaged(filed, "no database")
        with pytest.raises(StorageReadOnly, match="make it readable"):
            recovery.make_ready(filed.home, filed.clock)

        assert [] == filed.names("*corrupt*")


class TestNoRoomForRows:
    def test_not_given_up(self, filed: Filed, monkeypatch: pytest.MonkeyPatch) -> None:
        """Rows that can be read and find no room on the disk are not reported as lost."""
        filed.say(10 * AFTER)
        damaged(filed, "index leaf")
        connect = sqlite3.connect

        def small(*words: object, **options: object) -> sqlite3.Connection:
            opened: sqlite3.Connection = connect(*words, **options)  # type: ignore[call-overload]
            if str(words[0]).endswith("next.part"):
                (pages,) = opened.execute("PRAGMA page_count").fetchone()
                opened.execute(f"PRAGMA max_page_count = {pages + 1}")
            return opened

        with monkeypatch.context() as patch:
            patch.setattr("cortex_actors.storage.ledger.salvage.sqlite3.connect", small)
            with pytest.raises(LedgerDown, match="bring back"):
                recovery.make_ready(filed.home, filed.clock)
        assert [] == filed.names("*corrupt*")

        assert 11 * AFTER == recovered(filed).salvaged["events"]
