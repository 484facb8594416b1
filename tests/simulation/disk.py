"""The ledger's file, in memory: rows that are committed stay, whatever happens to the program.

The actor is the real one, and so are its units of work, savepoints, fence and group commit; what is
simulated is the file and the thread that writes it.
"""

from __future__ import annotations

import asyncio
import functools
import sqlite3
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from sqlalchemy import Engine, create_engine, event
from sqlalchemy.exc import OperationalError
from sqlalchemy.pool import StaticPool

from cortex_actors.errors import LedgerDown
from cortex_actors.storage.ledger.actor import Ledger
from cortex_actors.storage.ledger.connection import PLACES, migrate
from cortex_actors.storage.ledger.writer import (
    Checkpoints,
    Ground,
    LedgerFile,
    TransactionLimits,
    Writer,
    _WriteJob,
)
from tests.simulation.audit import TRIGGERS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from concurrent.futures import Future

    from sqlalchemy import Connection

    from cortex_actors.clock import Clock
    from cortex_actors.home import Home
    from cortex_actors.sections import StorageSettings
    from tests.simulation.weather import Weather

#: Seconds that a commit usually takes.
COMMIT = 0.004

#: Statements compiled once for all runs: a new engine for each would compile them again.
_COMPILED: dict[Any, Any] = {}


class Disk:
    """The file, and who may write it."""

    def __init__(self, weather: Weather, loop: asyncio.AbstractEventLoop) -> None:
        self.weather = weather
        self.loop = loop
        self.rows = _memory()
        _template().backup(self.rows)
        self.rows.create_function("unit_now", 0, lambda: self.unit)
        #: Counts units of work, for the audit.
        self.unit = 0
        #: Counts power cuts: what was opened before one is of no use after it.
        self.boot = 0
        # One for all: nothing runs at the same time as something else.
        self.connection = _engine(self.rows).connect()
        self.writer: InlineWriter | None = None
        #: Called after each commit, before anybody hears of it.
        self.on_commit: Callable[[], None] = lambda: None

    def cut(self) -> None:
        """Cut the power: what is not committed is gone."""
        self.boot += 1
        self.writer = None

    def query(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        """Return what is committed, past everybody."""
        return self.rows.execute(statement, values).fetchall()


class Opened:
    """One life's hold on the file, as far as an engine is used."""

    def __init__(self, disk: Disk) -> None:
        self._disk = disk
        self._boot = disk.boot

    @property
    def is_on(self) -> bool:
        """Tell whether there is power still."""
        return self._boot == self._disk.boot

    @contextmanager
    def begin(self) -> Iterator[Connection]:
        """Begin a transaction, which may fail at either end."""
        weather = self._disk.weather
        if not self.is_on or weather.is_down("disk") or weather.strikes("disk lost", 0.01):
            raise _broken()
        connection = self._disk.connection
        with connection.begin():
            yield connection
            if weather.strikes("commit refused", 0.02):
                raise _broken()

    def dispose(self) -> None:
        """Let go."""


class NoFile(LedgerFile):
    """The file in memory: nobody moves it, and its disk is never full."""

    def __init__(self) -> None:
        """Look at nothing."""

    def find_shortage(self) -> None:
        """Say that there is room."""

    def require_same(self) -> None:
        """Find the file as it was."""


class NoCheckpoints(Checkpoints):
    """No log is written beside a file in memory."""

    def __init__(self) -> None:
        """Have nothing to empty."""

    def after_commit(self) -> None:
        """Empty nothing."""

    def finish(self) -> None:
        """Empty nothing."""


class SoundGround(Ground):
    """A disk that takes new work whenever it is asked."""

    def is_well(self) -> bool:
        """Ask no real disk."""
        return True


class InlineWriter(Writer):
    """Commits on the loop, some time after it was asked to, and answers later still."""

    def __init__(self, opened: Opened, epoch: int, *, disk: Disk, **how: Any) -> None:
        self._disk = disk
        self._opened = opened
        self._loop = disk.loop
        self._is_due = self._is_over = False
        path = Path("cortex.db")
        ground = SoundGround(path, NoFile(), NoCheckpoints(), lambda _fault: None)
        super().__init__(cast("Engine", opened), epoch, ground=ground, **how)

    def submit(self, unit: Callable[[Connection], Any], *, vital: bool = False) -> Future[Any]:
        done = super().submit(unit, vital=vital)
        self._schedule()
        return done

    def close(self) -> None:
        super().close()
        self._schedule()

    def join(self) -> None:
        super().close()
        while not self._is_over and self._opened.is_on:
            self._step(answer_now=True)

    def _begin(self) -> None:
        """Start no thread."""

    def _schedule(self) -> None:
        if not self._is_due and not self._is_over:
            self._is_due = True
            self._loop.call_later(self._disk.weather.delay(COMMIT), self._on_due)

    def _on_due(self) -> None:
        self._is_due = False
        if self._opened.is_on and not self._is_over and not self._jobs.empty():
            self._step()
            self._schedule()

    def _step(self, *, answer_now: bool = False) -> None:
        group, ending = self._gather()
        inner = [_WriteJob(job.unit) for job in group]
        if inner:
            self._commit(inner)
            self._disk.on_commit()
        answer = functools.partial(self._answer, list(zip(group, inner, strict=True)))
        if answer_now:
            answer()
        else:
            self._loop.call_later(self._disk.weather.delay(COMMIT), answer)
        if ending:
            self._is_over = True
            self._closed()

    @contextmanager
    def _transaction(self) -> Iterator[Connection]:
        with self._opened.begin() as connection:
            yield connection

    def _attempt(self, connection: Connection, driver: sqlite3.Connection, job: _WriteJob) -> None:
        self._disk.unit += 1
        super()._attempt(connection, driver, job)

    def _answer(self, pairs: list[tuple[_WriteJob, _WriteJob]]) -> None:
        if not self._opened.is_on:
            return
        for outer, inner in pairs:
            with suppress(asyncio.InvalidStateError):
                error = inner.done.exception()
                if error is None:
                    outer.done.set_result(inner.done.result())
                else:
                    outer.done.set_exception(error)


class SimulatedLedger(Ledger):
    """The real actor on a simulated file."""

    def __init__(self, home: Home, settings: StorageSettings, clock: Clock, *, disk: Disk) -> None:
        super().__init__(home, settings, clock)
        self._disk = disk

    def _open(self) -> None:
        disk = self._disk
        if disk.weather.is_down("disk") or disk.weather.strikes("ledger does not open", 0.05):
            raise LedgerDown("cannot open the ledger: the simulated disk is away; wait")
        if disk.writer is not None:
            disk.writer.join()  # on a thread one would wait for it
        opened = Opened(disk)
        epoch = self._take_over(cast("Engine", opened))
        limits = TransactionLimits(self._settings.group_units, self._settings.group_ms / 1_000)
        self._reading = cast("Engine", opened)
        self._writer = disk.writer = InlineWriter(
            opened, epoch, disk=disk, limits=limits, clock=self._clock
        )
        self._opened = True
        if self._ended:
            self._shut()


def _broken() -> OperationalError:
    """Return what SQLite says when a disk cannot write for a while."""
    error = sqlite3.OperationalError("database or disk is full")
    error.sqlite_errorname = "SQLITE_FULL"
    return OperationalError("BEGIN", {}, error)


def _memory() -> sqlite3.Connection:
    """Return an empty file in memory."""
    rows = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    for places in PLACES:  # as every connection to a ledger has them
        rows.execute(places)
    return rows


def _engine(rows: sqlite3.Connection) -> Engine:
    """Return an engine whose one connection that is."""
    engine = create_engine("sqlite://", creator=lambda: rows, poolclass=StaticPool)
    event.listen(engine, "begin", lambda _: rows.execute("BEGIN IMMEDIATE"))
    return engine.execution_options(compiled_cache=_COMPILED)


@functools.cache
def _template() -> sqlite3.Connection:
    """Return a migrated ledger with the audit's triggers, made once."""
    rows = _memory()
    rows.execute("PRAGMA foreign_keys = ON")
    migrate(_engine(rows), Path("nowhere"))
    rows.executescript(TRIGGERS)
    return rows
