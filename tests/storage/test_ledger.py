from __future__ import annotations

import asyncio
import stat
import threading
from typing import TYPE_CHECKING

import pytest

from cortex_actors.errors import ActorAway, LedgerDown, StoreTooNew
from cortex_actors.storage.ledger import actor
from cortex_actors.storage.ledger import actor as module
from cortex_actors.storage.ledger import connection as opening
from cortex_actors.storage.ledger.files import SCHEMA_VERSION
from cortex_actors.testing import eventually
from tests.storage.support import Store, opened

if TYPE_CHECKING:
    from pathlib import Path

    from sqlalchemy import Connection

NOTE = "INSERT INTO index_ops (collection, item_id, op) VALUES ('c', 'x', 'put')"


def note(connection: Connection) -> int:
    """Write one row."""
    return connection.exec_driver_sql(NOTE).rowcount


class Blocked:
    """A unit of work that writes, then waits in the ledger's thread."""

    def __init__(self) -> None:
        self.gate = threading.Event()
        self.begun = threading.Event()

    def __call__(self, connection: Connection) -> None:
        """Write, and wait."""
        note(connection)
        self.begun.set()
        self.gate.wait(20)


class TestOpen:
    async def test_private(self, store: Store) -> None:
        """Only the owner may read the ledger and the files that SQLite keeps beside it."""
        await store.write(note)
        files = sorted(store.home.root.glob("cortex.db*"))

        assert ["cortex.db", "cortex.db-shm", "cortex.db-wal"] == [file.name for file in files]
        assert {0o600} == {stat.S_IMODE(file.stat().st_mode) for file in files}

    async def test_epoch(self, tmp_path: Path) -> None:
        """Every life of the ledger has the next epoch, and there is one owner."""
        for epoch in (1, 2, 3):
            async with opened(tmp_path) as store:
                assert [(1, epoch)] == await store.rows("SELECT one, epoch FROM owner")

    @pytest.mark.parametrize(
        ("pragma", "value"), [("synchronous", 2), ("foreign_keys", 1), ("trusted_schema", 0)]
    )
    async def test_pragmas(self, store: Store, pragma: str, value: int) -> None:
        """The connection that writes syncs every commit and checks what it is given."""
        found = await store.write(lambda c: c.exec_driver_sql(f"PRAGMA {pragma}").scalar())

        assert value == found

    async def test_newer_schema(self, tmp_path: Path) -> None:
        """A ledger of a newer program is refused and left as it was."""
        async with opened(tmp_path) as store:
            await store.write(lambda c: c.exec_driver_sql("PRAGMA user_version = 99"))
        before = (tmp_path / "cortex.db").read_bytes()
        with pytest.raises(StoreTooNew, match=f"version 99, this program knows {SCHEMA_VERSION}"):
            await store.open()

        assert before == (tmp_path / "cortex.db").read_bytes()

    async def test_not_a_ledger(self, tmp_path: Path) -> None:
        """A file that is no database is put aside as it is, and a new ledger is begun."""
        (tmp_path / "cortex.db").write_bytes(b"my diary, not a database" * 100)
        async with opened(tmp_path) as store:
            rows = await store.rows("SELECT count(*) FROM events")
        (aside,) = tmp_path.glob("cortex.db.corrupt-*")

        assert [(0,)] == rows
        assert b"my diary, not a database" * 100 == aside.read_bytes()

    async def test_no_folder(self, tmp_path: Path) -> None:
        """A home that is gone is an error, and the ledger opens once it is back."""
        store = Store(tmp_path / "gone")
        with pytest.raises(LedgerDown, match="cannot open the ledger"):
            await store.open()
        store.home.root.mkdir()
        await store.open()
        await store.handle.stop(5)

    async def test_killed_while_opening(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A start that is cancelled midway keeps no connection: the next one opens the file."""
        gate, begun, migrate = threading.Event(), asyncio.Event(), opening.migrate
        loop = asyncio.get_running_loop()

        def slow(*args: object) -> int:
            loop.call_soon_threadsafe(begun.set)
            gate.wait(20)
            return migrate(*args)  # type: ignore[arg-type]

        monkeypatch.setattr(module, "migrate", slow)
        starting = asyncio.create_task(Store(tmp_path).open())
        await begun.wait()
        starting.cancel()
        await asyncio.wait({starting})
        gate.set()
        async with opened(tmp_path) as store:
            epochs = await store.rows("SELECT epoch FROM owner")

        assert [(2,)] == epochs


class TestRead:
    async def test_is_only_reading(self, store: Store) -> None:
        """A query that writes is refused."""
        with pytest.raises(LedgerDown, match="readonly"):
            await store.read(note)

    async def test_own_error(self, store: Store) -> None:
        """What a query raises goes to its caller, and the ledger lives."""
        with pytest.raises(ZeroDivisionError):
            await store.read(lambda _connection: 1 // 0)

        assert [] == await store.rows("SELECT * FROM index_ops")

    async def test_while_writing(self, store: Store) -> None:
        """Reads are answered while a unit of work holds the write lock, and do not see it."""
        unit = Blocked()
        writing = asyncio.create_task(store.write(unit))
        await asyncio.to_thread(unit.begun.wait)
        rows = await store.rows("SELECT * FROM index_ops")
        unit.gate.set()
        await writing

        assert [] == rows
        assert 1 == len(await store.rows("SELECT * FROM index_ops"))


class TestEnd:
    async def test_stop_commits_what_was_taken(self, tmp_path: Path) -> None:
        """Everything that was taken before the stop is committed and answered."""
        store = Store(tmp_path)
        await store.open()
        tasks = [asyncio.create_task(store.write(note)) for _ in range(100)]
        await eventually(lambda: bool(store.handle.info()["handled"]))
        await store.handle.stop(10)
        answered = await asyncio.gather(*tasks)
        await store.open()
        rows = await store.rows("SELECT count(*) FROM index_ops")
        await store.handle.stop(10)

        assert [1] * 100 == answered
        assert [(100,)] == rows

    async def test_kill_mid_work(self, tmp_path: Path) -> None:
        """A killed ledger's unit ends whole; the next life waits for its thread, then works."""
        store, unit = Store(tmp_path), Blocked()
        handle = await store.open()
        writing = asyncio.create_task(store.write(unit))
        await asyncio.to_thread(unit.begun.wait)
        handle.kill()
        await handle.exited()
        opening = asyncio.create_task(store.open())
        with pytest.raises(ActorAway, match="may have taken effect"):
            await writing
        before = opening.done()
        unit.gate.set()
        await opening
        await store.write(note)
        rows = await store.rows("SELECT count(*) FROM index_ops")
        await store.handle.stop(10)

        assert not before
        assert [(2,)] == rows

    async def test_thread_that_hangs(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """While an earlier thread hangs in the disk a second connection is not opened."""
        monkeypatch.setattr(actor, "TURN_TIMEOUT", 0.05)
        store, unit = Store(tmp_path), Blocked()
        handle = await store.open()
        writing = asyncio.create_task(store.write(unit))
        await asyncio.to_thread(unit.begun.wait)
        handle.kill()
        await handle.exited()
        with pytest.raises(LedgerDown, match="its last connection has not ended"):
            await store.open()
        unit.gate.set()
        await asyncio.wait({writing})

        assert isinstance(writing.exception(), ActorAway)

    async def test_restart_breaks_nobody(self, tmp_path: Path) -> None:
        """A call made while the ledger is away is answered by its next life."""
        store = Store(tmp_path)
        handle = await store.open()
        handle.kill()
        await handle.exited()
        writing = asyncio.create_task(store.write(note))
        await eventually(lambda: "ledger" in store.names._waiting)
        await store.open()

        assert 1 == await writing
        await store.handle.stop(10)
