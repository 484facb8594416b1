from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from cortex_actors.storage import passages
from cortex_actors.storage.index import pending
from cortex_actors.storage.ledger import connection as opening
from cortex_actors.storage.ledger.migrate import migrate
from cortex_actors.storage.migrations.versions import v0001, v0002

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from sqlalchemy import Engine

#: Insights: the letter of the hash -> heading, content and status.
INSIGHTS = {
    "a": ("Style", "use ruff", "active"),
    "b": (None, "tests first", "active"),
    "c": ("", "ports stay", "active"),
    "d": ("Old", "use pylint", "withdrawn"),
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Give a ledger of version 2 with insights, vectors, and an index that waits for one."""
    path = tmp_path / "cortex.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as ledger:
        ledger.execute("PRAGMA journal_mode = WAL")
        for statement in (*v0001.STATEMENTS, *v0002.statements()):
            ledger.execute(statement)
        ledger.execute("CREATE TABLE alembic_version (version_num VARCHAR(32) PRIMARY KEY)")
        ledger.execute("INSERT INTO alembic_version VALUES ('0002')")
        ledger.execute("PRAGMA user_version = 2")
        for letter, (heading, content, status) in INSIGHTS.items():
            ledger.execute(
                "INSERT INTO insights (id, content, content_hash, heading, category, tags,"
                " confidence, status, first_seen_at, last_seen_at, text_hash)"
                " VALUES (?, ?, ?, ?, 'fact', '[]', 0.5, ?, 1, 2, ?)",
                (f"ins_{letter * 20}", content, letter * 64, heading, status, digest(letter)),
            )
        ledger.execute("INSERT INTO index_ops VALUES (41, 'cortex_insights', ?, 'put')", named("b"))
        ledger.execute(
            "INSERT INTO index_ops VALUES (42, 'cortex_insights', ?, 'drop')", named("d")
        )
    return path


@pytest.fixture
def engine(path: Path) -> Iterator[Engine]:
    """Give the writing engine of that ledger."""
    engine = opening.writing(path)
    yield engine
    engine.dispose()


def digest(letter: str) -> bytes:
    """Return the hash of an insight's text."""
    return letter.encode() * 32


def named(letter: str) -> tuple[str]:
    """Return an insight's id, as a row."""
    return (f"ins_{letter * 20}",)


def give(path: Path, model: str, **vectors: bytes) -> None:
    """Store vectors as version 2 did."""
    with closing(sqlite3.connect(path)) as ledger, ledger:
        for letter, vector in vectors.items():
            ledger.execute("INSERT INTO vectors VALUES (?, ?, ?)", (model, digest(letter), vector))


def ask(engine: Engine, sql: str) -> list[tuple[object, ...]]:
    """Return the rows of a query."""
    with engine.begin() as connection:
        return [tuple(row) for row in connection.exec_driver_sql(sql)]


class TestPassages:
    def test_are_the_active_insights(self, engine: Engine, path: Path) -> None:
        """Each active insight can be found by the text that was embedded, and no other can."""
        found = migrate(engine, path)
        rows = ask(engine, "SELECT collection, item_id, place, text, text_hash FROM passages")

        assert 2 == found
        assert [
            ("cortex_insights", *named("a"), "both", "Style\nuse ruff", digest("a")),
            ("cortex_insights", *named("b"), "both", "tests first", digest("b")),
            ("cortex_insights", *named("c"), "both", "ports stay", digest("c")),
        ] == rows

    @pytest.mark.parametrize("words", passages.LISTS)
    def test_words(self, engine: Engine, path: Path, words: str) -> None:
        """They are found by their words in either list, whatever their endings."""
        migrate(engine, path)
        query = f"SELECT rowid FROM {words} WHERE {words} MATCH ?"  # noqa: S608 - ours
        with engine.begin() as connection:
            found = connection.exec_driver_sql(query, ("testing OR pylint",)).all()
            wrong = passages.disagreeing(connection)

        assert [(2,)] == found
        assert [] == wrong

    def test_what_the_index_waits_for(self, engine: Engine, path: Path) -> None:
        """The index is told the same afterwards, under the same numbers."""
        give(path, "test/1", b=b"\0\0\x80?", a=b"\0\0\x80?")
        migrate(engine, path)
        with engine.begin() as connection:
            changes = pending.changes(connection, "test/1", 10)
            held = pending.held(connection, "cortex_insights")

        told = [(each.seq, each.item_id, each.vector is not None) for each in changes]
        assert [(41, *named("b"), True), (42, *named("d"), False)] == told
        assert [*named("a"), *named("c")] == held


class TestVectors:
    def test_are_numbered(self, engine: Engine, path: Path) -> None:
        """Every vector is there, in the order in which it came, and numbers go on for ever."""
        give(path, "old", b=b"1234", a=b"5678")
        give(path, "new", a=b"9abc")
        migrate(engine, path)
        rows = ask(engine, "SELECT seq, model, text_hash, vector FROM vectors ORDER BY seq")
        ask(engine, "DELETE FROM vectors WHERE seq = 3 RETURNING seq")
        again = (
            "INSERT INTO vectors (model, text_hash, vector) VALUES ('new', x'00', x'00')"
            " RETURNING seq"
        )

        assert [
            (1, "old", digest("b"), b"1234"),
            (2, "old", digest("a"), b"5678"),
            (3, "new", digest("a"), b"9abc"),
        ] == rows
        assert [(4,)] == ask(engine, again)


class TestModel:
    @pytest.mark.parametrize(
        ("model", "provider", "name"),
        [
            ("all-MiniLM-L6-v2", "sentence-transformers", "all-MiniLM-L6-v2"),
            ("bge-small@0123abcd", "sentence-transformers", None),
            ("hashing-v1-384", "hashing", "hashing"),
        ],
    )
    def test_of_the_index(
        self, engine: Engine, path: Path, model: str, provider: str, name: str | None
    ) -> None:
        """The model whose vectors the index was told is active, and can be made again."""
        give(path, "another", c=b"1234")
        give(path, model, a=b"12345678", b=b"12345678", c=b"1")
        with closing(sqlite3.connect(path)) as ledger, ledger:
            ledger.execute("INSERT INTO index_state VALUES (1, 3, 'token', ?, 40)", (model,))
        migrate(engine, path)

        assert [(model, 2, "active", 0, provider, name)] == ask(
            engine, "SELECT * FROM embedding_models"
        )

    def test_without_an_index(self, engine: Engine, path: Path) -> None:
        """Where no index is, the model is the one whose vectors came last."""
        give(path, "old", a=b"12345678", b=b"12345678")
        give(path, "new", a=b"1234")
        migrate(engine, path)

        assert [("new", 1)] == ask(engine, "SELECT id, dimension FROM embedding_models")

    def test_without_vectors(self, engine: Engine, path: Path) -> None:
        """Where no vector is, no model is written down."""
        migrate(engine, path)

        assert [] == ask(engine, "SELECT * FROM embedding_models")
