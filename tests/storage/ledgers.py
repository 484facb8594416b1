"""Real ledgers as files, made quickly, and the damage that is done to them."""

from __future__ import annotations

import functools
import json
import os
import re
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from cortex_actors.home import Home
from cortex_actors.storage.ledger import connection as opening
from cortex_actors.storage.ledger.connection import migrate
from cortex_actors.testing import EPOCH, ManualClock

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy import Engine

#: Bytes of a page.
PAGE = 4_096


@functools.cache
def template() -> bytes:
    """Return a ledger without content, migrated once."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "cortex.db"
        engine = opening.open_writing(path)
        migrate(engine, path)
        engine.dispose()
        return path.read_bytes()


def statements(engine: Engine) -> dict[str, str]:
    """Return what made each table and index of a ledger, without what only looks different."""
    query = "SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL"
    with engine.begin() as connection:
        rows = connection.exec_driver_sql(query).all()
    # A table that was renamed has its name, and those it refers to, in quotation marks.
    plain = str.maketrans({'"': " ", "(": " ( ", ")": " ) ", ",": " , "})
    return {name: _in_order(" ".join(sql.translate(plain).split())) for name, sql in rows}


def _in_order(sql: str) -> str:
    """Return a statement with a table's constraints sorted: their order means nothing."""
    body, end, options = sql.rpartition(" )")
    columns, *constraints = re.split(r" , (?=CONSTRAINT |UNIQUE |(?:PRIMARY|FOREIGN) KEY )", body)
    return " , ".join([columns, *sorted(constraints)]) + end + options


class Filed:
    """A home with a ledger that nobody has open."""

    def __init__(self, root: Path, events: int = 0) -> None:
        """Make it, with a project and some events that a consumer waits for."""
        self.home = Home(root)
        self.home.create()
        self.path = self.home.ledger
        self.clock = ManualClock()
        self.path.write_bytes(template())
        self.run("INSERT INTO owner VALUES (1, 7, 1, 1)")
        self.run(
            "INSERT INTO projects (id, name, root, added_at) VALUES ('prj_1', 'atlas', '/atlas', 1)"
        )
        self.say(events)

    def run(self, statement: str, *values: object) -> None:
        """Change the ledger and close it in order."""
        with closing(sqlite3.connect(self.path)) as opened, opened:
            opened.execute(statement, values)

    def say(self, count: int) -> list[str]:
        """Store so many events more, each with a delivery; return their ids."""
        before = self.count("events")
        names = [event_id(before + each) for each in range(count)]
        payload = json.dumps({"project_id": "prj_1", "path": "/atlas/CLAUDE.md"})
        with closing(sqlite3.connect(self.path)) as opened, opened:
            for name in names:
                row = opened.execute(
                    "INSERT INTO events (id, topic, payload, at, source) VALUES (?, ?, ?, ?, ?)",
                    (name, "file:changed", payload, EPOCH, "test" * 20),
                )
                opened.execute(
                    "INSERT INTO deliveries (consumer, seq, key) VALUES ('accumulator', ?, ?)",
                    (row.lastrowid, "/atlas/CLAUDE.md"),
                )
        return names

    def ask(self, query: str) -> list[tuple[object, ...]]:
        """Return the rows of a query."""
        with closing(sqlite3.connect(self.path)) as opened:
            return opened.execute(query).fetchall()

    def count(self, table: str) -> int:
        """Return how many rows a table has."""
        return int(str(self.ask(f"SELECT count(*) FROM {table}")[0][0]))  # noqa: S608 - ours

    def root_of(self, name: str) -> int:
        """Return the page on which a table or an index begins."""
        found = self.ask(f"SELECT rootpage FROM sqlite_schema WHERE name = '{name}'")  # noqa: S608 - ours
        return int(str(found[0][0]))

    def leaf_of(self, name: str) -> int:
        """Return the first page below that one."""
        number = 1 if name == "sqlite_schema" else self.root_of(name)
        page = self.path.read_bytes()[(number - 1) * PAGE :][:PAGE]
        start = 100 if number == 1 else 0
        first = int.from_bytes(page[start + 12 : start + 14], "big")
        return int.from_bytes(page[first : first + 4], "big")

    def overwrite(self, page: int, content: bytes, *, at: int = 0) -> None:
        """Write into a page, past SQLite."""
        with self.path.open("r+b") as file:
            file.seek((page - 1) * PAGE + at)
            file.write(content)

    def names(self, pattern: str = "*") -> list[str]:
        """Return the names in the home that match."""
        return sorted(each.name for each in self.home.root.glob(pattern))


def event_id(number: int) -> str:
    """Return the id of an event."""
    return f"evt_{number:026d}"


def unclosed(filed: Filed, work: Callable[[sqlite3.Connection], object]) -> None:
    """Write and leave the WAL as a killed process does."""
    copies = {}
    opened = sqlite3.connect(filed.path)
    opened.execute("PRAGMA wal_autocheckpoint = 0")
    with opened:
        work(opened)
    for name in filed.names("cortex.db*"):
        copies[name] = (filed.home.root / name).read_bytes()
    opened.close()
    for name, content in copies.items():
        if not name.endswith("-shm"):
            (filed.home.root / name).write_bytes(content)
    assert os.path.getsize(f"{filed.path}-wal")  # noqa: PTH202 - the name is made of two
