"""One unit of work in a ledger that no daemon has open, for whoever holds the home's lock.

The ledger is opened as a daemon would, with two exceptions: it is neither migrated nor recovered.
Both change much more than one event, and a start does them.
"""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING, TypeVar

from sqlalchemy.exc import DBAPIError

from cortex_actors.errors import ConfigurationError, DaemonDown, DiskFault, StoreTooNew
from cortex_actors.storage import check, connection, faults, replacement
from cortex_actors.storage.version import SCHEMA_VERSION

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from sqlalchemy import Connection, Engine

T = TypeVar("T")

#: What opening and writing a file raise: short statements go to the driver itself.
_FAILURES = (DBAPIError, sqlite3.Error, OSError)


def commit(path: Path, unit: Callable[[Connection], T]) -> T:
    """Run a unit of work in one transaction; return its value after the commit.

    Whatever the unit raises undoes it. Raises `DaemonDown` where there is no ledger yet,
    `ConfigurationError` for one that has to be migrated, `StoreTooNew`, `DiskFault` for a damaged
    one, and `LedgerDown` when it cannot be written: then nothing was kept.
    """
    try:
        replacement.finish(path)
        _refuse_unfit(path)
        engine = connection.writing(path)
    except _FAILURES as error:
        raise faults.of(error, path, doing="open") or error from error
    try:
        connection.settle(engine, path)
        with engine.begin() as opened:
            _refuse_version(opened, path)
            value = unit(opened)
    except _FAILURES as error:
        raise _closed(engine, path, error) from error
    except BaseException:
        engine.dispose()
        raise
    # The last connection to close empties the log and removes it, as a clean stop does.
    engine.dispose()
    return value


def refuse_damaged(path: Path, *, doing: str) -> None:
    """Raise `DiskFault` for a ledger that the next start recovers; nothing for any other.

    `doing` completes "cannot ... the ledger". Raises `LedgerDown` when nobody can tell.
    """
    if wrong := check.damage(path):
        message = (
            f"cannot {doing} the ledger {path}: it is damaged ({wrong}); the next start recovers "
            "it: cortex start"
        )
        raise DiskFault(message)


def _refuse_unfit(path: Path) -> None:
    """Raise for a ledger that is not there, or not whole."""
    refuse_damaged(path, doing="write")
    if not path.exists():
        message = f'there is no ledger {path} yet: start a daemon once with "cortex start"'
        raise DaemonDown(message)


def _refuse_version(opened: Connection, path: Path) -> None:
    """Raise for a ledger of another version than this program's."""
    found = int(opened.exec_driver_sql("PRAGMA user_version").scalar_one())
    if found == SCHEMA_VERSION:
        return
    if found > SCHEMA_VERSION:
        message = (
            f"cannot write the ledger {path}: it has schema version {found}, this program knows "
            f"{SCHEMA_VERSION}; install the newer cortex-actors or use another home"
        )
        raise StoreTooNew(message)
    message = (
        f"cannot write the ledger {path}: it has schema version {found}, this program writes "
        f"{SCHEMA_VERSION}; a start brings it up to date: cortex start"
    )
    raise ConfigurationError(message)


def _closed(engine: Engine, path: Path, error: Exception) -> Exception:
    """Close the connection that failed, and return what its failure means."""
    found = faults.of(error, path, doing="write")
    if isinstance(found, DiskFault) and not faults.is_damage(error):
        # Closing would write the log into a file whose disk has just failed.
        connection.abandon(engine)
        check.suspect(path, str(found))
    else:
        engine.dispose()
    return found or error
