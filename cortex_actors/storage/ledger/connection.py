"""How the ledger's file is opened: one connection that writes, a few that only read.

The SQLite that many Pythons carry (before 3.51.3) has the WAL-reset bug: two connections that both
write and checkpoint can lose pages. So exactly one connection writes and checkpoints; readers are
opened read-only and never checkpoint.
"""

from __future__ import annotations

import ctypes
import json
import os
from functools import partial
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import quote

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.pool import QueuePool, StaticPool

from cortex_actors.storage.tables.schema import WORDS

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path


#: Connections that may read at the same time (each on a thread of its own).
READERS = 2

#: Seconds to wait for a lock that another process holds.
BUSY = 5.0

#: Steps of SQLite's machine between two looks at whether a query has had its time: about 1 ms.
STEPS = 50_000

#: Bytes that are read and written at once.
CHUNK = 1_048_576

#: The places of every word in each list of words: of a connection, so that no file has them.
PLACES = tuple(
    f"CREATE VIRTUAL TABLE temp.{words}_places USING fts5vocab('main', '{words}', 'instance')"
    for words in WORDS
)

#: What agents say stands in the parameters of a statement: no error shows them, and so no log.
HIDE = True

#: How many milliseconds a connection waits for a lock.
_WAIT = "PRAGMA busy_timeout = {:.0f}"

#: Of every connection. `synchronous=FULL`: with NORMAL, half of the simulated power cuts lost
#: commits that had been acknowledged.
_PRAGMAS = (
    "PRAGMA foreign_keys = ON",
    "PRAGMA synchronous = FULL",
    "PRAGMA mmap_size = 0",
    "PRAGMA trusted_schema = OFF",
    "PRAGMA cell_size_check = ON",
    # What is deleted is overwritten: a memory that was forgotten is in the file no more.
    "PRAGMA secure_delete = ON",
    # A query goes on when there is no room for temporary files.
    "PRAGMA temp_store = MEMORY",
)


def writing(path: Path, busy: float = BUSY) -> Engine:
    """Return the engine of the one connection that writes; every transaction begins IMMEDIATE.

    `busy` is how many seconds it waits for a lock that another process holds.
    """
    engine = create_engine(
        f"sqlite:///{path}",
        poolclass=StaticPool,
        connect_args={"check_same_thread": False},
        hide_parameters=HIDE,
    )
    pragmas = (_WAIT.format(busy * 1_000), "PRAGMA journal_mode = WAL", *_PRAGMAS, *PLACES)
    event.listen(engine, "connect", partial(_prepare, pragmas, None))
    # The write lock is taken at once: a deferred transaction can fail in its middle instead.
    event.listen(engine, "begin", partial(_begin, "BEGIN IMMEDIATE"))
    return engine


def reading(path: Path, over: Callable[[dict[str, Any]], bool] | None = None) -> Engine:
    """Return the engine of the connections that read; a write through it is an error.

    `over` is asked, with the connection's `info`, whether the query that runs has had its time.
    """
    url = f"sqlite:///file:{quote(str(path))}?mode=ro&uri=true"
    engine = create_engine(
        url, poolclass=QueuePool, pool_size=READERS, max_overflow=0, hide_parameters=HIDE
    )
    pragmas = (_WAIT.format(BUSY * 1_000), *_PRAGMAS, *PLACES, "PRAGMA query_only = ON")
    event.listen(engine, "connect", partial(_prepare, pragmas, over))
    event.listen(engine, "begin", partial(_begin, "BEGIN"))
    return engine


def raw(engine: Engine) -> sqlite3.Connection:
    """Return the driver's connection of a `writing` engine, for what is no transaction."""
    lent = engine.raw_connection()
    found = lent.driver_connection
    lent.close()  # gives it back: there is one, and it stays open
    return found  # type: ignore[return-value]


def driver_of(connection: Connection) -> sqlite3.Connection:
    """Return the driver's connection below one of SQLAlchemy's: for statements that are short."""
    return cast("sqlite3.Connection", connection.connection.driver_connection)


def execute_for(
    connection: Connection, statement: str, ids: Iterable[Any], *more: object
) -> sqlite3.Cursor:
    """Run one of our short statements about ids: the first parameter is their list, as JSON."""
    return driver_of(connection).execute(statement, (json.dumps(sorted(set(ids))), *more))


def settle(engine: Engine, path: Path) -> None:
    """Bring what an earlier life left in the log into the ledger; nothing after a clean stop.

    That life may have ended because an fsync failed: then the log may hold pages that the kernel
    calls clean and that are not on the disk, and a later commit behind them would be lost with
    them. So the log is written once more as it is, synced, and only then used. Raises what SQLite
    and the system raise.
    """
    log = path.with_name(f"{path.name}-wal")
    if not (log.exists() and log.stat().st_size):
        return
    connection = raw(engine)
    connection.execute("BEGIN IMMEDIATE")  # so that nobody else writes to the log
    try:
        _write_again(log)
    finally:
        connection.execute("ROLLBACK")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def abandon(engine: Engine) -> None:
    """Leave a writing connection open for as long as the process lives.

    Closing it would write the log into a file that cannot be trusted, or is another's; Python 3.11
    has no way to close without. So the object is never freed, not even when Python ends.
    """
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(raw(engine)))


def _write_again(log: Path) -> None:
    """Write a file's own bytes over it, so that the kernel takes them for new; sync it."""
    # Closing this descriptor lets go of no lock of SQLite's: there are none on the log.
    fd = os.open(log, os.O_RDWR | os.O_CLOEXEC)
    try:
        at = 0
        while chunk := os.pread(fd, CHUNK, at):
            at += os.pwrite(fd, chunk, at)
        os.fsync(fd)
    finally:
        os.close(fd)


def _prepare(
    pragmas: tuple[str, ...],
    over: Callable[[dict[str, Any]], bool] | None,
    connection: Any,
    record: Any,
) -> None:
    """Set up a connection; the driver is kept from beginning transactions itself."""
    connection.isolation_level = None
    connection.text_factory = _text
    for pragma in pragmas:
        connection.execute(pragma)
    if over is not None:
        connection.set_progress_handler(partial(over, record.info), STEPS)


def marks(values: Sequence[object]) -> str:
    """Return a question mark for each value, as a query takes them."""
    return ", ".join("?" * len(values))


def _text(value: bytes) -> str:
    """Return text as it was given: names of files may hold bytes that are not UTF-8."""
    return value.decode("utf-8", "surrogateescape")


def _begin(how: str, connection: Connection) -> None:
    """Begin a transaction: everything that a reader sees in one is of one moment."""
    driver_of(connection).execute(how)
