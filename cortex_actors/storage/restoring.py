"""A backup takes the place of the ledger because somebody asks for it; the daemon must be down.

The present ledger is renamed aside with its WAL (`cortex.db.replaced-<time>`), never deleted. A
backup of an older version is fine: the next start migrates it.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from cortex_actors.errors import BadInput, NotFound, StoreTooNew
from cortex_actors.storage import backups, check, replacement
from cortex_actors.storage.copying import copy, problem, version
from cortex_actors.storage.files import beside, reader, size
from cortex_actors.storage.version import SCHEMA_VERSION

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cortex_actors.home import Home

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
class Choice:
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
        for each in backups.listed(home.backups):
            return each.path
        raise NotFound(f"there is no backup in {home.backups}; make one with: cortex backup")
    places = [home.backups / wanted, home.backups / f"{wanted}.db", Path(wanted).absolute()]
    for place in places:
        if place.is_file():
            return place
    message = f"there is no backup {wanted}, neither in {home.backups} nor as a path"
    raise NotFound(f"{message}; list them with: cortex backup --list")


def choose(home: Home, wanted: str) -> Choice:
    """Return a backup that can be restored, and what it holds.

    Raises `NotFound`, `BadInput` for one that is damaged, `StoreTooNew`.
    """
    path = find(home, wanted)
    if any(size(each) for each in beside(path)):
        message = f"cannot restore {path}: it is open, or was not closed in order"
        raise BadInput(f"{message}; copy it with: cortex backup --to PATH --home ITS_HOME")
    if wrong := problem(path):
        message = f"cannot restore {path}: it is damaged: {wrong}"
        raise BadInput(f"{message}; choose another one: cortex backup --list")
    if (found := version(path)) > SCHEMA_VERSION:
        message = (
            f"cannot restore {path}: it has schema version {found}, this program knows "
            f"{SCHEMA_VERSION}; install the newer cortex-actors"
        )
        raise StoreTooNew(message)
    present = contents(home.ledger) if home.ledger.exists() else Contents({}, 0)
    return Choice(path, found, contents(path, still=True), present)


def restore(home: Home, choice: Choice, *, at: int) -> Path | None:
    """Put a backup in the ledger's place; return where that is now, None if there was none.

    The caller has the home's lock. A crash in here is made good by the next start. Raises
    `StorageFull`, `LedgerDown`.
    """
    path, was = home.ledger, home.ledger.exists()
    replacement.finish(path)
    made = replacement.part(path)
    copy(choice.path, made, still=True)
    replacement.renew(made, path)
    aside = replacement.commit(path, made, kind=replacement.REPLACED, at=at)
    check.marker(path).unlink(missing_ok=True)
    return aside if was else None


def contents(path: Path, *, still: bool = False) -> Contents:
    """Return what a ledger holds; tables that cannot be read are left out."""
    rows: dict[str, int] = {}
    last: int | None = None
    try:
        with closing(reader(path, still=still)) as opened:
            tables = {row[0] for row in opened.execute(_TABLES)}
            for name in sorted(each for each in tables - _INNER if not each.startswith(_WORDS)):
                if (found := _number(opened, f'SELECT count(*) FROM "{name}"')) is not None:  # noqa: S608 - a name of its schema
                    rows[name] = found
            last = _number(opened, "SELECT max(seq) FROM sqlite_sequence WHERE name = 'events'")
    except sqlite3.Error:
        return Contents(rows, last)
    return Contents(rows, last)


def _number(opened: sqlite3.Connection, query: str) -> int | None:
    """Return the number that a query finds; None where it cannot be read."""
    try:
        return int(opened.execute(query).fetchone()[0] or 0)
    except sqlite3.Error:
        return None
