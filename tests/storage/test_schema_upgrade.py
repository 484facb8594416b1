from __future__ import annotations

import random
import sqlite3
import stat
from contextlib import closing
from itertools import chain
from typing import TYPE_CHECKING

import pytest
from sqlalchemy.exc import IntegrityError

from cortex_actors.storage.ledger import connection as opening
from cortex_actors.storage.ledger.migrate import migrate
from cortex_actors.storage.migrations.versions.v0001 import STATEMENTS
from cortex_actors.storage.schema import SCHEMA_VERSION, metadata
from tests.storage.ledgers import statements
from tests.storage.support import opened

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from sqlalchemy import Engine

Row = tuple[object, ...]

#: Rows of each of the larger tables.
MANY = 50

#: A file's name whose bytes are not UTF-8, as the ledger keeps it.
ODD = b"/atlas/\xff/CLAUDE.md"

#: What Alembic leaves in a ledger of version 1.
STAMP = (
    "CREATE TABLE alembic_version (version_num VARCHAR(32) PRIMARY KEY)",
    "INSERT INTO alembic_version VALUES ('0001')",
    "PRAGMA user_version = 1",
)

#: Categories of insights.
WORDS = ("convention", "principle", "technique", "warning", "preference", "fact", "pattern")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Give a ledger of version 1 with content."""
    path = tmp_path / "cortex.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as ledger:
        ledger.execute("PRAGMA journal_mode = WAL")
        ledger.execute("BEGIN")
        for statement in chain(STATEMENTS, STAMP):
            ledger.execute(statement)
        fill(ledger)
        ledger.execute("COMMIT")
    return path


@pytest.fixture
def engine(path: Path) -> Iterator[Engine]:
    """Give the writing engine of that ledger."""
    engine = opening.writing(path)
    yield engine
    engine.dispose()


def fill(ledger: sqlite3.Connection) -> None:
    """Write what the code of version 1 would, chosen at random."""
    chance = random.Random(1)
    put(ledger, "owner", [(1, 7, 42, 1)])
    put(ledger, "projects", [(f"prj_{n}", "atlas", f"/atlas/{n}", n, n % 2) for n in range(4)])
    put(ledger, "projects", [("prj_odd", b"\xff", b"/atlas/\xff", 9, 1)])
    hashes = [f"{chance.getrandbits(256):064x}" for _ in range(MANY)]
    ids = [f"ins_{each[:20]}" for each in hashes]
    put(ledger, "insights", [insight(each, chance) for each in hashes])
    places = [(n, each, f"f{n}", n % 3, "prj_odd", ODD, None) for n, each in enumerate(ids)]
    put(ledger, "insight_sources", [(*each, 1, 1 + each[0], 5, None) for each in places])
    put(ledger, "observations", [(n, f"r{r}", 5) for n in range(MANY) for r in range(n % 4)])
    put(ledger, "file_states", [(ODD, "prj_odd", 0, 1, 2, 3, "", 5, "cannot read it")])
    put(ledger, "principles", [principle(each, chance) for each in hashes[:10]])
    put(ledger, "derivations", [(f"pri_{each[:20]}", f"ins_{each[:20]}", 1) for each in hashes[:9]])
    put(ledger, "vectors", [("test/3", bytes.fromhex(each), b"\0" * 12) for each in hashes])
    put(ledger, "index_ops", [(n + 10, "cortex_insights", "x", "put") for n in range(MANY)])
    put(ledger, "index_state", [(1, 3, "token", "test/3", 9)])
    events = [(n + 1, f"evt_{n:026}", "custom:a", '{"n": 1}', n, "me") for n in range(MANY)]
    put(ledger, "events", events)
    put(ledger, "deliveries", [("reconciler", n, "key", n % 3, n, None) for n in range(1, 30)])
    put(ledger, "deliveries", [("organiser", 31, None, 1, 5, "Traceback")])
    put(ledger, "dead_letters", [("reconciler", 30, 5, "Traceback", 6)])
    states = ["completed", "unchanged", "failed"] * MANY
    runs = [(f"run_{n}", "accumulator", "prj_gone", ODD, states[n]) for n in range(MANY)]
    put(ledger, "runs", [(*run, 2, 1, '{"a": 1}', None) for run in runs])
    # A number that was given once is not given again: the newest event is gone.
    ledger.execute("DELETE FROM events WHERE seq = 50")


def insight(digest: str, chance: random.Random) -> Row:
    """Return an insight of version 1."""
    what = (chance.choice([None, "", "Tests"]), chance.choice(WORDS), '["a"]', None)
    status = chance.choice(["active", "withdrawn"])
    standing = (chance.random(), status, 5, 5 + chance.randrange(9), bytes.fromhex(digest))
    return (f"ins_{digest[:20]}", f"say {digest}", digest, *what, *standing)


def principle(digest: str, chance: random.Random) -> Row:
    """Return a principle of version 1."""
    what = (f"pri_{digest[:20]}", f"say {digest}", digest, "heuristic", "[]", '["python"]')
    return (*what, chance.random(), chance.random(), "active", 5)


def put(ledger: sqlite3.Connection, table: str, rows: Sequence[Row]) -> None:
    """Write rows."""
    marks = ", ".join("?" * len(rows[0]))
    ledger.executemany(f"INSERT INTO {table} VALUES ({marks})", rows)  # noqa: S608 - ours


def content(path: Path, columns: dict[str, list[str]]) -> dict[str, list[Row]]:
    """Return every row of those tables, of those columns, in an order of its own."""
    with closing(sqlite3.connect(path)) as ledger:
        lists = {
            table: ", ".join(f'"{each}"' for each in names) for table, names in columns.items()
        }
        return {
            table: sorted(ledger.execute(f"SELECT {names} FROM {table}"), key=repr)  # noqa: S608 - ours
            for table, names in lists.items()
        }


def columns(path: Path) -> dict[str, list[str]]:
    """Return the tables of a ledger with their columns."""
    with closing(sqlite3.connect(path)) as ledger:
        tables = ledger.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        return {
            table: [row[1] for row in ledger.execute(f"PRAGMA table_info({table})")]
            for (table,) in tables
            if table not in {"sqlite_sequence", "alembic_version"}
        }


def ask(engine: Engine, sql: str) -> list[Row]:
    """Return the rows of a query."""
    with engine.begin() as connection:
        return [tuple(row) for row in connection.exec_driver_sql(sql)]


class TestRows:
    def test_all_are_kept(self, engine: Engine, path: Path) -> None:
        """Every row of a ledger of version 1 is there afterwards, to the byte."""
        first = columns(path)
        before = content(path, first)
        found = migrate(engine, path)

        assert 1 == found
        assert all(before.values())
        assert before == content(path, first)

    def test_new_columns(self, engine: Engine, path: Path) -> None:
        """What version 1 did not know is empty, or what it always was."""
        migrate(engine, path)

        assert [(0,)] == ask(engine, "SELECT DISTINCT resolves FROM projects")
        assert [(None, 0)] == ask(engine, "SELECT DISTINCT agent, dry_run FROM runs")
        assert [(None,)] == ask(engine, "SELECT DISTINCT superseded_by FROM insights")
        assert [(None, 0.5)] == ask(engine, "SELECT DISTINCT elaboration, quality FROM principles")
        assert [(None,)] == ask(engine, "SELECT DISTINCT idempotency_key FROM events")

    def test_vectors_of_principles(self, engine: Engine, path: Path) -> None:
        """A principle finds the vector of its insight; one that comes of nothing has none."""
        migrate(engine, path)
        query = (
            "SELECT p.text_hash = coalesce(i.text_hash, zeroblob(32)), count(*)"
            " FROM principles AS p LEFT JOIN derivations AS d ON d.principle_id = p.id"
            " LEFT JOIN insights AS i ON i.id = d.insight_id GROUP BY i.id IS NULL, 1"
        )

        assert [(1, 9), (1, 1)] == ask(engine, query)

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
        assert [(SCHEMA_VERSION,)] == ask(engine, "PRAGMA user_version")

    def test_nothing_is_left_over(self, engine: Engine, path: Path) -> None:
        """There are the code's tables and indexes, as many as in a new ledger, and no other."""
        migrate(engine, path)
        new = opening.writing(path.with_name("new.db"))
        migrate(new, path.with_name("new.db"))
        expected, found = statements(new), statements(engine)
        for each in (expected, found):
            del each["alembic_version"]  # Alembic's own, in the words of each of its versions
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
            ask(engine, "UPDATE deliveries SET seq = 99 WHERE seq = 31 RETURNING seq")

    async def test_opens(self, path: Path) -> None:
        """A ledger of version 1 is opened by the daemon's own actor, and written."""
        async with opened(path.parent) as store:
            await store.says("/projects/atlas/CLAUDE.md", "use ruff")
            found = await store.rows("SELECT count(*) FROM insights")

        assert [(MANY + 1,)] == found


class TestCopy:
    def test_is_the_old_one(self, engine: Engine, path: Path) -> None:
        """The ledger as it was is kept, with what lay in its WAL, for the owner alone."""
        ask(engine, "INSERT INTO projects VALUES ('prj_late', 'late', '/late', 1, 1) RETURNING id")
        first = columns(path)
        before = content(path, first)
        migrate(engine, path)
        (copy,) = (path.parent / "backups").glob("before-v1-*.db")

        assert first == columns(copy)
        assert before == content(copy, first)
        assert 0o600 == stat.S_IMODE(copy.stat().st_mode)


class TestFailure:
    @pytest.mark.parametrize(
        "change",
        [
            "UPDATE insights SET category = 'opinion'",
            "UPDATE events SET id = 'e' || seq",
            "UPDATE runs SET state = 'lost'",
        ],
    )
    def test_says_so_and_changes_nothing(self, engine: Engine, path: Path, change: str) -> None:
        """A row that version 1 cannot have written stops it, and the ledger is as it was."""
        with closing(sqlite3.connect(path, isolation_level=None)) as ledger:
            ledger.execute(change)
        first = columns(path)
        before = content(path, first)
        with pytest.raises(IntegrityError, match="CHECK constraint failed"):
            migrate(engine, path)

        assert first == columns(path)
        assert before == content(path, first)
        assert [(1,)] == ask(engine, "PRAGMA user_version")
