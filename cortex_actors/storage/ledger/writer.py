"""The ledger's one writing thread: units of work in, one fsync for many of them out.

An fsync costs milliseconds (338 single commits a second were measured where groups of 64 gave
11,000), so units that wait together commit together. Each has a savepoint of its own: one that
fails is undone alone and only its caller hears of it. No caller is answered before the commit.

What surrounds a unit (its savepoint, the fence) goes to the driver directly: 5 us for each group
and 3 for each unit, where SQLAlchemy takes 30 and 90.

When the disk is full, read-only or locked, a group fails and the next is tried. When it failed
(`DiskFault`), or another daemon owns the ledger (`Superseded`), no group is ever tried again: what
a failed fsync dropped is not known, so this process may acknowledge nothing more on that file.

Ground: disk checks of the writer - room, file identity, checkpoints - and who hears of a fault.

A gauge of the ledger: since when writing fails, and why; to read it nothing is written.

Checkpoints: when the write-ahead log goes into the ledger's file, and how long it may grow.

SQLite's own automatic checkpoint runs inside a commit and swallows what fails in it. Here it runs
after the commit was answered, and a disk that fails in it is heard of.

The ledger's file as the disk has it: whether there is room, and whether it is still the same.

SQLite goes on writing into a file that was moved away, replaced or cut off, and its log into one
that was deleted: what is committed then is gone with the process. So each commit is followed by a
look.
"""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, Engine, update

from cortex_actors.errors import DiskFault, LedgerDown, StorageFull, Superseded
from cortex_actors.storage import passages
from cortex_actors.storage.ledger import faults
from cortex_actors.storage.ledger.connection import abandon, find_driver, find_driver_of
from cortex_actors.storage.ledger.files import measure_size
from cortex_actors.storage.tables import schema

if TYPE_CHECKING:
    import sqlite3
    from pathlib import Path

    from cortex_actors.clock import Clock


@dataclass(frozen=True, slots=True)
class Ground:
    """The disk as the writer sees it."""

    path: Path
    file: LedgerFile
    checkpoints: Checkpoints
    #: Called, on any thread, when nothing may be written any more.
    on_fault: Callable[[LedgerDown], None]

    def is_well(self) -> bool:
        """Tell whether the disk takes new work: a commit may have fitted into the last page."""
        return self.file.find_shortage() is None and not faults.probe_disk(self.path)


class Gauge:
    """Set by the thread that writes, read by any."""

    def __init__(self, clock: Clock) -> None:
        """Show that all is well."""
        self._clock = clock
        #: Seconds of the monotonic clock when it began, and the latest failure.
        self._found: tuple[float, LedgerDown] | None = None

    @property
    def error(self) -> LedgerDown | None:
        """Return what writing fails with now; None while it does not."""
        found = self._found
        return None if found is None else found[1]

    def note_failure(self, error: LedgerDown) -> None:
        """Show that nothing can be written."""
        since = self._clock.monotonic() if self._found is None else self._found[0]
        self._found = since, error

    def note_success(self) -> None:
        """Show that something was written."""
        self._found = None

    def describe(self) -> dict[str, Any]:
        """Return it as data: `state`, and while writing fails `reason`, `error` and `for_s`."""
        found = self._found
        if found is None:
            return {"state": "ok"}
        since, error = found
        seconds = max(0.0, self._clock.monotonic() - since)
        return {
            "state": "failing",
            "error": type(error).__name__,
            "reason": str(error),
            "for_s": round(seconds, 3),
        }


#: Seconds between two tries to write while writing fails: no other write is tried.
NUDGE = 1.0

#: Gets the connection of the open transaction; what it returns goes to the caller.
Unit = Callable[[Connection], Any]


@dataclass(slots=True)
class _WriteJob:
    """A unit of work and who waits for it."""

    unit: Unit
    #: Finishes work that has begun: may use the last room on the disk.
    vital: bool = False
    done: Future[Any] = field(default_factory=Future)
    result: Any = None
    #: Why it failed by itself. Its caller hears of it after the commit: it may have failed over
    #: what an earlier unit of its group did, and that is undone when the commit fails.
    error: Exception | None = None

    def answer(self, lost: Exception | None = None) -> None:
        """Tell the caller what became of the unit: `lost` is why its group was not committed."""
        error = lost or self.error
        if not self.done.done() and error is None:
            self.done.set_result(self.result)
        elif not self.done.done():
            self.done.set_exception(error)


@dataclass(frozen=True, slots=True)
class TransactionLimits:
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
        limits: TransactionLimits,
        clock: Clock,
        closed: Callable[[], None] = lambda: None,
        ground: Ground,
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
        self._ground = ground
        self._fault: LedgerDown | None = None
        self.gauge = Gauge(clock)
        self._jobs: queue.SimpleQueue[_WriteJob | None] = queue.SimpleQueue()
        self._begin()

    def submit(self, unit: Unit, *, vital: bool = False) -> Future[Any]:
        """Queue a unit of work; the future is done after its commit, or holds what failed.

        A `vital` one, which finishes work that has begun, is run even when the disk is nearly full.
        """
        job = _WriteJob(unit, vital)
        self._jobs.put(job)
        return job.done

    def poison(self, error: LedgerDown) -> None:
        """Commit and answer nothing from now on: another part (on any thread) saw the disk fail."""
        if self._fault is None:
            self._fault = error
            self.gauge.note_failure(error)
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
        if self._fault is None:
            self._tidy(self._ground.checkpoints.finish)
        if self._fault is not None:
            abandon(self._engine)
        else:
            if self._connection is not None:
                self._connection.close()
            self._engine.dispose()
            self._closed()

    def _gather(self) -> tuple[list[_WriteJob], bool]:
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

    def _commit(self, group: list[_WriteJob], *, mend: bool = True) -> None:
        """Run a group in one transaction, then answer its callers.

        Words that are found damaged are rebuilt, so that a caller that tries again succeeds.
        """
        try:
            self._write(self._admitted(group))
        except Exception as error:  # noqa: BLE001 - the thread must live, and callers wait
            found = self._verdict(error)
            self._fail(group, found)
            self._stop_if(found)
            if mend and faults.is_of_words(error):
                self._commit([_WriteJob(passages.rebuild, vital=True)], mend=False)
        else:
            for job in group:
                job.answer()
            self._tidy(self._ground.checkpoints.after_commit)
            if self.gauge.error is not None and self._ground.is_well():
                self.gauge.note_success()

    def _write(self, group: list[_WriteJob]) -> None:
        """Commit what a group does; raises when no caller may hear that it is kept."""
        if self._fault is not None:
            raise self._fault
        if not group:
            return
        with self._transaction() as connection:
            driver = find_driver_of(connection)
            self._fence(driver)
            for job in group:
                self._attempt(connection, driver, job)
        self._ground.file.require_same()
        if self._fault is not None:  # a reader saw it meanwhile
            raise self._fault

    def _admitted(self, group: list[_WriteJob]) -> list[_WriteJob]:
        """Return the jobs that there is room for; the others are refused."""
        shortage = self._ground.file.find_shortage()
        if shortage is None:
            return group
        self.gauge.note_failure(shortage)
        self._fail([job for job in group if not job.vital], shortage)
        return [job for job in group if job.vital]

    def _tidy(self, tidied: Callable[[], None]) -> None:
        """Empty the log once all callers have answers; a failure goes to gauge and next group."""
        try:
            tidied()
        except Exception as error:  # noqa: BLE001 - as above
            self._stop_if(self._verdict(error))

    def _nudge(self) -> None:
        """Try to write something: it is how `status` hears that the disk is well again."""
        probe = update(schema.owner).values(pid=schema.owner.c.pid)
        self._commit([_WriteJob(lambda connection: connection.execute(probe))])

    def _verdict(self, error: Exception) -> LedgerDown:
        """Return the error that all callers get for a failure, and remember it.

        Blocks where the disk has to be asked.
        """
        path = self._ground.path
        unknown = LedgerDown(f"cannot write the ledger {path}: {error!r}; nothing was kept")
        found = faults.explain(error, path, doing="write") or unknown
        self.gauge.note_failure(found)
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

    def _attempt(self, connection: Connection, driver: sqlite3.Connection, job: _WriteJob) -> None:
        """Run one unit inside its savepoint; its own failure is undone and kept for its caller.

        After a failure of the disk SQLite may have undone the whole transaction: then no
        unit was kept.
        """
        driver.execute("SAVEPOINT unit")
        try:
            job.result = job.unit(connection)
        except Exception as error:
            if faults.is_the_disk(error) or not driver.in_transaction:
                raise
            driver.execute("ROLLBACK TO unit")
            job.error = error
        driver.execute("RELEASE unit")

    def _fence(self, driver: sqlite3.Connection) -> None:
        """Raise `Superseded` when another daemon has taken the home since we started."""
        found = driver.execute("SELECT epoch, pid FROM owner").fetchone()
        if found is None or found[0] != self._epoch:
            whose = f"pid {found[1]}, epoch {found[0]}" if found else "not known"
            raise Superseded(
                f"cannot write the ledger: another daemon owns it ({whose}, ours is "
                f"{self._epoch}); this one ends and writes nothing more"
            )

    def _fail(self, group: list[_WriteJob], error: LedgerDown) -> None:
        """Answer every caller of a group that nothing was committed."""
        for job in group:
            job.answer(error)


def _wanted(job: _WriteJob) -> list[_WriteJob]:
    """Return a job that its caller still waits for; from here on it can be cancelled no more."""
    return [job] if job.done.set_running_or_notify_cancel() else []


#: Pages in the log before a checkpoint (SQLite's own default: 4 MiB).
PAGES = 1_000

#: Commits before the first look, when nothing is known of their size.
FIRST = 64

#: Pages in the log before readers are waited for, because they keep it from starting over: 16 MiB.
CROWDED = 4_000

#: Bytes of the log's file that are kept when it starts over: writing over what is there needs no
#: new room and half the time of growing.
KEPT = 16 * 1_048_576

#: Commits between two looks at the file: each releases Python's lock, and the answered callers
#: then take turns with this thread (a third of a lone publish's time on two virtual cores).
LOOK = 8

#: Bytes that a file may have grown before a look at the log, whatever was estimated.
GROWN = 8 * 1_048_576

#: Milliseconds a checkpoint waits for readers and for other processes.
PATIENCE = 500


class Checkpoints:
    """Empties the log of the one connection that writes; used on its thread alone.

    How many pages a commit adds is not known: it is estimated from what the last checkpoint
    found; a burst is seen by the size of the file.
    """

    def __init__(self, engine: Engine, path: Path, *, busy_ms: int) -> None:
        """Take over from SQLite; `busy_ms` is what else waits for a lock on that connection."""
        self._raw = find_driver(engine)
        self._log = path.with_name(f"{path.name}-wal")
        self._busy_ms = busy_ms
        self._commits = 0
        self._due = FIRST
        self._crowded = CROWDED
        self._size = measure_size(self._log)
        self._raw.execute("PRAGMA wal_autocheckpoint = 0")
        self._raw.execute(f"PRAGMA journal_size_limit = {KEPT}")

    def after_commit(self) -> None:
        """Empty the log if it is time; raises what SQLite raises."""
        self._commits += 1
        if self._commits < self._due and (
            self._commits % LOOK or measure_size(self._log) < self._size + GROWN
        ):
            return
        pages, _ = self._run("PASSIVE")
        if pages >= self._crowded:
            _, busy = self._run("RESTART")
            self._crowded = 2 * pages if busy else CROWDED
        self._due = min(PAGES, max(1, PAGES * self._commits // max(1, pages)))
        self._commits = 0
        self._size = measure_size(self._log)

    def finish(self) -> None:
        """Empty the log and its file, for the last time; raises what SQLite raises."""
        self._run("TRUNCATE")

    def _run(self, mode: str) -> tuple[int, bool]:
        """Run a checkpoint; return the pages that were in the log, and whether others hindered."""
        self._raw.execute(f"PRAGMA busy_timeout = {PATIENCE}")
        try:
            busy, pages, _done = self._raw.execute(f"PRAGMA wal_checkpoint({mode})").fetchone()
        finally:
            self._raw.execute(f"PRAGMA busy_timeout = {self._busy_ms}")
        return int(pages), bool(busy)


#: Bytes of a megabyte.
MB = 1_000_000


class LedgerFile:
    """Looks at the file and its disk; each look is a system call or two (microseconds)."""

    def __init__(self, path: Path, *, low_water: int = 0) -> None:
        """Look at a ledger that is open.

        Args:
            path: of the ledger.
            low_water: bytes of free space below which there is no room for new work; 0 for none.

        """
        self.path = path
        self._low_water = low_water
        self._paths = (path, path.with_name(f"{path.name}-wal"))
        self._known = [_identity(each) for each in self._paths]
        self._size = measure_size(path)

    def find_shortage(self) -> StorageFull | None:
        """Return why there is no room for new work; None while there is."""
        if not self._low_water:
            return None
        found = os.statvfs(self.path.parent)
        free = found.f_bavail * found.f_frsize
        if free >= self._low_water:
            return None
        return StorageFull(
            f"cannot write the ledger {self.path}: its disk has only {free // MB} MB free, and the "
            f"last {self._low_water // MB} MB (storage.low_water_mb) are kept for work already in "
            "hand: free some space, and it goes on by itself"
        )

    def require_same(self) -> None:
        """Raise `DiskFault` when the file, or the log beside it, is no longer the one opened.

        And when the file was cut off: nothing of ours makes it shorter.
        """
        for path, known in zip(self._paths, self._known, strict=True):
            if known is not None and _identity(path) != known:
                raise DiskFault(
                    f"cannot keep anything in the ledger {self.path}: {path} was moved away or "
                    "replaced while it was open; put it back if it was yours, then start again"
                )
        known_size, self._size = self._size, measure_size(self.path)
        if self._size < known_size:
            raise DiskFault(
                f"cannot keep anything in the ledger {self.path}: it was cut off from "
                f"{known_size:,} to {self._size:,} bytes while it was open; start again, which "
                "restores it (docs/recovery.md)"
            )


def _identity(path: Path) -> tuple[int, int] | None:
    """Return what a file is whatever it is called; None where there is none."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino
