"""One unit of work in a ledger that no daemon has open; the caller holds the home's lock.

The ledger is opened as a daemon would, with two exceptions: it is neither migrated nor recovered.
Both change much more than one event, and a start does them.

A backup takes the place of the ledger because a user asks for it; the daemon must be down.

The present ledger is renamed aside with its WAL (`cortex.db.replaced-<time>`), never deleted. A
backup of an older version is fine, if it is not from before the baseline: the next start migrates
it.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from cortex_actors.errors import (
    BadInput,
    ConfigurationError,
    DaemonDown,
    DiskFault,
    LedgerDown,
    NotFound,
)
from cortex_actors.process import lock
from cortex_actors.storage.ledger import backups, connection, faults
from cortex_actors.storage.ledger.backups import copy, find_problem, read_version
from cortex_actors.storage.ledger.files import (
    SCHEMA_VERSION,
    list_beside,
    measure_size,
    open_reader,
    refuse_schema,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from sqlalchemy import Connection

    from cortex_actors.clock import Clock
    from cortex_actors.home import Home


T = TypeVar("T")

#: What opening and writing a file raise: short statements go to the driver itself.
_FAILURES = (*faults.ERRORS, OSError)


def commit(path: Path, unit: Callable[[Connection], T]) -> T:
    """Run a unit of work in one transaction; return its value after the commit.

    Whatever the unit raises undoes it. Raises `DaemonDown` where there is no ledger yet,
    `ConfigurationError` for one that has to be migrated, `StoreTooNew`, `StoreTooOld`, `DiskFault`
    for a damaged one, and `LedgerDown` when it cannot be written: then nothing was kept.
    """
    try:
        backups.finish(path)
        # It has to be there, and whole.
        refuse_damaged(path, doing="write")
        if not path.exists():
            raise DaemonDown(
                f'there is no ledger {path} yet: start a daemon once with "cortex start"'
            )
        engine = connection.open_writing(path)
    except _FAILURES as error:
        raise faults.explain(error, path, doing="open") or error from error
    try:
        connection.settle(engine, path)
        with engine.begin() as opened:
            _refuse_version(opened, path)
            value = unit(opened)
    except _FAILURES as error:
        found = faults.explain(error, path, doing="write")
        if isinstance(found, DiskFault) and not faults.is_damage(error):
            # Closing would write the log into a file whose disk has just failed.
            connection.abandon(engine)
            faults.suspect(path, str(found))
        else:
            engine.dispose()
        raise found or error from error
    except BaseException:
        engine.dispose()
        raise
    # The last connection to close empties the log and removes it, as a clean stop does.
    engine.dispose()
    return value


def refuse_damaged(path: Path, *, doing: str) -> None:
    """Raise `DiskFault` for a ledger that the next start recovers; nothing for any other.

    `doing` completes "cannot ... the ledger". Raises `LedgerDown` when its state is unknown.
    """
    if wrong := faults.find_damage(path):
        raise DiskFault(
            f"cannot {doing} the ledger {path}: it is damaged ({wrong}); the next start recovers "
            "it: cortex start"
        )


def _refuse_version(opened: Connection, path: Path) -> None:
    """Raise for a ledger of another version than this program's."""
    found = connection.read_version(opened)
    if found == SCHEMA_VERSION:
        return
    refuse_schema(found, path, doing="write the ledger", instead="use another home")
    raise ConfigurationError(
        f"cannot write the ledger {path}: it has schema version {found}, this program writes "
        f"{SCHEMA_VERSION}; a start brings it up to date: cortex start"
    )


@contextmanager
def hold_alone(home: Home) -> Iterator[None]:
    """Hold the home's lock, so that no daemon starts meanwhile.

    Raises `AlreadyRunning`, and `NotFound` where there is no home.
    """
    if not home.root.is_dir():
        raise NotFound(f"there is no home at {home.root}; give one with --home or CORTEX_HOME")
    with closing(lock.acquire(home)):
        backups.finish(home.ledger)
        yield


def copy_offline(home: Home, to: str | None, *, clock: Clock) -> dict[str, Any]:
    """Copy the ledger of a daemon that is down, as `daemon.backup` tells it.

    Raises as `hold_alone`, and `DiskFault` for a ledger that the next start recovers.
    """
    with hold_alone(home):
        try:
            return backups.copy_for_user(home, to, clock=clock)
        except LedgerDown as error:
            if faults.is_damage(error):
                refuse_damaged(home.ledger, doing="copy")
            raise


#: The newest backup, whatever it is called.
LATEST = "latest"

#: Tables that say nothing to a person who compares two ledgers.
_INNER = frozenset({"alembic_version", "index_state", "index_ops", "owner", "leases", "passages"})

#: What the names of the full-text tables and of their own tables begin with.
_WORDS = "words_"

_TABLES = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%'"


@dataclass(frozen=True, slots=True)
class Contents:
    """What a ledger holds, as far as it can be read."""

    #: Table -> rows.
    rows: Mapping[str, int]
    #: The number of the last event that was ever stored; None when that cannot be read.
    last_seq: int | None = None


@dataclass(frozen=True, slots=True)
class BackupChoice:
    """A backup that passed every check, beside the ledger that it would replace."""

    path: Path
    version: int
    backup: Contents
    ledger: Contents

    @property
    def missing(self) -> dict[str, int]:
        """How many rows fewer the backup has, by table; a table that it has more of is left out."""
        rows = {name: n - self.backup.rows.get(name, 0) for name, n in self.ledger.rows.items()}
        return {name: fewer for name, fewer in rows.items() if fewer > 0}


def find(home: Home, wanted: str) -> Path:
    """Return the file that a name, a path or `latest` means; raises `NotFound`."""
    if wanted == LATEST:
        for each in backups.list_backups(home.backups):
            return each.path
        raise NotFound(f"there is no backup in {home.backups}; make one with: cortex daemon backup")
    places = [home.backups / wanted, home.backups / f"{wanted}.db", Path(wanted).absolute()]
    for place in places:
        if place.is_file():
            return place
    message = f"there is no backup {wanted}, neither in {home.backups} nor as a path"
    raise NotFound(f"{message}; list them with: cortex daemon backup --list")


def choose(home: Home, wanted: str) -> BackupChoice:
    """Return a backup that can be restored, and what it holds.

    Raises `NotFound`, `BadInput` for one that is damaged, `StoreTooNew`, `StoreTooOld`.
    """
    path = find(home, wanted)
    if any(measure_size(each) for each in list_beside(path)):
        message = f"cannot restore {path}: it is open, or was not closed in order"
        raise BadInput(f"{message}; copy it with: cortex daemon backup --to PATH --home ITS_HOME")
    if wrong := find_problem(path):
        message = f"cannot restore {path}: it is damaged: {wrong}"
        raise BadInput(f"{message}; choose another one: cortex daemon backup --list")
    found = read_version(path)
    refuse_schema(
        found, path, doing="restore", instead="choose another one: cortex daemon backup --list"
    )
    present = count_contents(home.ledger) if home.ledger.exists() else Contents({}, 0)
    return BackupChoice(path, found, count_contents(path, still=True), present)


def restore(home: Home, choice: BackupChoice, *, at: int) -> Path | None:
    """Put a backup in the ledger's place; return where that is now, None if there was none.

    The caller has the home's lock. A crash in here is made good by the next start. Raises
    `StorageFull`, `LedgerDown`.
    """
    path, was = home.ledger, home.ledger.exists()
    backups.finish(path)
    made = backups.name_part(path)
    copy(choice.path, made, still=True)
    backups.renew(made, path)
    aside = backups.commit(path, made, kind=backups.REPLACED, at=at)
    faults.name_marker(path).unlink(missing_ok=True)
    return aside if was else None


def count_contents(path: Path, *, still: bool = False) -> Contents:
    """Return what a ledger holds; tables that cannot be read are left out."""
    rows: dict[str, int] = {}
    last: int | None = None
    with suppress(sqlite3.Error), closing(open_reader(path, still=still)) as opened:
        tables = {row[0] for row in opened.execute(_TABLES)}
        for name in sorted(each for each in tables - _INNER if not each.startswith(_WORDS)):
            if (found := _number(opened, f'SELECT count(*) FROM "{name}"')) is not None:  # noqa: S608 - a name of its schema
                rows[name] = found
        last = _number(opened, "SELECT max(seq) FROM sqlite_sequence WHERE name = 'events'")
    return Contents(rows, last)


def _number(opened: sqlite3.Connection, query: str) -> int | None:
    """Return the number that a query finds; None where it cannot be read."""
    try:
        return int(opened.execute(query).fetchone()[0] or 0)
    except sqlite3.Error:
        return None
