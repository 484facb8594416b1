"""How the ledger's file is opened: one connection that writes, a few that only read.

The SQLite that many Pythons carry (before 3.51.3) has the WAL-reset bug: two connections that both
write and checkpoint can lose pages. So exactly one connection writes and checkpoints; readers are
opened read-only and never checkpoint.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from sqlalchemy import Engine, create_engine, event
from sqlalchemy.pool import QueuePool, StaticPool

if TYPE_CHECKING:
    from pathlib import Path

#: Connections that may read at the same time (each on a thread of its own).
READERS = 2

#: Of every connection. `synchronous=FULL`: with NORMAL, half of the simulated power cuts lost
#: commits that had been acknowledged.
_PRAGMAS = (
    "PRAGMA busy_timeout = 5000",
    "PRAGMA foreign_keys = ON",
    "PRAGMA synchronous = FULL",
    "PRAGMA mmap_size = 0",
    "PRAGMA trusted_schema = OFF",
    "PRAGMA cell_size_check = ON",
)


def writing(path: Path) -> Engine:
    """Return the engine of the one connection that writes; every transaction begins IMMEDIATE."""
    engine = create_engine(
        f"sqlite:///{path}", poolclass=StaticPool, connect_args={"check_same_thread": False}
    )
    event.listen(engine, "connect", _prepare_writer)
    event.listen(engine, "begin", _begin_immediate)
    return engine


def reading(path: Path) -> Engine:
    """Return the engine of the connections that read; a write through it is an error."""
    url = f"sqlite:///file:{quote(str(path))}?mode=ro&uri=true"
    engine = create_engine(url, poolclass=QueuePool, pool_size=READERS, max_overflow=0)
    event.listen(engine, "connect", _prepare_reader)
    event.listen(engine, "begin", _begin)
    return engine


def _prepare_writer(connection: Any, _record: object) -> None:
    """Set up the writing connection; the driver is kept from beginning transactions itself."""
    connection.isolation_level = None
    connection.text_factory = _text
    for pragma in ("PRAGMA journal_mode = WAL", *_PRAGMAS):
        connection.execute(pragma)


def _prepare_reader(connection: Any, _record: object) -> None:
    """Set up a reading connection."""
    connection.isolation_level = None
    connection.text_factory = _text
    for pragma in (*_PRAGMAS, "PRAGMA query_only = ON"):
        connection.execute(pragma)


def _text(value: bytes) -> str:
    """Return text as it was given: names of files may hold bytes that are not UTF-8."""
    return value.decode("utf-8", "surrogateescape")


def _begin_immediate(connection: Any) -> None:
    """Take the write lock at once: a deferred transaction can fail in its middle instead."""
    connection.exec_driver_sql("BEGIN IMMEDIATE")


def _begin(connection: Any) -> None:
    """Begin a read transaction: everything one reader sees is of one moment."""
    connection.exec_driver_sql("BEGIN")
