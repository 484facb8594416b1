"""What differs between SQL engines: the one place that knows which of them a connection leads to.

Repositories write SQL that SQLite and PostgreSQL share, with `?` or `?1` for values. For a list of
values they write `IN :ids` (or `IN :numbers`), which is the first value, and `:each(...) AS name`
for the elements of a JSON list as rows with a column `value`. `ENGINES` says how an engine words
that; the product has SQLite, and `tests/storage/postgres.py` adds PostgreSQL to hold the
repositories to it.

Short statements go to the driver itself: SQLAlchemy costs 30 to 60 us each, SQLite some 4.
"""

from __future__ import annotations

import functools
import json
import sqlite3
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import sqlalchemy as sa
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

#: What a short statement found: rows to iterate over or to fetch, and how many it changed.
Cursor: TypeAlias = sqlite3.Cursor

#: How `schema.sql` ends a table that has no hidden number.
UNNUMBERED = " WITHOUT ROWID"

#: Statements whose wording is kept: those with a mark for each value of a list are many.
_WORDED = 1_000


@dataclass(frozen=True, slots=True)
class Engine:
    """How an engine is spoken to.

    Attributes:
        word: makes its statement of one of ours.
        cursor: opens a cursor on the driver's connection that takes such statements.
        newest: asks for the highest number that a table ever gave; the value is its name.
        words: statements on a list of words and the view of its texts, by what they do. An engine
            without any keeps no words, and what is searched by them is not found.
        functions: how it writes the functions at the end of this module.

    """

    word: Callable[[str], str]
    cursor: Callable[[Any], Any]
    newest: str
    words: Mapping[str, str]
    functions: Mapping[str, str]


#: The commands of FTS5; what changes a list has no effect but on that.
_FTS5 = {
    "forget": "INSERT INTO {words} ({words}, rowid, text)"
    " SELECT 'delete', id, text FROM {view} WHERE id IN :numbers",
    "learn": "INSERT INTO {words} (rowid, text) SELECT id, text FROM {view} WHERE id > ?",
    "rebuild": "INSERT INTO {words} ({words}) VALUES ('rebuild')",
    "check": "INSERT INTO {words} ({words}, rank) VALUES ('integrity-check', 1)",
    "flush": "SAVEPOINT words",
    "flushed": "RELEASE words",
    "merge": "INSERT INTO {words} ({words}, rank) VALUES ('merge', ?)",
}


@functools.lru_cache(_WORDED)
def _sqlite(statement: str) -> str:
    """Return a statement as SQLite takes it."""
    every = "(SELECT value FROM json_each(?1))"
    whole = statement.replace(":ids", every).replace(":numbers", every)
    return whole.replace(":each(", "json_each(")


#: By SQLAlchemy's name of the engine.
ENGINES = {
    "sqlite": Engine(
        _sqlite,
        sqlite3.Connection.cursor,
        "SELECT seq FROM sqlite_sequence WHERE name = ?",
        _FTS5,
        {
            "aside": "+{}",
            "greatest": "max({all})",
            "least": "min({all})",
            "has_word": "EXISTS (SELECT 1 FROM json_each({}) WHERE value = {})",
            "is_like": "{} GLOB {}",
        },
    )
}


def execute(connection: sa.Connection, statement: str, *values: object) -> Cursor:
    """Run a short statement on the driver's connection."""
    engine = ENGINES[connection.dialect.name]
    cursor = engine.cursor(connection.connection.driver_connection)
    return cast("Cursor", cursor.execute(engine.word(statement), values))


def execute_for(
    connection: sa.Connection, statement: str, ids: Iterable[Any], *more: object
) -> Cursor:
    """Run a short statement about ids: `:ids` is their list."""
    return execute(connection, statement, json.dumps(sorted(set(ids))), *more)


def execute_many(
    connection: sa.Connection, statement: str, rows: Iterable[Sequence[object]]
) -> int:
    """Run a short statement once for each row; return how many rows it changed in all."""
    engine = ENGINES[connection.dialect.name]
    cursor = engine.cursor(connection.connection.driver_connection)
    cursor.executemany(engine.word(statement), rows)
    return int(cursor.rowcount)


def change_words(
    connection: sa.Connection, how: str, *, words: str, view: str, values: Sequence[object] = ()
) -> None:
    """Do with a list of words what an engine's `words` say for it; nothing where they do not."""
    form = ENGINES[connection.dialect.name].words.get(how)
    if form is not None:
        execute(connection, form.format(words=words, view=view), *values)


def find_newest(connection: sa.Connection, table: sa.Table) -> int:
    """Return the highest number that a table's rows ever had, those that are gone too."""
    query = ENGINES[connection.dialect.name].newest
    found = execute(connection, query, table.name).fetchone()
    return int(found[0] or 0) if found else 0


def make_marks(values: Sequence[object]) -> str:
    """Return a question mark for each value, as a statement takes them."""
    return ", ".join("?" * len(values))


def select_number(table: sa.Table) -> sa.ColumnElement[int]:
    """Return the hidden number of a row, in the order in which rows came."""
    return sa.literal_column(f"{table.name}.rowid", sa.Integer)


def _function(name: str, kind: type[Any]) -> Callable[..., sa.ColumnElement[Any]]:
    """Return a function of SQL that each engine writes as its `functions` say."""
    made = type(name, (FunctionElement,), {"inherit_cache": True, "type": kind()})

    @compiles(made)
    def write(element: Any, compiler: Any, **how: Any) -> str:
        parts = [compiler.process(each, **how) for each in element.clauses]
        form = ENGINES[compiler.dialect.name].functions[name]
        return form.format(*parts, all=", ".join(parts))

    return made


_aside = _function("aside", sa.Integer)

#: The greatest and the least of several values of one row; none of them is NULL.
greatest = _function("greatest", sa.Integer)
least = _function("least", sa.Integer)

#: Whether a JSON list holds a word.
has_word = _function("has_word", sa.Boolean)

#: Whether a text fits a shell pattern.
is_like = _function("is_like", sa.Boolean)


def avoid_index(column: sa.ColumnElement[Any]) -> sa.ColumnElement[Any]:
    """Return a column by which the engine does not look rows up: another way is faster."""
    return sa.type_coerce(_aside(column), column.type)
