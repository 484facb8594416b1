"""What the code and the driver hand each other: text that may be bytes, long lists, rows.

Long lists go in pieces that one statement takes; dataclasses become rows, and rows dataclasses.
"""

from __future__ import annotations

import functools
import re
import sys
from collections.abc import Mapping
from dataclasses import fields
from enum import Enum
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import sqlalchemy as sa
from sqlalchemy.types import TypeDecorator

from cortex_actors.storage.tables.dialect import execute_many, make_marks

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence


class Text(TypeDecorator[str]):
    """Text that may hold a file's name whose bytes are not UTF-8; such a value is kept as a blob.

    Refusing it would be worse: one folder with such a name would crash its watcher for ever.
    """

    impl = sa.Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: sa.Dialect) -> str | bytes | None:
        """Return what the driver takes."""
        return encode_text(value)

    def process_result_value(self, value: str | bytes | None, dialect: sa.Dialect) -> str | None:
        """Return what was given."""
        return decode_text(value)


def encode_text(value: str | None) -> str | bytes | None:
    """Return a text as `Text` stores it; who writes past SQLAlchemy asks for it here."""
    if value is None or value.isascii():
        return value
    encoded = value.encode("utf-8", "surrogateescape")
    return value if encoded.decode("utf-8", "replace") == value else encoded


def decode_text(value: str | bytes | None) -> str | None:
    """Return a text as it was before `encode_text`."""
    return value.decode("utf-8", "surrogateescape") if isinstance(value, bytes) else value


T = TypeVar("T")
K = TypeVar("K", bound="Hashable")

#: Values bound to one statement: SQLite takes some 32,000, and a long list costs time to compile.
BOUND = 1_000


def split_chunks(items: Iterable[T]) -> Iterator[list[T]]:
    """Yield the items in lists of at most `BOUND`; nothing for no items."""
    left = iter(items)
    while found := list(islice(left, BOUND)):
        yield found


def select_in(
    connection: sa.Connection,
    query: sa.Select[Any],
    column: sa.ColumnElement[Any],
    ids: Iterable[Any],
) -> Iterator[Any]:
    """Yield what a query finds where a column is one of those values, however many they are."""
    for some in split_chunks(dict.fromkeys(ids)):
        yield from connection.execute(query.where(column.in_(some)))


def count_rows(
    connection: sa.Connection, table: sa.FromClause, *where: sa.ColumnElement[bool]
) -> int:
    """Return how many rows a table, or a query, has that fulfil conditions."""
    query = sa.select(sa.func.count()).select_from(table).where(*where)
    return int(connection.execute(query).scalar_one())


def load_page(
    connection: sa.Connection, query: sa.Select[Any], *, limit: int, skip: int = 0
) -> tuple[Sequence[Any], int]:
    """Return some rows of a query, in its order, and how many it has on all pages."""
    rows = connection.execute(query.limit(limit).offset(skip)).all()
    return rows, count_rows(connection, query.order_by(None).subquery())


def count_by(
    connection: sa.Connection, column: sa.ColumnElement[Any], *where: sa.ColumnElement[bool]
) -> dict[str, int]:
    """Return how many rows that fulfil conditions have each value of a column, in its order."""
    query = sa.select(column, sa.func.count()).where(*where).group_by(column).order_by(column)
    return dict(connection.execute(query).all())


def put_rows(
    connection: sa.Connection,
    table: sa.Table,
    rows: Iterable[Mapping[str, Any]],
    *,
    change: Iterable[str] | Mapping[str, str] | None = None,
    key: Sequence[str] = (),
) -> int:
    """Write rows; one whose key is there gets the columns `change` replaced, or all given ones.

    A mapping says in SQL what each of them gets, of the row that is there and of `excluded`. With
    an empty `change` it stays as it is. Where a key is all that is given, it must be new, or the
    driver's `IntegrityError` is raised. Rows all have the same columns. `key` names the unique
    columns in place of the primary key. Returns how many rows were written.
    """
    if not (made := list(rows)):
        return 0
    if change is not None and not isinstance(change, Mapping):
        change = {each: f'excluded."{each}"' for each in change}
    again = None if change is None else tuple(change.items())
    # Past SQLAlchemy, which took more than half of the time in which a small file is learned.
    statement, held = _insertion(
        table, connection.dialect, names=tuple(made[0]), key=tuple(key), change=again
    )
    return execute_many(connection, statement, (_values(row, held) for row in made))


#: Columns of a row, and what makes the driver's values of theirs; None for what is as it is.
_Held: TypeAlias = "Sequence[tuple[str, Callable[[Any], Any] | None]]"


@functools.lru_cache(BOUND)
def _insertion(
    table: sa.Table,
    dialect: sa.Dialect,
    *,
    names: tuple[str, ...],
    key: tuple[str, ...],
    change: tuple[tuple[str, str], ...] | None,
) -> tuple[str, _Held]:
    """Return the statement that writes rows of those columns, and how their values are stored."""
    key = key or tuple(each.name for each in table.primary_key)
    listed = ", ".join(f'"{each}"' for each in names)
    statement = f'INSERT INTO "{table.name}" ({listed}) VALUES ({make_marks(names)})'  # noqa: S608 - ours
    if change is None:
        change = tuple((each, f'excluded."{each}"') for each in names if each not in key) or None
    if change:
        given = ", ".join(f'"{name}" = {value}' for name, value in change)
        known = ", ".join(f'"{each}"' for each in key)
        statement += f" ON CONFLICT ({known}) DO UPDATE SET {given}"
    elif change is not None:
        statement += " ON CONFLICT DO NOTHING"
    kinds = (table.c[each].type.dialect_impl(dialect).bind_processor(dialect) for each in names)
    return statement, tuple(zip(names, kinds, strict=True))


def _values(row: Mapping[str, Any], held: _Held) -> tuple[Any, ...]:
    """Return the values of a row as the driver takes them."""
    return tuple(row[name] if store is None else store(row[name]) for name, store in held)


def group_pairs(pairs: Iterable[tuple[K, T]]) -> dict[K, list[T]]:
    """Return the second of each pair by the first, both in the order in which they come."""
    found: dict[K, list[T]] = {}
    for key, value in pairs:
        found.setdefault(key, []).append(value)
    return found


def match_columns(table: sa.Table, **wanted: object) -> list[sa.ColumnElement[bool]]:
    """Return the conditions that columns have those values; one that is None asks for nothing."""
    return [table.c[name] == value for name, value in wanted.items() if value is not None]


def drop_in(connection: sa.Connection, column: sa.Column[Any], ids: Iterable[Any]) -> None:
    """Delete the rows where a column is one of those values, however many they are."""
    for some in split_chunks(ids):
        connection.execute(sa.delete(column.table).where(column.in_(some)))


def change_rows(
    connection: sa.Connection,
    table: sa.Table,
    rows: Iterable[Mapping[str, Any]],
    *where: sa.ColumnElement[bool],
) -> None:
    """Change the rows whose id is `one` to the other values, where the conditions hold."""
    if made := list(rows):
        chosen = table.c.id == sa.bindparam("one")
        connection.execute(sa.update(table).where(chosen, *where), made)


def change_in(
    connection: sa.Connection,
    column: sa.Column[Any],
    ids: Iterable[Any],
    values: Mapping[str, Any],
    *where: sa.ColumnElement[bool],
) -> None:
    """Change the rows where a column is one of those values, however many, and conditions hold."""
    for some in split_chunks(ids):
        statement = sa.update(column.table).where(column.in_(some), *where)
        connection.execute(statement.values(values))


def make_entity(cls: Callable[..., T], row: sa.Row[Any] | dict[str, Any], **given: Any) -> T:
    """Return a row as a value of a dataclass; `given` are fields that no column has as they are.

    Words become those of the field's enumeration, lists tuples, 0 and 1 truth values.
    """
    held = row if isinstance(row, dict) else row._mapping  # noqa: SLF001 - SQLAlchemy's public name
    for name, kind in _kinds(cls).items():
        if name not in given and name in held:
            value = held[name]
            given[name] = value if kind is None or value is None else kind(value)
    return cls(**given)


@functools.cache
def _kinds(cls: Any) -> dict[str, Callable[[Any], Any] | None]:
    """Return the fields of a dataclass, and what makes their values; None for what is as it is."""
    known = {**vars(sys.modules[cls.__module__]), "tuple": tuple, "bool": bool}
    kinds = {each.name: known.get(re.split(r"\W", str(each.type))[0]) for each in fields(cls)}
    makes = (Enum, tuple, bool)
    return {
        name: kind if isinstance(kind, type) and issubclass(kind, makes) else None
        for name, kind in kinds.items()
    }


def as_dict(row: sa.Row[Any], *names: str) -> dict[str, Any]:
    """Return a row as its columns by their names, all or those that are named."""
    held = row._mapping  # noqa: SLF001 - SQLAlchemy's public name
    return {name: held[name] for name in names or held}


def as_row(table: sa.Table, value: Any, **given: Any) -> dict[str, Any]:
    """Return a dataclass as a row: what the table has columns for; `given` goes before it."""
    names = [each.name for each in fields(value) if each.name in table.c]
    return {name: getattr(value, name) for name in names if name not in given} | given
