from __future__ import annotations

import sqlite3
import stat
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import insert
from sqlalchemy.exc import IntegrityError

from cortex_actors.storage.ledger import connection as opening
from cortex_actors.storage.ledger.connection import migrate
from cortex_actors.storage.tables.schema import metadata
from tests.storage.later import NEW, OLD, become_later
from tests.storage.ledgers import statements, template
from tests.storage.schema_rows import ROWS
from tests.storage.support import opened

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from sqlalchemy import Engine

Row = tuple[object, ...]

#: A file's name whose bytes are not UTF-8, as the ledger keeps it.
ODD = b"/atlas/\xff/CLAUDE.md"


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give a ledger with content that the program has to migrate."""
    path = tmp_path / "cortex.db"
    path.write_bytes(template())
    engine = opening.open_writing(path)
    with engine.begin() as connection:
        for table, rows in ROWS.items():
            for row in rows:
                connection.execute(insert(metadata.tables[table]).values(row))
        connection.exec_driver_sql("UPDATE runs SET path = ?", (ODD,))
        # A number that was given once is not given again: the newest are gone.
        connection.exec_driver_sql("UPDATE sqlite_sequence SET seq = 50 WHERE name = 'events'")
        connection.exec_driver_sql("UPDATE sqlite_sequence SET seq = 59 WHERE name = 'index_ops'")
    engine.dispose()
    become_later(tmp_path / "later", monkeypatch.setattr)
    return path


@pytest.fixture
def engine(path: Path) -> Iterator[Engine]:
    """Give the writing engine of that ledger."""
    engine = opening.open_writing(path)
    yield engine
    engine.dispose()


def content(path: Path) -> dict[str, list[Row]]:
    """Return every row of the code's tables, in an order of its own."""
    with closing(sqlite3.connect(path)) as ledger:
        return {
            table: sorted(ledger.execute(f"SELECT * FROM {table}"), key=repr)  # noqa: S608 - ours
            for table in metadata.tables
        }


def ask(engine: Engine, sql: str) -> list[Row]:
    """Return the rows of a query."""
    with engine.begin() as connection:
        return [tuple(row) for row in connection.exec_driver_sql(sql)]


class TestRows:
    def test_all_are_kept(self, engine: Engine, path: Path) -> None:
        """Every row of an older ledger is there afterwards, to the byte."""
        before = content(path)
        found = migrate(engine, path)

        assert OLD == found
        assert all(before[each] for each in ROWS)
        assert before == content(path)

    def test_numbers_go_on(self, engine: Engine, path: Path) -> None:
        """The number of an event or an index operation that is gone is not given again."""
        migrate(engine, path)
        say = (
            "INSERT INTO events (id, topic, payload, at, source)"
            " VALUES ('evt_' || hex('thirteen char'), 'custom:a', '{}', 1, 'me') RETURNING seq"
        )
        tell = "INSERT INTO index_ops (collection, item_id, op) VALUES ('c', 'x', 'put')"

        assert [(51,)] == ask(engine, say)
        assert [(60,)] == ask(engine, tell + " RETURNING seq")


class TestWhole:
    def test_checks(self, engine: Engine, path: Path) -> None:
        """SQLite finds nothing wrong afterwards: no broken page, key or reference."""
        migrate(engine, path)

        assert [("ok",)] == ask(engine, "PRAGMA integrity_check")
        assert [] == ask(engine, "PRAGMA foreign_key_check")
        assert [(NEW,)] == ask(engine, "PRAGMA user_version")

    def test_nothing_is_left_over(self, engine: Engine, path: Path) -> None:
        """There are the code's tables and indexes, as many as in a new ledger, and no other."""
        migrate(engine, path)
        new = opening.open_writing(path.with_name("new.db"))
        migrate(new, path.with_name("new.db"))
        expected, found = statements(new), statements(engine)
        new.dispose()
        indexes = {each.name for table in metadata.tables.values() for each in table.indexes}

        assert expected == found
        assert indexes <= set(found)

    def test_references_hold(self, engine: Engine, path: Path) -> None:
        """Foreign keys are on, and the tables made anew refer to each other."""
        migrate(engine, path)
        with pytest.raises(IntegrityError, match="FOREIGN KEY"):
            ask(engine, "DELETE FROM insights RETURNING id")

        with pytest.raises(IntegrityError, match="FOREIGN KEY"):
            ask(engine, "UPDATE deliveries SET seq = 99 RETURNING seq")

    async def test_opens(self, path: Path) -> None:
        """An older ledger is opened by the daemon's own actor, and written."""
        async with opened(path.parent) as store:
            await store.says("/projects/atlas/CLAUDE.md", "use ruff")
            found = await store.rows("SELECT count(*) FROM insights")

        assert [(len(ROWS["insights"]) + 1,)] == found


class TestCopy:
    def test_is_the_old_one(self, engine: Engine, path: Path) -> None:
        """The ledger as it was is kept, with what lay in its WAL, for the owner alone."""
        late = "INSERT INTO projects (id, name, root, added_at) VALUES ('prj_z', 'late', '/z', 1)"
        ask(engine, f"{late} RETURNING id")
        before = content(path), statements(engine)
        migrate(engine, path)
        (copy,) = (path.parent / "backups").glob(f"before-v{OLD}-*.db")
        kept = opening.open_writing(copy)
        found = content(copy), statements(kept)
        version = ask(kept, "PRAGMA user_version")
        kept.dispose()

        assert before == found
        assert [(OLD,)] == version
        assert 0o600 == stat.S_IMODE(copy.stat().st_mode)


class TestFailure:
    @pytest.mark.parametrize("change", ["state = 'lost'", "dry_run = 2"])
    def test_says_so_and_changes_nothing(self, engine: Engine, path: Path, change: str) -> None:
        """A row that the constraints forbid stops a migration, and the ledger is as it was."""
        with closing(sqlite3.connect(path, isolation_level=None)) as ledger:
            ledger.execute("PRAGMA ignore_check_constraints = ON")
            ledger.execute(f"UPDATE runs SET {change}")  # noqa: S608 - ours
        before = content(path), statements(engine)
        with pytest.raises(IntegrityError, match="CHECK constraint failed"):
            migrate(engine, path)

        assert before == (content(path), statements(engine))
        assert [(OLD,)] == ask(engine, "PRAGMA user_version")
