"""The ledger's one writing thread: units of work in, one fsync for many of them out.

An fsync costs milliseconds (338 single commits a second were measured where groups of 64 gave
11,000), so units that wait together commit together. Each has a savepoint of its own: one that
fails is undone alone and only its caller hears of it. Nobody is answered before the commit.

What surrounds a unit (its savepoint, the fence) goes to the driver directly: 5 us for each group
and 3 for each unit, where SQLAlchemy takes 30 and 90.

When the disk is full, read-only or locked, a group fails and the next is tried. When it failed
(`DiskFault`), or another daemon owns the ledger (`Superseded`), no group is ever tried again: what
a failed fsync dropped cannot be told, so this process may acknowledge nothing more on that file.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, update

from cortex_actors.errors import Superseded
from cortex_actors.storage import faults, passages, schema
from cortex_actors.storage.connection import abandon, driver_of
from cortex_actors.storage.gauge import Gauge
from cortex_actors.storage.ground import Ground

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator

    from sqlalchemy import Engine

    from cortex_actors.clock import Clock
    from cortex_actors.errors import LedgerDown

#: Seconds between two tries to write while writing fails: nobody else may try.
NUDGE = 1.0

#: Gets the connection of the open transaction; what it returns goes to the caller.
Unit = Callable[[Connection], Any]


@dataclass(slots=True)
class _Job:
    """A unit of work and who waits for it."""

    unit: Unit
    #: Finishes work in hand: may use the last room on the disk.
    vital: bool = False
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
        ground: Ground | None = None,
    ) -> None:
        """Start the thread.

        Args:
            engine: of the one connection that writes; closed when the thread ends.
            epoch: this owner's number; when the ledger holds another, nothing is written.
            limits: what may share a transaction.
            clock: measures how long a transaction has gathered.
            closed: called, on the thread, once the connection is closed.
            ground: the file, and who hears that it failed.

        """
        self._engine = engine
        self._connection: Connection | None = None
        self._epoch = epoch
        self._limits = limits
        self._clock = clock
        self._closed = closed
        self._ground = ground or Ground()
        self._fault: LedgerDown | None = None
        self.gauge = Gauge(clock)
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._begin()

    def submit(self, unit: Unit, *, vital: bool = False) -> Future[Any]:
        """Queue a unit of work; the future is done after its commit, or holds what failed.

        A `vital` one, which finishes work in hand, is run even when the disk is nearly full.
        """
        job = _Job(unit, vital)
        self._jobs.put(job)
        return job.done

    def poison(self, error: LedgerDown) -> None:
        """Commit and answer nothing from now on: somebody (on any thread) saw the disk fail."""
        if self._fault is None:
            self._fault = error
            self.gauge.fails(error)
            self._ground.on_fault(error)

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
                elif not ending:
                    self._nudge()
        finally:
            self._end()

    def _end(self) -> None:
        """Close the connection; one that failed stays as it is, and so does its turn."""
        if not self._has_failed():
            self._tidy(self._ground.finish)
        if self._has_failed():
            abandon(self._engine)
        else:
            if self._connection is not None:
                self._connection.close()
            self._engine.dispose()
            self._closed()

    def _has_failed(self) -> bool:
        """Tell whether nothing may be written any more."""
        return self._fault is not None

    def _gather(self) -> tuple[list[_Job], bool]:
        """Return the next units that are to share a commit, and whether it is the last time."""
        try:
            job = self._jobs.get(timeout=NUDGE if self.gauge.error else None)
        except queue.Empty:
            return [], False
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

    def _commit(self, group: list[_Job], *, mend: bool = True) -> None:
        """Run a group in one transaction, then answer everybody.

        Words that are found damaged are made anew, so that who tries again succeeds.
        """
        try:
            self._write(self._admitted(group))
        except Exception as error:  # noqa: BLE001 - the thread must live, and somebody waits
            found = self._verdict(error)
            self._fail(group, found)
            self._stop_if(found)
            if mend and faults.is_of_words(error):
                self._commit([_Job(passages.rebuild, vital=True)], mend=False)
        else:
            for job in group:
                if not job.done.done():
                    job.done.set_result(job.result)
            self._tidy(self._ground.after_commit)
            if self.gauge.error is not None and self._ground.is_well():
                self.gauge.works()

    def _write(self, group: list[_Job]) -> None:
        """Commit what a group does; raises when nobody may be told that it is kept."""
        if self._fault is not None:
            raise self._fault
        if not group:
            return
        with self._transaction() as connection:
            driver = driver_of(connection)
            self._fence(driver)
            for job in group:
                self._attempt(connection, driver, job)
        self._ground.require_same()
        if self._fault is not None:  # a reader saw it meanwhile
            raise self._fault

    def _admitted(self, group: list[_Job]) -> list[_Job]:
        """Return the jobs that there is room for; the others are refused."""
        shortage = self._ground.shortage()
        if shortage is None:
            return group
        self.gauge.fails(shortage)
        self._fail([job for job in group if not job.vital], shortage)
        return [job for job in group if job.vital]

    def _tidy(self, tidied: Callable[[], None]) -> None:
        """Empty the log, with everybody answered; a failure is the gauge's and the next group's."""
        try:
            tidied()
        except Exception as error:  # noqa: BLE001 - as above
            self._stop_if(self._verdict(error))

    def _nudge(self) -> None:
        """Try to write something: it is how `status` hears that the disk is well again."""
        probe = update(schema.owner).values(pid=schema.owner.c.pid)
        self._commit([_Job(lambda connection: connection.execute(probe))])

    def _verdict(self, error: Exception) -> LedgerDown:
        """Return what everybody is told of a failure, and remember it."""
        found = self._ground.verdict(error)
        self.gauge.fails(found)
        return found

    @contextmanager
    def _transaction(self) -> Iterator[Connection]:
        """Begin, and commit at the end of the block; the connection is the same one each time."""
        if self._connection is None:
            self._connection = self._engine.connect()
        with self._connection.begin():
            yield self._connection

    def _stop_if(self, found: LedgerDown) -> None:
        """Stop for good if a failure says so; those who wait have heard of it before."""
        if found.ends_daemon:
            self.poison(found)

    def _attempt(self, connection: Connection, driver: sqlite3.Connection, job: _Job) -> None:
        """Run one unit inside its savepoint; its own failure is undone and goes to its caller.

        After a failure of the disk SQLite may have undone the whole transaction: then nobody's
        unit was kept.
        """
        driver.execute("SAVEPOINT unit")
        try:
            job.result = job.unit(connection)
        except Exception as error:
            if faults.is_the_disk(error) or not driver.in_transaction:
                raise
            driver.execute("ROLLBACK TO unit")
            job.done.set_exception(error)
        driver.execute("RELEASE unit")

    def _fence(self, driver: sqlite3.Connection) -> None:
        """Raise `Superseded` when another daemon has taken the home since we started."""
        found = driver.execute("SELECT epoch, pid FROM owner").fetchone()
        if found is None or found[0] != self._epoch:
            whose = f"pid {found[1]}, epoch {found[0]}" if found else "nobody known"
            message = (
                f"cannot write the ledger: another daemon owns it ({whose}, ours is "
                f"{self._epoch}); this one ends and writes nothing more"
            )
            raise Superseded(message)

    def _fail(self, group: list[_Job], error: LedgerDown) -> None:
        """Tell everybody of a group that nothing was committed."""
        for job in group:
            if not job.done.done():
                job.done.set_exception(error)


def _wanted(job: _Job) -> list[_Job]:
    """Return a job that its caller still waits for; from here on it can be cancelled no more."""
    return [job] if job.done.set_running_or_notify_cancel() else []
