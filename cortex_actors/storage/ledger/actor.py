"""Ledger: the actor that owns the store of record.

hears   -
says    -
asks    -
keeps   open files (lost on a crash: units of work that were not answered were not committed)

Access to the ledger for all other parts: by name, so that its restart breaks none of them.

Whose turn it is to write a file: one writing connection at a time, none after a fault.

Two connections of one process that both checkpoint can lose pages, and a file that failed (or that
another daemon has taken) is never opened again by the process that saw it.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import os
import threading
from typing import TYPE_CHECKING, Any, TypeVar

from sqlalchemy import Connection as Connection  # noqa: PLC0414 - for who writes units
from sqlalchemy import Engine, insert
from sqlalchemy.exc import DBAPIError

from cortex_actors.errors import DiskFault, LedgerDown
from cortex_actors.runtime.actor import AsyncioActor
from cortex_actors.runtime.inbox import Overflow
from cortex_actors.runtime.names import NamedActor, Names
from cortex_actors.runtime.threads import Threads
from cortex_actors.storage.ledger import connection, faults, recovery, writer
from cortex_actors.storage.ledger.connection import migrate
from cortex_actors.storage.tables import schema

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from cortex_actors.clock import Clock
    from cortex_actors.home import Home
    from cortex_actors.sections import StorageSettings


#: Seconds to wait for an earlier life of the ledger to close its file.
TURN_TIMEOUT = 4.0

#: File -> the lock its one writing connection holds.
_TURNS: dict[Path, threading.Lock] = {}

#: File -> why this process writes it no more.
_FAULTS: dict[Path, LedgerDown] = {}


def take_turn(path: Path) -> threading.Lock:
    """Wait until no other writing connection to a file is open in this process, and take the turn.

    Raises `LedgerDown` when the one before does not end: after a kill its thread may hang in the
    disk; and the fault of a file that has failed.
    """
    if (why := find_fault(path)) is not None:
        raise why
    turn = _TURNS.setdefault(path, threading.Lock())
    if not turn.acquire(timeout=TURN_TIMEOUT):
        message = f"cannot open the ledger {path}: its last connection has not ended; try again"
        raise LedgerDown(message)
    return turn


def find_fault(path: Path) -> LedgerDown | None:
    """Return why this process writes a file no more; None while it may."""
    return _FAULTS.get(path)


def refuse_writers(path: Path, why: LedgerDown) -> None:
    """Refuse every later writer: the file has failed."""
    _FAULTS.setdefault(path, why)


T = TypeVar("T")

#: Seconds a query may take, as long as a caller waits for it: an older view of the ledger keeps the
#: log from starting over, so one that stays for ever would let it grow for ever.
READ_LIMIT = 30.0

#: Seconds that queries get to end when the ledger does; SQLite breaks them off, Python may not.
READS_END = 1.0

#: Turns of the loop between a fault and the crash: the waiting callers get the reason.
TURNS = 10


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
        self._writer: writer.Writer
        self._reads: set[asyncio.Task[Any]] = set()
        self._loop: asyncio.AbstractEventLoop
        self._opened = self._ended = self._closing = False

    async def on_start(self) -> None:  # type: ignore[override]  # Pykka has it plain
        """Open the ledger, migrate it, become its owner.

        Raises `StoreTooNew`, or `LedgerDown` when the file cannot be opened.
        """
        self._loop = asyncio.get_running_loop()
        self.actor_ref.on_end(self._release)
        await self._readers.run(self._open)

    async def on_stop(self) -> None:  # type: ignore[override]  # Pykka has it plain
        """Commit what was taken, then close the file, the readers first.

        Only then is the connection that writes the last, which empties the log and removes it.
        """
        self._closing = True
        if self._reads:
            await asyncio.wait(self._reads, timeout=READS_END)
        await self._readers.run(self._close)

    def write(self, unit: Callable[[Connection], T], *, vital: bool = False) -> asyncio.Future[T]:
        """Run a unit of work in a transaction; answer after the commit.

        Whatever the unit raises goes to the caller and undoes only that unit. Raises `LedgerDown`
        when the transaction itself fails: then nothing of it was kept. `vital` work finishes what
        has begun and may use the last room on a disk (`storage.low_water_mb`).
        """
        return asyncio.wrap_future(self._writer.submit(unit, vital=vital))

    def read(self, query: Callable[[Connection], T]) -> asyncio.Future[T]:
        """Run a query that sees one moment of the ledger; writing in it is an error.

        Raises `DeadlineExceeded` after `READ_LIMIT` seconds, `LedgerDown` when it fails.
        """
        task = self.spawn(self._readers.run(self._query, query), name="read")
        self._reads.add(task)
        task.add_done_callback(self._reads.discard)
        return task

    def describe(self) -> dict[str, Any]:
        """Return since when writing fails and why, without touching the disk."""
        return self._writer.gauge.describe()

    def _query(self, query: Callable[[Connection], T]) -> T:
        """Run a query inside a read transaction (on a reading thread)."""
        if self._closing:
            raise LedgerDown(f"cannot read the ledger {self._home.ledger}: it is being closed")
        try:
            with self._reading.begin() as opened:
                opened.info["until"] = self._clock.monotonic() + READ_LIMIT
                return query(opened)
        except faults.ERRORS as error:
            found = faults.explain_query(error, self._home.ledger, READ_LIMIT)
            if isinstance(found, LedgerDown) and found.ends_daemon:
                self._writer.poison(found)  # damage that a reader sees stops the writer, too
            raise found from error

    def _is_over(self, info: dict[str, Any]) -> bool:
        """Tell whether the query that runs on a reading connection must end."""
        return self._closing or self._clock.monotonic() > info.get("until", math.inf)

    def _on_fault(self, error: LedgerDown) -> None:
        """Crash for good: the daemon ends, and the next start finds what was acknowledged."""
        refuse_writers(self._home.ledger, error)
        with contextlib.suppress(RuntimeError):  # the loop has ended before us
            self._loop.call_soon_threadsafe(self._crash, error)
        if isinstance(error, DiskFault):
            faults.suspect(self._home.ledger, str(error))

    def _crash(self, error: LedgerDown) -> None:
        """Crash with an error (on the loop); while it stops, the tree says it (`turns.fault`)."""

        async def fail() -> None:
            if self._reads:
                await asyncio.wait(self._reads, timeout=READS_END)
            for _ in range(TURNS):
                await asyncio.sleep(0)
            raise error

        if not (self._ended or self._closing):
            self.spawn(fail(), name="fault")

    def _open(self) -> None:
        """Open the file, migrate it, take the next epoch (on a thread: it waits for the disk)."""
        path, settings = self._home.ledger, self._settings
        turn = take_turn(path)
        writing = connection.open_writing(path, settings.busy_timeout_s)
        try:
            recovery.make_ready(self._home, self._clock)
            # First, because SQLite gives the files beside it the mode that this one has.
            path.touch(mode=0o600)
            path.chmod(0o600)
            connection.settle(writing, path)
            migrate(writing, path)
            epoch = self._take_over(writing)
            ground = self._ground(writing)
        except BaseException as error:
            found = _unopened(error, path)
            if isinstance(found, DiskFault) and not faults.is_damage(error):
                refuse_writers(path, found)
                with contextlib.suppress(DBAPIError):  # never opened, and it does not open now
                    connection.abandon(writing)
            else:
                writing.dispose()
            turn.release()
            if found is None:
                raise
            raise found from error
        limits = writer.TransactionLimits(settings.group_units, settings.group_ms / 1_000)
        self._reading = connection.open_reading(path, self._is_over)
        self._writer = writer.Writer(
            writing, epoch, limits=limits, clock=self._clock, closed=turn.release, ground=ground
        )
        self._opened = True
        if self._ended:  # killed meanwhile: nothing else will close them
            self._shut()

    def _ground(self, writing: Engine) -> writer.Ground:
        """Return the writer's disk checks for its file, which is open."""
        path, settings = self._home.ledger, self._settings
        return writer.Ground(
            path,
            writer.LedgerFile(path, low_water=settings.low_water_mb * writer.MB),
            writer.Checkpoints(writing, path, busy_ms=round(settings.busy_timeout_s * 1_000)),
            self._on_fault,
        )

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

    def _close(self) -> None:
        """Close the readers, then the writer, and wait for it (on a thread)."""
        self._reading.dispose()
        self._writer.join()

    def _shut(self) -> None:
        """Close both ends of the file; a second time does nothing."""
        self._closing = True
        self._reading.dispose()
        self._writer.close()


def _unopened(error: BaseException, path: Path) -> LedgerDown | None:
    """Return why a ledger does not open; None where it is not the disk's or SQLite's fault."""
    found = faults.explain(error, path, doing="open")
    if found is None and isinstance(error, (DBAPIError, OSError)):
        cause = error.orig if isinstance(error, DBAPIError) else error
        found = LedgerDown(f"cannot open the ledger {path}: {cause}")
    return found


# The writer of a unit of work names its parameter's type, and imports no database library.


#: What the ledger's actor is called.
NAME = "ledger"

#: Seconds until the caller of a unit of work gets an error; it may still commit afterwards.
TIMEOUT = 30.0


class Records:
    """Runs units of work and queries in whichever ledger actor is alive."""

    def __init__(self, names: Names, *, timeout: float = TIMEOUT) -> None:
        """Find the ledger by its name; calls take at most `timeout` seconds."""
        self._ledger = NamedActor[Ledger](NAME, names, timeout=timeout)
        self._names = names

    def limit(self, timeout: float) -> Records:
        """Return the same with another limit in seconds."""
        return Records(self._names, timeout=timeout)

    async def write(self, unit: Callable[[Connection], T], *, vital: bool = False) -> T:
        """Run a unit of work; return its value after the commit. See `Ledger.write`."""
        return await self._ledger.ask(Ledger.write, unit, vital=vital)

    async def read(self, query: Callable[[Connection], T]) -> T:
        """Run a query; return its value. See `Ledger.read`."""
        return await self._ledger.ask(Ledger.read, query)
