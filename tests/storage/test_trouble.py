"""What the ledger's actor does while its disk gives trouble."""

from __future__ import annotations

import gc
import shutil
import sqlite3
import threading
from contextlib import closing, contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy.exc import OperationalError

from cortex_actors.errors import (
    DeadlineExceeded,
    DiskFault,
    LedgerBusy,
    StorageFull,
    Superseded,
)
from cortex_actors.runtime.names import NamedActor
from cortex_actors.storage.ledger import actor as module
from cortex_actors.storage.ledger import writer
from cortex_actors.testing import eventually
from tests.storage.support import Store, opened

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from sqlalchemy import Connection

NOTE = "INSERT INTO index_ops (collection, item_id, op) VALUES ('c', 'x', 'put')"
COUNT = "SELECT count(*) FROM index_ops"


def note(connection: Connection) -> int:
    """Write one row."""
    return connection.exec_driver_sql(NOTE).rowcount


def broken(name: str) -> OperationalError:
    """Return what a disk's failure looks like."""
    error = sqlite3.OperationalError("disk I/O error")
    error.sqlite_errorname = name
    return OperationalError("INSERT", {}, error)


@contextmanager
def held(path: Path) -> Iterator[sqlite3.Connection]:
    """Hold the ledger locked, as another process would."""
    with closing(sqlite3.connect(path, isolation_level=None, check_same_thread=False)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield other


@pytest.fixture(autouse=True)
def _hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look often whether the disk is well again."""
    monkeypatch.setattr(writer, "NUDGE", 0.02)


class TestLocked:
    async def test_latency_only(self, store: Store) -> None:
        """A ledger that another process holds for a while is written late, and read meanwhile."""
        with held(store.home.ledger) as other:
            timer = threading.Timer(0.15, other.execute, ["ROLLBACK"])
            timer.start()
            rows = await store.rows(COUNT)
            written = await store.write(note)
            timer.join()

        assert ([(0,)], 1) == (rows, written)

    async def test_too_long(self, tmp_path: Path) -> None:
        """Held for longer it is a typed error, `status` knows, and it heals by itself."""
        async with opened(tmp_path, busy_timeout_s=0.03) as store:
            gauge = partial(NamedActor[Any]("ledger", store.names).ask, module.Ledger.describe)
            with held(store.home.ledger):
                with pytest.raises(LedgerBusy, match=r"fuser -v .*cortex\.db"):
                    await store.write(note)
                trouble = await gauge()
                rows = await store.rows(COUNT)

            async def well() -> bool:
                return bool((await gauge())["state"] == "ok")

            await eventually(well)
            written = await store.write(note)

        assert ("failing", "LedgerBusy") == (trouble["state"], trouble["error"])
        assert ([(0,)], 1) == (rows, written)

    async def test_at_the_start(self, tmp_path: Path) -> None:
        """A ledger that is held while it is opened names the file and how to find who holds it."""
        async with opened(tmp_path):
            pass
        store = Store(tmp_path, busy_timeout_s=0.03)
        with (
            held(store.home.ledger),
            pytest.raises(LedgerBusy, match=r"cannot open .*cortex\.db.*lsof"),
        ):
            await store.open()


class TestLowWater:
    async def test_only_work_in_hand(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """On a nearly full disk new work is refused and work in hand is finished; room heals."""
        async with opened(tmp_path, low_water_mb=10**9) as store:
            with pytest.raises(StorageFull, match="low_water_mb"):
                await store.write(note)
            written = await store.records.write(note, vital=True)
            monkeypatch.setattr(writer.LedgerFile, "find_shortage", lambda _self: None)
            again = await store.write(note)

        assert (1, 1) == (written, again)

    def test_of(self, tmp_path: Path) -> None:
        """Free space below the mark is a shortage; without a mark there is none."""
        path = tmp_path / "cortex.db"

        assert writer.LedgerFile(path, low_water=10**18).find_shortage() is not None
        assert writer.LedgerFile(path, low_water=1).find_shortage() is None
        assert writer.LedgerFile(path).find_shortage() is None


class TestFault:
    @pytest.mark.parametrize("name", ["SQLITE_IOERR_FSYNC", "SQLITE_CORRUPT"])
    async def test_write(self, tmp_path: Path, name: str) -> None:
        """After a write that fails for good nothing is acknowledged, tried or opened again."""
        store = Store(tmp_path)
        handle = await store.open()
        await store.write(note)

        def fail(connection: Connection) -> None:
            note(connection)
            raise broken(name)

        with pytest.raises(DiskFault, match=name):
            await store.write(fail)
        reason = await handle.exited()
        gc.collect()
        left = (tmp_path / "cortex.db-wal").stat().st_size
        with pytest.raises(DiskFault, match=name):
            await store.open()
        with closing(sqlite3.connect(store.home.ledger)) as other:
            rows = other.execute(COUNT).fetchall()

        assert isinstance(reason, DiskFault)
        assert left > 0  # nobody has closed the connection, which would have emptied the log
        assert [(1,)] == rows

    async def test_read(self, tmp_path: Path) -> None:
        """Damage that a query meets ends the writing, too."""
        store = Store(tmp_path)
        handle = await store.open()

        def fail(_connection: Connection) -> None:
            raise broken("SQLITE_CORRUPT")

        with pytest.raises(DiskFault, match="damaged"):
            await store.read(fail)

        assert isinstance(await handle.exited(), DiskFault)

    async def test_replaced(self, tmp_path: Path) -> None:
        """A ledger that was replaced while it was open acknowledges nothing more."""
        store = Store(tmp_path)
        handle = await store.open()
        path = store.home.ledger
        shutil.copy(path, tmp_path / "copy")
        (tmp_path / "copy").replace(path)
        with pytest.raises(DiskFault, match="moved away or replaced"):
            await store.write(note)

        assert isinstance(await handle.exited(), DiskFault)

    async def test_superseded(self, tmp_path: Path) -> None:
        """A ledger that another daemon owns ends the actor with that error."""
        store = Store(tmp_path)
        handle = await store.open()
        with closing(sqlite3.connect(store.home.ledger)) as other, other:
            other.execute("UPDATE owner SET epoch = 9, pid = 4711")
        with pytest.raises(Superseded, match="pid 4711, epoch 9, ours is 1"):
            await store.write(note)

        assert isinstance(await handle.exited(), Superseded)


class TestLeftLog:
    async def test_is_used(self, tmp_path: Path) -> None:
        """What a life that did not end well left in the log is in the ledger at the next start."""
        home = tmp_path / "next"
        home.mkdir()
        async with opened(tmp_path) as store:
            await store.write(note)
            for name in ("cortex.db", "cortex.db-wal"):
                shutil.copy(tmp_path / name, home / name)
        left = (home / "cortex.db-wal").stat().st_size
        async with opened(home) as store:
            rows = await store.rows(COUNT)
            now = (home / "cortex.db-wal").stat().st_size

        assert [(1,)] == rows
        assert now < left

    async def test_clean_stop(self, tmp_path: Path) -> None:
        """A clean stop leaves the ledger alone, without a log beside it."""
        async with opened(tmp_path) as store:
            await store.write(note)
            await store.rows(COUNT)

        assert ["cortex.db"] == [file.name for file in tmp_path.glob("cortex.db*")]


class TestLongQuery:
    async def test_is_broken_off(self, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
        """A query that nobody waits for any more is broken off: it would keep the log growing."""

        def endless(connection: Connection) -> None:
            connection.exec_driver_sql(
                "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) "
                "SELECT count(*) FROM n"
            )

        with monkeypatch.context() as patch:
            patch.setattr(module, "READ_LIMIT", -1.0)
            with pytest.raises(DeadlineExceeded, match="broken off"):
                await store.read(endless)

        assert [(0,)] == await store.rows(COUNT)
