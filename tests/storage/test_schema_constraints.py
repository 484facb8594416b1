from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import CheckConstraint, Integer, Table, UniqueConstraint, create_engine
from sqlalchemy.pool import StaticPool

from cortex_actors.storage.tables.schema import metadata
from tests.storage.schema_cases import ALLOWED, REFUSED
from tests.storage.schema_rows import ROWS

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="module")
def filled() -> Iterator[sqlite3.Connection]:
    """Give a ledger in memory with a row in each table; whoever changes it takes that back."""
    engine = create_engine("sqlite://", poolclass=StaticPool)
    metadata.create_all(engine)
    with engine.connect() as connection:
        driver = connection.connection.driver_connection
        assert isinstance(driver, sqlite3.Connection)
        driver.isolation_level = None
        driver.execute("PRAGMA foreign_keys = ON")
        for table, rows in ROWS.items():
            for row in rows:
                names, marks = ", ".join(row), ", ".join("?" * len(row))
                sql = f"INSERT INTO {table} ({names}) VALUES ({marks})"  # noqa: S608 - ours
                driver.execute(sql, tuple(row.values()))
        yield driver
    engine.dispose()


@pytest.fixture
def ledger(filled: sqlite3.Connection) -> Iterator[sqlite3.Connection]:
    """Give that ledger inside a transaction that is taken back."""
    filled.execute("BEGIN")
    yield filled
    filled.execute("ROLLBACK")


def says(constraint: str) -> str:
    """Return what SQLite says of a violated constraint."""
    if "->" in constraint:
        return "FOREIGN KEY constraint failed"
    if constraint.endswith(")"):
        table, columns = constraint[:-1].split("(")
        return "UNIQUE constraint failed: " + ", ".join(
            f"{table}.{column}" for column in columns.split(", ")
        )
    return "CHECK constraint failed: " + constraint.split(".")[1]


def constraints(table: Table) -> Iterator[str]:
    """Yield the constraints of a table as `REFUSED` names them, but for its primary key."""
    of_columns = [each for column in table.columns for each in column.constraints]
    for each in [*table.constraints, *of_columns]:
        if isinstance(each, CheckConstraint):
            yield f"{table.name}.{each.name or str(each.sqltext).split()[0]}"
        elif isinstance(each, UniqueConstraint):
            yield f"{table.name}({', '.join(each.columns.keys())})"
    for index in table.indexes:
        if index.unique:
            yield f"{table.name}({', '.join(index.columns.keys())})"
    for column in table.columns:
        named = (key.target_fullname.split(".")[0] for key in column.foreign_keys)
        yield from (f"{table.name}.{column.name} -> {parent}" for parent in named)


def must_say(table: Table) -> Iterator[str]:
    """Yield the columns that take no NULL, but for a row's number: SQLite gives that itself."""
    for column in table.columns:
        number = isinstance(column.type, Integer) and len(table.primary_key.columns) == 1
        if not (column.nullable or (column.primary_key and number)):
            yield column.name


class TestRefused:
    @pytest.mark.parametrize("constraint", REFUSED)
    def test_refuses(self, ledger: sqlite3.Connection, constraint: str) -> None:
        """A change that the constraint forbids fails and names it."""
        with pytest.raises(sqlite3.IntegrityError) as caught:
            ledger.execute(REFUSED[constraint])

        assert says(constraint) in str(caught.value)

    def test_each_is_tried(self) -> None:
        """Every constraint of the schema has a change that violates it."""
        known = {each for table in metadata.tables.values() for each in constraints(table)}

        assert known == set(REFUSED)

    @pytest.mark.parametrize("table", metadata.tables)
    def test_same_row_twice(self, ledger: sqlite3.Connection, table: str) -> None:
        """No table takes a row whose key it has."""
        with pytest.raises(sqlite3.IntegrityError, match=f"UNIQUE constraint failed: {table}"):
            ledger.execute(f"INSERT INTO {table} SELECT * FROM {table}")  # noqa: S608 - ours

    @pytest.mark.parametrize("table", metadata.tables)
    def test_nothing(self, ledger: sqlite3.Connection, table: str) -> None:
        """A column that must say something takes no NULL."""
        for column in must_say(metadata.tables[table]):
            with pytest.raises(sqlite3.IntegrityError, match=f"NOT NULL .*{table}.{column}"):
                ledger.execute(f"UPDATE {table} SET {column} = NULL")  # noqa: S608 - ours


class TestAllowed:
    @pytest.mark.parametrize("what", ALLOWED)
    def test_lets_pass(self, ledger: sqlite3.Connection, what: str) -> None:
        """What only looks like a violation is taken."""
        assert ledger.execute(ALLOWED[what]).rowcount > 0

    def test_every_table_has_a_row(self, ledger: sqlite3.Connection) -> None:
        """The rows that constraints are tried on are valid, and no table is left out."""
        assert set(metadata.tables) == set(ROWS)
        assert [] == ledger.execute("PRAGMA foreign_key_check").fetchall()
