"""One unit of work in a ledger that nobody has open."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from cortex_actors.errors import (
    BadInput,
    ConfigurationError,
    DaemonDown,
    DiskFault,
    LedgerBusy,
    StoreTooNew,
    StoreTooOld,
)
from cortex_actors.storage.ledger import backups, connection, offline
from cortex_actors.storage.ledger.connection import migrate
from cortex_actors.storage.ledger.files import OLDEST_SCHEMA, SCHEMA_VERSION
from cortex_actors.testing import EPOCH
from tests.storage.later import become_later

if TYPE_CHECKING:
    from sqlalchemy import Connection

NOTE = "INSERT INTO index_ops (collection, item_id, op) VALUES ('c', 'x', 'put')"


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a ledger with nothing in it, which was closed in order."""
    path = tmp_path_factory.mktemp("empty") / "cortex.db"
    engine = connection.open_writing(path)
    migrate(engine, path)
    engine.dispose()
    return path


@pytest.fixture
def ledger(tmp_path: Path, empty: Path) -> Path:
    """Give the path of a ledger with nothing in it."""
    return Path(shutil.copy(empty, tmp_path / "cortex.db"))


def note(opened: Connection) -> int:
    """Have an effect; return what comes of it."""
    opened.exec_driver_sql(NOTE)
    return 7


def notes(path: Path) -> int:
    """Return how many effects there are."""
    with closing(sqlite3.connect(path)) as opened:
        return int(opened.execute("SELECT count(*) FROM index_ops").fetchone()[0])


def marked(path: Path, version: int) -> Path:
    """Return the ledger, which says now that it has that version."""
    with closing(sqlite3.connect(path)) as opened:
        opened.execute(f"PRAGMA user_version = {version}")
    return path


class TestCommit:
    def test_kept(self, ledger: Path) -> None:
        """The unit's value comes back, its effect is kept, and no log is left beside the file."""
        assert 7 == offline.commit(ledger, note)
        assert 1 == notes(ledger)
        assert ["cortex.db"] == [each.name for each in ledger.parent.iterdir()]

    def test_undone(self, ledger: Path) -> None:
        """A unit that raises leaves nothing behind."""

        def bad(opened: Connection) -> None:
            note(opened)
            raise BadInput("no")

        with pytest.raises(BadInput):
            offline.commit(ledger, bad)

        assert 0 == notes(ledger)

    def test_after_a_crash(self, ledger: Path) -> None:
        """What a killed daemon has committed is there, and stays."""
        with closing(sqlite3.connect(ledger)) as killed:
            killed.execute(NOTE)
            killed.commit()
            log = ledger.with_name("cortex.db-wal")
            saved = ledger.read_bytes(), log.read_bytes()
        ledger.write_bytes(saved[0])
        log.write_bytes(saved[1])
        offline.commit(ledger, note)

        assert 2 == notes(ledger)


class TestRefused:
    def test_no_ledger(self, tmp_path: Path) -> None:
        """Where there is no ledger none is made."""
        with pytest.raises(DaemonDown, match='"cortex start"'):
            offline.commit(tmp_path / "cortex.db", note)

        assert [] == list(tmp_path.iterdir())

    def test_gone(self, ledger: Path) -> None:
        """Where a ledger is gone and its backups are not, the next start has to restore it."""
        backups.take(ledger, ledger.with_name("backups"), at=EPOCH)
        ledger.unlink()
        with pytest.raises(DiskFault, match="it is gone.*cortex start"):
            offline.commit(ledger, note)

        assert not ledger.exists()

    def test_older(self, ledger: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """A ledger of an older version is not migrated: a start does that."""
        become_later(ledger.with_name("later"), monkeypatch.setattr)
        with pytest.raises(ConfigurationError, match="cortex start") as caught:
            offline.commit(ledger, note)

        assert not isinstance(caught.value, StoreTooNew)
        assert 0 == notes(ledger)

    def test_older_than_the_baseline(self, ledger: Path) -> None:
        """A ledger from before the baseline is left alone: no start of this version migrates it."""
        marked(ledger, OLDEST_SCHEMA - 1)
        before = ledger.read_bytes()
        with pytest.raises(StoreTooOld, match="start it once with the last version that reads it"):
            offline.commit(ledger, note)

        assert before == ledger.read_bytes()

    def test_newer(self, ledger: Path) -> None:
        """A ledger of a newer version is left alone."""
        marked(ledger, SCHEMA_VERSION + 1)
        with pytest.raises(StoreTooNew, match="install the newer"):
            offline.commit(ledger, note)

        assert 0 == notes(ledger)

    def test_damaged(self, ledger: Path) -> None:
        """A damaged ledger is not written, and not recovered either."""
        ledger.write_bytes(b"no ledger" * 1_000)
        with pytest.raises(DiskFault, match="the next start recovers it"):
            offline.commit(ledger, note)

        assert ledger.read_bytes().startswith(b"no ledger")

    def test_locked(self, ledger: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """A ledger that another program holds locked is busy."""
        monkeypatch.setattr(connection.open_writing, "__defaults__", (0.01,))
        with closing(sqlite3.connect(ledger, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(LedgerBusy, match="holds it locked"):
                offline.commit(ledger, note)
            other.execute("ROLLBACK")

        assert 0 == notes(ledger)
