"""Whether the words (FTS5) are those of the passages.

FTS5's own check is a command, so it needs a connection that writes, and it would hold up the ledger
for as long as it reads every text. So it is given the words in a copy, in memory, and compares that
with the passages where they are, both as of one moment.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING
from urllib.parse import quote

from cortex_actors.domain.hit import Diagnosis, Repair, Severity
from cortex_actors.storage.ledger.connection import STEPS
from cortex_actors.storage.tables.system import WORDS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import Connection

    from cortex_actors.storage.health.scope import Scope

# ruff: noqa: S608 - the names are the schema's own.

#: The tables in which FTS5 keeps a list; the content is the passages.
_SHADOWS = ("data", "idx", "docsize", "config")

#: Passages whose words are counted and that are not there, or the other way round.
_UNEVEN = (
    "SELECT count(*) FROM {view} AS p "
    "FULL JOIN {name}_docsize AS d ON d.id = p.id WHERE p.id IS NULL OR d.id IS NULL"
)

#: The same for SQLite before 3.39, which has no full join.
_UNEVEN_OLD = (
    "SELECT (SELECT count(*) FROM {view} WHERE id NOT IN (SELECT id FROM {name}_docsize)) + "
    "(SELECT count(*) FROM {name}_docsize WHERE id NOT IN (SELECT id FROM {view}))"
)


def words(opened: Connection, scope: Scope) -> Iterator[Diagnosis]:
    """Compare both lists with the passages: first whose words there are, then which."""
    for name in WORDS:
        wrong = _uneven(opened, name) or _unlike(opened, name, scope)
        if wrong:
            yield Diagnosis(
                "words", f"{name}: {wrong}", Severity.ERROR, "cortex doctor --repair", Repair.WORDS
            )
            continue
        counted = opened.exec_driver_sql(f"SELECT count(*) FROM {name}_docsize").scalar_one()
        yield Diagnosis("words", f"{name}: those of {counted:,} passages")


def _uneven(opened: Connection, name: str) -> str:
    """Return that passages lack their words, or words their passage; "" when neither."""
    query = _UNEVEN if sqlite3.sqlite_version_info >= (3, 39) else _UNEVEN_OLD
    found = opened.exec_driver_sql(query.format(name=name, view=WORDS[name])).scalar_one()
    return f"{found} passages lack their words, or are gone and still have some" if found else ""


def _unlike(opened: Connection, name: str, scope: Scope) -> str:
    """Return that the words are not those of the passages; "" when they are."""
    query = "SELECT sql FROM sqlite_schema WHERE name = ?"
    declared = str(opened.exec_driver_sql(query, (name,)).scalar_one())
    with closing(_beside(scope)) as memory:
        memory.set_progress_handler(opened.info.get("over"), STEPS)
        try:
            _copy(memory, name, declared)
            memory.execute(f"INSERT INTO {name} ({name}, rank) VALUES ('integrity-check', 1)")
        except sqlite3.DatabaseError as error:
            if error.sqlite_errorname.startswith(("SQLITE_CORRUPT", "SQLITE_ERROR")):
                return "they are not the words of the passages"
            raise
    return ""


def _beside(scope: Scope) -> sqlite3.Connection:
    """Return a database in memory that sees the ledger as `ledger`, and cannot write it."""
    memory = sqlite3.connect("file::memory:", uri=True, isolation_level=None)
    memory.execute("PRAGMA temp_store = MEMORY")
    address = f"file:{quote(os.fsencode(scope.path))}?mode=ro"
    memory.execute("ATTACH ? AS ledger", (address,))
    return memory


def _copy(memory: sqlite3.Connection, name: str, declared: str) -> None:
    """Make a list of words as the ledger has it, over the ledger's passages."""
    _, _, definition = declared.partition(" USING ")
    memory.execute("BEGIN")
    memory.execute(f"CREATE TEMP VIEW {WORDS[name]} AS SELECT id, text FROM ledger.{WORDS[name]}")
    memory.execute(f"CREATE VIRTUAL TABLE temp.{name} USING {definition}")
    for shadow in _SHADOWS:
        table = f"{name}_{shadow}"
        memory.execute(f"DELETE FROM temp.{table}")
        memory.execute(f"INSERT INTO temp.{table} SELECT * FROM ledger.{table}")
