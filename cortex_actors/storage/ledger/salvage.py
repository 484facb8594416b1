"""What can still be read of a damaged ledger is brought into the one that takes its place.

The damaged file comes from the same rows as the backup and some more, so a row whose key the backup
has not is new. Each is read on its own, from both ends of its table where a page in the middle is
gone, and inserted where the schema's constraints let it: they say how an id, a hash, a number or a
word may look. Rows that can be made again from others are left out, and so are the states of files:
every file that changed since the backup is then read once more.

What changed in rows that the backup has stays as the backup has it (but for which projects are
followed): SQLite keeps no checksums, and a good row must not be replaced by one that may be bad.

A damaged ledger whose list of tables cannot be read gets that of its backup, in a copy.

Without `sqlite_schema` SQLite finds no table, however many of their pages are whole; and with some
hundred tables and indexes it takes up a good part of a small ledger. Every backup holds the list,
and was made of the same file, so its tables begin on the same pages as long as no migration came
between. So the copy gets the header of the backup and an empty first page behind it, and SQLite
itself writes the backup's list there, on new pages at the end of the file.

Findable: everything that may be found, rebuilt from the rows that say so.

A ledger that was brought back has rows without passages, and none of its words
can be trusted. What is made here is what the units of work that wrote those rows would have made.
"""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
from contextlib import closing, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sqlalchemy import JSON, Connection, Integer, Table, select

from cortex_actors import topics
from cortex_actors.errors import CortexError
from cortex_actors.storage import (
    agent_records,
    documents,
    insight_records,
    memory_records,
    passages,
)
from cortex_actors.storage.ledger.backups import make_private, refuse_without_room
from cortex_actors.storage.ledger.files import explain_failure, list_beside, open_reader
from cortex_actors.storage.tables import schema
from cortex_actors.storage.tables.columns import encode_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path


#: Made again from other rows, from files or from the settings; or about owners that are gone.
DERIVED = frozenset(
    {
        *("owner", "leases", "index_ops", "index_state", "passages", "vectors", "file_states"),
        *("clusters", "cluster_insights", "file_vectors"),
    }
)

#: Tables whose missing rows are named in a report: nothing else can say them again.
NAMED = {
    "events": ("id",),
    "dead_letters": ("consumer", "seq"),
    "memories": ("id",),
    "crumbs": ("id",),
    "projects": ("root",),
}

Row = tuple[Any, ...]

#: Items that may be found: their table, the collections of their passages, what rebuilds these.
KINDS: tuple[tuple[Table, tuple[str, ...], Callable[[Connection, Iterable[str]], int]], ...] = (
    (schema.insights, (insight_records.COLLECTION,), insight_records.remake),
    (schema.memories, tuple(memory_records.COLLECTIONS.values()), memory_records.remake),
    (schema.knowledge_chunks, (documents.COLLECTION,), documents.remake),
    (schema.crumbs, (agent_records.COLLECTION,), agent_records.remake),
)


@dataclass(slots=True)
class Salvaged:
    """What came back, and what the damaged file names that did not."""

    rows: dict[str, int] = field(default_factory=dict)
    missing: dict[str, int] = field(default_factory=dict)
    missing_ids: dict[str, list[str]] = field(default_factory=dict)
    #: Tables of which a part could not be read.
    unreadable: list[str] = field(default_factory=list)
    #: Whether not one table could be read, because the list of them could not.
    is_nothing: bool = False


def salvage(damaged: Path, made: Path) -> Salvaged:
    """Bring what can be read into a ledger that is not open, in one transaction.

    Raises `LedgerDown` when that one cannot be written.
    """
    found = Salvaged()
    with closing(sqlite3.connect(made, isolation_level=None)) as new:
        new.execute("PRAGMA foreign_keys = ON")
        new.execute("BEGIN IMMEDIATE")
        try:
            with closing(open_reader(damaged)) as old:
                for table in schema.metadata.sorted_tables:
                    if table.name not in DERIVED:
                        _bring(table, old, new, found)
                with suppress(sqlite3.DatabaseError):  # the projects that were followed last are
                    rows = old.execute("SELECT active, id FROM projects WHERE active IN (0, 1)")
                    new.executemany("UPDATE projects SET active = ? WHERE id = ?", rows.fetchall())
                # No number is given twice that was given before, even to a row that is gone.
                with suppress(sqlite3.DatabaseError):
                    rows = old.execute("SELECT seq, name FROM sqlite_sequence")
                    last = "UPDATE sqlite_sequence SET seq = max(seq, ?) WHERE name = ?"
                    new.executemany(last, rows.fetchall())
        except sqlite3.Error:
            found.unreadable = sorted(schema.metadata.tables.keys() - DERIVED)
        found.is_nothing = len(found.unreadable) == len(schema.metadata.tables.keys() - DERIVED)
        _hand_out(new, again="deliveries" in found.unreadable)
        new.execute("COMMIT")
    return found


def _bring(table: Table, old: sqlite3.Connection, new: sqlite3.Connection, found: Salvaged) -> None:
    """Insert the rows of one table that the new ledger has not."""
    columns = _columns(table, old, new)
    if not columns:
        found.unreadable.append(table.name)
        return
    names = ", ".join(f'"{each}"' for each in columns)
    marks = ", ".join("?" * len(columns))
    insert = f'INSERT OR IGNORE INTO "{table.name}" ({names}) VALUES ({marks})'  # noqa: S608 - names of the schema
    before = new.total_changes
    rows, keys, is_whole = _read(table, columns, old, there=_keys(table, new))
    waiting = [row for row in rows if _fits(table, columns, row)]
    # Rows of one table may belong to one another: again, until nothing more finds its place.
    while waiting:
        left = [row for row in waiting if not _inserted(new, insert, row)]
        if len(left) == len(waiting):
            break
        waiting = left
    if new.total_changes > before:
        found.rows[table.name] = new.total_changes - before
    if not is_whole:
        found.unreadable.append(table.name)
    missing = sorted(
        "/".join(each.hex() if isinstance(each, bytes) else str(each) for each in key)
        for key in keys - _keys(table, new)
    )
    if missing:
        found.missing[table.name] = len(missing)
        if table.name in NAMED:
            found.missing_ids[table.name] = missing


def _read(
    table: Table, columns: list[str], old: sqlite3.Connection, *, there: set[Row]
) -> tuple[list[Row], set[Row], bool]:
    """Return the rows of a table whose keys are not `there`, as far as they can be read.

    From the beginning, and where that ends too early, from the end as well. And the keys of every
    row that the table or one of its indexes names, and whether all of it could be read.
    """
    found: list[Row] = []
    keys: set[Row] = set()
    is_whole = True
    has_rowid = table.dialect_options["sqlite"].get("with_rowid") is not False
    own = ["rowid"] if has_rowid else [f'"{each.name}"' for each in table.primary_key]
    names = ", ".join(f'"{each}"' for each in columns)
    places = [columns.index(each) for each in _named(table)]
    for order in ("ASC", "DESC"):
        # In the order of the table's own tree, until one cannot be read.
        by = ", ".join(f"{each} {order}" for each in own)
        query = f'SELECT {names} FROM "{table.name}" NOT INDEXED ORDER BY {by}'  # noqa: S608 - names of the schema
        with suppress(sqlite3.DatabaseError):
            for row in old.execute(query):
                key = tuple([row[place] for place in places])
                keys.add(key)
                if key not in there:
                    found.append(row)
            break
        is_whole = False
    with suppress(sqlite3.DatabaseError):
        keys |= _keys(table, old)
    return found, keys, is_whole


def _columns(table: Table, old: sqlite3.Connection, new: sqlite3.Connection) -> list[str]:
    """Return the columns that both have; nothing when the damaged one cannot tell."""
    query = f'SELECT name FROM pragma_table_info("{table.name}")'  # noqa: S608 - a name of the schema
    try:
        known = {row[0] for row in old.execute(query)}
    except sqlite3.Error:
        return []
    both = [row[0] for row in new.execute(query) if row[0] in known]
    needed = {each.name for each in table.primary_key} | set(_named(table))
    return both if needed <= set(both) else []


def _fits(table: Table, columns: list[str], row: Row) -> bool:
    """Tell whether values are of the kinds that their columns hold; SQLite takes any."""
    for name, value in zip(columns, row, strict=True):
        kind = table.c[name].type
        if value is None:
            continue
        if isinstance(kind, Integer) and not isinstance(value, int):
            return False
        if isinstance(kind, JSON):
            try:
                json.loads(value)
            except (TypeError, ValueError, RecursionError):
                return False
    return True


def _inserted(new: sqlite3.Connection, insert: str, row: Row) -> bool:
    """Insert a row; tell whether it has its place, now or since before.

    Raises `LedgerDown` where the disk is to blame, not the row: then nothing is given up for lost.
    """
    try:
        new.execute(insert, row)
    except sqlite3.OperationalError as error:
        raise explain_failure("bring back what the damaged ledger holds", error) from error
    except (sqlite3.Error, ValueError):  # it belongs to a row that is not there; it is no text
        return False
    return True


def _hand_out(new: sqlite3.Connection, *, again: bool) -> None:
    """Let what was set aside not be handled as well; `again`: whose turn it was is not known."""
    new.execute(
        "DELETE FROM deliveries WHERE EXISTS (SELECT 1 FROM dead_letters AS d "
        "WHERE d.consumer = deliveries.consumer AND d.seq = deliveries.seq)"
    )
    if not again:
        return
    for seq, topic, payload in new.execute("SELECT seq, topic, payload FROM events").fetchall():
        # Whatever lies there: a payload may be any JSON, or none.
        with suppress(CortexError, ValueError, TypeError, AttributeError, RecursionError):
            key = encode_text(topics.compute_key(topic, topics.parse(topic, json.loads(payload))))
            for consumer in topics.find(topic).heard_by:
                new.execute(
                    "INSERT OR IGNORE INTO deliveries (consumer, seq, key) SELECT ?, ?, ? WHERE "
                    "NOT EXISTS (SELECT 1 FROM dead_letters WHERE consumer = ? AND seq = ?)",
                    (consumer, seq, key, consumer, seq),
                )


def _keys(table: Table, opened: sqlite3.Connection) -> set[Row]:
    """Return the keys of a table's rows; SQLite reads them from an index, if there is one."""
    names = ", ".join(f'"{each}"' for each in _named(table))
    query = f'SELECT {names} FROM "{table.name}" ORDER BY {names}'  # noqa: S608 - names of the schema
    return set(opened.execute(query))


def _named(table: Table) -> tuple[str, ...]:
    """Return the columns by which a report names a row."""
    return NAMED.get(table.name) or tuple(each.name for each in table.primary_key)


#: Bytes of the header before the first page's tree.
HEADER = 100

#: Where the header counts the pages (0 lets SQLite look at the file's size), and then where it
#: names the pages that are free and their number: none, so that nothing is written over.
_COUNTS = slice(28, 40)

_LIST = "SELECT type, name, tbl_name, rootpage, sql FROM sqlite_schema ORDER BY rowid"


def relist(damaged: Path, backup: Path, scratch: Path) -> None:
    """Copy a damaged ledger and its WAL, with the header and the list of tables of a backup.

    Raises `StorageFull` without room for it, `OSError`, and `sqlite3.Error` where the two cannot be
    of the same kind.
    """
    refuse_without_room(damaged, scratch.parent)
    with closing(open_reader(backup, still=True)) as good:
        tables = good.execute(_LIST).fetchall()
    for source, target in ((damaged, scratch), (list_beside(damaged)[0], list_beside(scratch)[0])):
        if source.exists():
            make_private(target)
            shutil.copyfile(source, target)
    page = _first_page(backup)
    # What was cut off stays empty: no page of the list is to lie where a table is thought to begin.
    most = max(scratch.stat().st_size, backup.stat().st_size)
    os.truncate(scratch, most // len(page) * len(page))
    # Once to bring in the WAL, which may hold a first page of its own, and once to stay.
    for rows in ([], tables):
        with scratch.open("r+b") as torn:
            torn.write(page)
        with closing(sqlite3.connect(scratch, isolation_level=None)) as opened:
            opened.execute("PRAGMA writable_schema = ON")
            opened.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            opened.execute("BEGIN")
            opened.executemany("INSERT INTO sqlite_schema VALUES (?, ?, ?, ?, ?)", rows)
            opened.execute("COMMIT")


def _first_page(backup: Path) -> bytes:
    """Return the first page of a database with the header of a backup, and no table."""
    with backup.open("rb") as good:
        header = bytearray(good.read(HEADER))
    # Bytes of a page; 1 means 65,536, which two bytes cannot hold.
    size = int.from_bytes(header[16:18], "big")
    size = 65_536 if size == 1 else size
    header[_COUNTS] = bytes(12)
    # A leaf of a table's tree: no free block, no cell, where cells begin, no fragments.
    usable = size - header[20]
    leaf = b"\x0d\0\0\0\0" + (usable % 65_536).to_bytes(2, "big") + b"\0"
    return bytes(header) + leaf + bytes(size - HEADER - len(leaf))


def refill(connection: Connection) -> int:
    """Let be found what may be, and nothing else, by all its words; return how much that is.

    The changes for the vector index are written down. Takes seconds at 50,000, and the
    transaction of a writer: it is for ledgers that are not in use yet.
    """
    passages.rebuild(connection)  # first: a change of words that are damaged would fail
    found = 0
    for table, collections, remake in KINDS:
        # What else lies in their collections is taken away.
        left = select(schema.passages.c.item_id)
        left = left.where(schema.passages.c.collection.in_(collections))
        found += remake(connection, connection.execute(select(table.c.id).union(left)).scalars())
    return found
