"""The ledger's tables in PostgreSQL: all that a second engine needs for the repositories to run.

It has no lists of words, and no hidden numbers: the tables that need one get a column `rowid`.
"""

from __future__ import annotations

import re
from contextlib import contextmanager
from itertools import count
from typing import TYPE_CHECKING, Any

import psycopg
import sqlalchemy as sa
from psycopg.types.numeric import Int8Dumper
from psycopg.types.string import TextLoader
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.types import REAL

from cortex_actors.storage.tables import dialect, schema
from tests.federation.postgres import serving

if TYPE_CHECKING:
    from collections.abc import Iterator

#: The elements of a JSON list, as rows of one column.
_EACH = "jsonb_array_elements_text({}) AS {}(value)"

#: The same of the list that is the first value.
_GIVEN = _EACH.format("?1::jsonb", "ids")

#: What SQLite's words are here. Hints for its planner have no counterpart.
_WORDS = (
    (r"IN :ids", f"IN (SELECT value FROM {_GIVEN})"),  # noqa: S608 - no value is in it
    (r"IN :numbers", f"IN (SELECT value::bigint FROM {_GIVEN})"),  # noqa: S608 - as above
    (r":each\((\?\d)\) AS (\w+)", _EACH.format(r"\1::jsonb", r"\2")),
    (r":each\(([\w.]+)\) AS (\w+)", _EACH.format(r"\1", r"\2")),
    (r" INDEXED BY \w+", ""),
    (r"CROSS JOIN (\w+ AS \w+) ON", r"JOIN \1 ON"),
    (r"([ (])\+(?=[a-z])", r"\1"),
    (r" IS NOT (?!NULL)", " IS DISTINCT FROM "),
    (r" IS (?=\?)", " IS NOT DISTINCT FROM "),
    (r"group_concat\(([\w.]+)\)", r"string_agg(\1::text, ',')"),
    (r"group_concat\(([\w.]+), ", r"string_agg(\1::text, "),
)

#: What the functions of the dialect are here.
_FUNCTIONS = {
    "aside": "{}",
    "greatest": "greatest({all})",
    "least": "least({all})",
    "has_word": "{} @> jsonb_build_array({}::text)",
    "is_like": "{} ~ replace(replace({}, '.', '\\.'), '*', '.*')",
}

#: The last number of a table whose numbers are called `id` or `seq`.
_LAST = (
    "SELECT last_value FROM pg_sequences WHERE sequencename IN ($1 || '_id_seq', $1 || '_seq_seq')"
)

#: What the conditions on columns are here.
_CHECKS = (
    (r"NOT GLOB '\*(\[.+?\])\*'", r"!~ '\1'"),
    (r"GLOB '(\w+)\*'", r"~ '^\1'"),
    (r"GLOB '(#(?:\[.+?\])+)'", r"~ '^\1$'"),
)


def _word(statement: str) -> str:
    """Return a statement as PostgreSQL takes it: with `$1` for the first value."""
    for pattern, instead in _WORDS:
        statement = re.sub(pattern, instead, statement)
    taken = max(map(int, re.findall(r"\?(\d)", statement)), default=0)
    numbers = count(taken + 1)
    return re.sub(r"\?(\d?)", lambda mark: f"${mark[1] or next(numbers)}", statement)


def _cursor(connection: Any) -> Any:
    """Return a cursor that takes such statements, and gives JSON as it is kept."""
    cursor = psycopg.RawCursor(connection)
    cursor.adapters.register_loader("jsonb", TextLoader)
    return cursor


class _Number(sa.Integer):
    """A number that is as long as it is: SQLAlchemy writes `::BIGINT` behind each otherwise."""

    render_bind_cast = False


class _Truth(Int8Dumper):
    """A truth value as the ledger has it: 0 or 1."""

    def dump(self, obj: Any) -> bytes:
        """Return it as a number."""
        return b"1" if obj else b"0"


@compiles(sa.Integer, "postgresql")
def _integer(element: Any, compiler: Any, **how: Any) -> str:
    return "BIGINT"


@compiles(REAL, "postgresql")
def _real(element: Any, compiler: Any, **how: Any) -> str:
    return "DOUBLE PRECISION"


@compiles(sa.JSON, "postgresql")
def _json(element: Any, compiler: Any, **how: Any) -> str:
    return "JSONB"


@compiles(sa.CheckConstraint, "postgresql")
def _check(element: Any, compiler: Any, **how: Any) -> str:
    text = str(compiler.visit_check_constraint(element, **how))
    for pattern, instead in _CHECKS:
        text = re.sub(pattern, instead, text)
    return text


def teach() -> None:
    """Let the repositories speak to PostgreSQL, too."""
    engine = dialect.Engine(_word, _cursor, _LAST, {}, _FUNCTIONS)
    dialect.ENGINES["postgresql"] = engine


@contextmanager
def tables() -> Iterator[sa.Engine]:
    """Run a server whose database has the ledger's tables."""
    teach()
    with serving() as server:
        where = {"host": str(server.folder), "port": str(server.port)}
        url = sa.URL.create("postgresql+psycopg", "postgres", database="postgres", query=where)
        engine = sa.create_engine(url)
        engine.dialect.colspecs = {**engine.dialect.colspecs, sa.Integer: _Number}
        sa.event.listen(engine, "connect", _prepare)
        with engine.begin() as connection:
            _create(connection)
        yield engine
        engine.dispose()


def _prepare(connection: psycopg.Connection, _record: object) -> None:
    """Have truth values sent as numbers."""
    connection.adapters.register_dumper(bool, _Truth)


def _create(connection: sa.Connection) -> None:
    """Make the tables, with numbers for those rows that have none."""
    for table in schema.metadata.sorted_tables:
        for index in table.indexes:
            only = index.dialect_options["sqlite"]["where"]
            index.dialect_options["postgresql"]["where"] = only
    schema.metadata.create_all(connection)
    for table in schema.metadata.sorted_tables:
        key = [each.type for each in table.primary_key]
        if table.dialect_options["sqlite"]["with_rowid"] and not isinstance(key[0], sa.Integer):
            add = f"ALTER TABLE {table.name} ADD COLUMN rowid BIGSERIAL"
            connection.exec_driver_sql(add)
