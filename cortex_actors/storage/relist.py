"""A damaged ledger whose list of tables cannot be read gets that of its backup, in a copy.

Without `sqlite_schema` SQLite finds no table, however many of their pages are whole; and with some
hundred tables and indexes it takes up a good part of a small ledger. Every backup holds the list,
and was made of the same file, so its tables begin on the same pages as long as no migration came
between. So the copy gets the header of the backup and an empty first page behind it, and SQLite
itself writes the backup's list there, on new pages at the end of the file.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

from cortex_actors.storage.copying import make_private, refuse_without_room
from cortex_actors.storage.files import beside, reader

if TYPE_CHECKING:
    from pathlib import Path

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
    with closing(reader(backup, still=True)) as good:
        tables = good.execute(_LIST).fetchall()
    for source, target in ((damaged, scratch), (beside(damaged)[0], beside(scratch)[0])):
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
    # Bytes of a page; 1 stands for what two bytes cannot hold.
    size = int.from_bytes(header[16:18], "big")
    size = 65_536 if size == 1 else size
    header[_COUNTS] = bytes(12)
    # A leaf of a table's tree: no free block, no cell, where cells begin, no fragments.
    usable = size - header[20]
    leaf = b"\x0d\0\0\0\0" + (usable % 65_536).to_bytes(2, "big") + b"\0"
    return bytes(header) + leaf + bytes(size - HEADER - len(leaf))
