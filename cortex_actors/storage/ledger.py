"""Ledger: the actor that owns the store of record.

hears   -
says    -
asks    -
keeps   open files (lost on a crash: units of work that were not answered were not committed)
"""

from __future__ import annotations

import asyncio
import os
import threading
from typing import TYPE_CHECKING, TypeVar

from sqlalchemy import Connection, Engine, insert
from sqlalchemy.exc import DBAPIError

from cortex_actors.errors import LedgerDown
from cortex_actors.runtime.actor import AsyncioActor
from cortex_actors.runtime.overflow import Overflow
from cortex_actors.runtime.threads import Threads
from cortex_actors.storage import connection, schema
from cortex_actors.storage.migrate import migrate
from cortex_actors.storage.writer import Limits, Writer

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from cortex_actors.clock import Clock
    from cortex_actors.home import Home
    from cortex_actors.settings import StorageSettings

T = TypeVar("T")

#: Seconds to wait for an earlier life of the ledger to close its file.
TURN_TIMEOUT = 4.0

#: File -> the lock its one writing connection holds.
_TURNS: dict[Path, threading.Lock] = {}


class Ledger(AsyncioActor):
    """Runs units of work on its writing thread and queries on its reading threads.

    Its mailbox never waits for a disk: `write` and `read` answer later. A restart opens the file
    again; SQLite's own recovery has then run.
    """

    #: Units of work and queries not yet handed to a thread, which takes microseconds: who is faster
    #: waits, because nothing that was acknowledged may be lost.
    mailbox_limit = 1_000
    overflow = Overflow.BACK_PRESSURE

    def __init__(self, home: Home, settings: StorageSettings, clock: Clock) -> None:
        """Remember what to open."""
        super().__init__()
        self._home = home
        self._settings = settings
        self._clock = clock
        self._readers = Threads("ledger-reader", connection.READERS)
        self._reading: Engine
        self._writer: Writer
        self._opened = self._ended = False

    async def on_start(self) -> None:  # type: ignore[override]  # Pykka has it plain
        """Open the ledger, migrate it, become its owner.

        Raises `StoreTooNew`, or `LedgerDown` when the file cannot be opened.
        """
        self.actor_ref.on_end(self._release)
        await self._readers.run(self._open)

    async def on_stop(self) -> None:  # type: ignore[override]  # Pykka has it plain
        """Commit what was taken, then close the file."""
        await self._readers.run(self._writer.join)

    def write(self, unit: Callable[[Connection], T]) -> asyncio.Future[T]:
        """Run a unit of work in a transaction; answer after the commit.

        Whatever the unit raises goes to the caller and undoes only that unit. Raises `LedgerDown`
        when the transaction itself fails: then nothing of it was kept.
        """
        return asyncio.wrap_future(self._writer.submit(unit))

    def read(self, query: Callable[[Connection], T]) -> asyncio.Future[T]:
        """Run a query that sees one moment of the ledger; writing in it is an error."""
        return self.spawn(self._read(query), name="read")

    async def _read(self, query: Callable[[Connection], T]) -> T:
        """Run a query on a reading thread."""
        return await self._readers.run(self._query, query)

    def _query(self, query: Callable[[Connection], T]) -> T:
        """Run a query inside a read transaction (on a reading thread)."""
        try:
            with self._reading.begin() as opened:
                return query(opened)
        except DBAPIError as error:
            message = f"cannot read the ledger {self._home.ledger}: {error.orig}"
            raise LedgerDown(message) from error

    def _open(self) -> None:
        """Open the file, migrate it, take the next epoch (on a thread: it waits for the disk)."""
        path = self._home.ledger
        turn = _turn(path)
        writing = connection.writing(path)
        try:
            # First, because SQLite gives the files beside it the mode that this one has.
            path.touch(mode=0o600)
            path.chmod(0o600)
            migrate(writing, path)
            epoch = self._take_over(writing)
        except BaseException as error:
            writing.dispose()
            turn.release()
            if not isinstance(error, (DBAPIError, OSError)):
                raise
            cause = error.orig if isinstance(error, DBAPIError) else error
            message = (
                f"cannot open the ledger {path}: {cause}; if it is damaged, move it away: a new "
                "one is made, and projects are read again once they are followed (cortex init)"
            )
            raise LedgerDown(message) from error
        limits = Limits(self._settings.group_units, self._settings.group_ms / 1_000)
        self._reading = connection.reading(path)
        self._writer = Writer(writing, epoch, limits=limits, clock=self._clock, closed=turn.release)
        self._opened = True
        if self._ended:  # killed meanwhile: nobody else will close them
            self._shut()

    def _take_over(self, writing: Engine) -> int:
        """Write the next epoch: from now on an earlier owner's writes land nowhere."""
        with writing.begin() as opened:
            last = opened.exec_driver_sql("SELECT max(epoch) FROM owner").scalar() or 0
            opened.exec_driver_sql("DELETE FROM owner")
            row = {"one": 1, "epoch": last + 1, "pid": os.getpid(), "started_at": self._clock.now()}
            opened.execute(insert(schema.owner).values(row))
        return int(last) + 1

    def _release(self) -> None:
        """Let the writing thread finish and end, however the actor ended."""
        self._ended = True
        self._readers.close(wait=False)
        if self._opened:
            self._shut()

    def _shut(self) -> None:
        """Close both ends of the file; a second time does nothing."""
        self._writer.close()
        self._reading.dispose()


def _turn(path: Path) -> threading.Lock:
    """Wait until no other writing connection to a file is open in this process, and take the turn.

    Raises `LedgerDown` when the one before does not end: after a kill its thread may hang in the
    disk, and two connections that both checkpoint can lose pages.
    """
    turn = _TURNS.setdefault(path, threading.Lock())
    if not turn.acquire(timeout=TURN_TIMEOUT):
        message = f"cannot open the ledger {path}: its last connection has not ended; try again"
        raise LedgerDown(message)
    return turn
