"""The ledger's one writing thread: units of work in, one fsync for many of them out.

An fsync costs milliseconds (338 single commits a second were measured where groups of 64 gave
11,000), so units that wait together commit together. Each has a savepoint of its own: one that
fails is undone alone and only its caller hears of it. Nobody is answered before the commit.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, Engine, select
from sqlalchemy.exc import DBAPIError

from cortex_actors.errors import LedgerDown
from cortex_actors.storage import schema

if TYPE_CHECKING:
    from cortex_actors.clock import Clock

#: SQLite's errors that say nothing about the statement.
_DISK = (
    "SQLITE_BUSY",
    "SQLITE_CANTOPEN",
    "SQLITE_CORRUPT",
    "SQLITE_FULL",
    "SQLITE_IOERR",
    "SQLITE_NOMEM",
    "SQLITE_NOTADB",
    "SQLITE_READONLY",
)

#: Gets the connection of the open transaction; what it returns goes to the caller.
Unit = Callable[[Connection], Any]


@dataclass(slots=True)
class _Job:
    """A unit of work and who waits for it."""

    unit: Unit
    done: Future[Any] = field(default_factory=Future)
    result: Any = None


@dataclass(frozen=True, slots=True)
class Limits:
    """What one transaction may hold: so many units, gathered for so many seconds."""

    units: int
    seconds: float


class Writer:
    """Runs units of work in order on a thread of its own, several to a transaction."""

    def __init__(
        self,
        engine: Engine,
        epoch: int,
        *,
        limits: Limits,
        clock: Clock,
        closed: Callable[[], None] = lambda: None,
    ) -> None:
        """Start the thread.

        Args:
            engine: of the one connection that writes; closed when the thread ends.
            epoch: this owner's number; when the ledger holds another, nothing is written.
            limits: what may share a transaction.
            clock: measures how long a transaction has gathered.
            closed: called, on the thread, once the connection is closed.

        """
        self._engine = engine
        self._epoch = epoch
        self._limits = limits
        self._clock = clock
        self._closed = closed
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._begin()

    def submit(self, unit: Unit) -> Future[Any]:
        """Queue a unit of work; the future is done after its commit, or holds what failed."""
        job = _Job(unit)
        self._jobs.put(job)
        return job.done

    def close(self) -> None:
        """Let the thread finish what is queued and end; returns at once."""
        self._jobs.put(None)

    def join(self) -> None:
        """Close, and wait until everything queued is committed and the connection closed."""
        self.close()
        self._thread.join()

    def _begin(self) -> None:
        """Start the thread; a simulation, which has none, commits from its loop instead."""
        self._thread = threading.Thread(target=self._run, name="ledger-writer", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        """Commit groups until told to end."""
        try:
            ending = False
            while not ending:
                group, ending = self._gather()
                if group:
                    self._commit(group)
        finally:
            self._engine.dispose()
            self._closed()

    def _gather(self) -> tuple[list[_Job], bool]:
        """Return the next units that are to share a commit, and whether it is the last time."""
        job = self._jobs.get()
        if job is None:
            return [], True
        group = _wanted(job)
        until = self._clock.monotonic() + self._limits.seconds
        while len(group) < self._limits.units and self._clock.monotonic() < until:
            try:
                job = self._jobs.get_nowait()
            except queue.Empty:
                break
            if job is None:
                return group, True
            group += _wanted(job)
        return group, False

    def _commit(self, group: list[_Job]) -> None:
        """Run a group in one transaction, then answer everybody."""
        try:
            with self._engine.begin() as connection:
                self._fence(connection)
                for job in group:
                    self._attempt(connection, job)
        except LedgerDown as error:
            self._fail(group, error)
        except Exception as error:  # noqa: BLE001 - the thread must live, and somebody waits
            cause = error.orig if isinstance(error, DBAPIError) else error
            self._fail(group, LedgerDown(f"cannot write the ledger: {cause}; nothing was kept"))
        else:
            for job in group:
                if not job.done.done():
                    job.done.set_result(job.result)

    def _attempt(self, connection: Connection, job: _Job) -> None:
        """Run one unit inside its savepoint; its own failure is undone and goes to its caller.

        After a failure of the disk SQLite may have undone the whole transaction: then nobody's
        unit was kept.
        """
        try:
            with connection.begin_nested():
                job.result = job.unit(connection)
        except Exception as error:
            if _is_the_disk(error) or not _in_transaction(connection):
                raise
            job.done.set_exception(error)

    def _fence(self, connection: Connection) -> None:
        """Raise `LedgerDown` when another daemon has taken the home since we started."""
        epoch = connection.execute(select(schema.owner.c.epoch)).scalar_one_or_none()
        if epoch != self._epoch:
            message = (
                f"cannot write the ledger: another daemon owns it (epoch {epoch}, ours is "
                f"{self._epoch}); stop this one"
            )
            raise LedgerDown(message)

    def _fail(self, group: list[_Job], error: LedgerDown) -> None:
        """Tell everybody of a group that nothing was committed."""
        for job in group:
            if not job.done.done():
                job.done.set_exception(error)


def _wanted(job: _Job) -> list[_Job]:
    """Return a job that its caller still waits for; from here on it can be cancelled no more."""
    return [job] if job.done.set_running_or_notify_cancel() else []


def _is_the_disk(error: Exception) -> bool:
    """Tell whether SQLite could not do its work, whatever was asked of it."""
    name = getattr(getattr(error, "orig", None), "sqlite_errorname", "")
    return name.startswith(_DISK)


def _in_transaction(connection: Connection) -> bool:
    """Tell whether the driver's transaction is still open."""
    return bool(getattr(connection.connection.dbapi_connection, "in_transaction", False))
