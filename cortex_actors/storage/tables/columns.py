"""What every table is made of: their one collection, text that may be bytes, and what is allowed.

Whatever a specification closes (a set of words, a range of numbers) is closed here, so that no
caller can forget it. The words of a set come from the domain where it has them.

Long lists in pieces that one statement takes, and values of dataclasses as rows and back.
"""

from __future__ import annotations

import functools
import re
import sys
from dataclasses import fields
from enum import Enum
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from sqlalchemy import CheckConstraint, Column, Integer, LargeBinary, MetaData
from sqlalchemy import Text as Utf8
from sqlalchemy.types import REAL, TypeDecorator

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from sqlalchemy import ColumnElement, Connection, Dialect, Row, Select, Table
    from sqlalchemy.types import TypeEngine

    Kind: TypeAlias = type[TypeEngine[Any]]


#: Every table of the ledger.
metadata = MetaData()

#: Bytes of the SHA-256 by which a text's vector is found.
DIGEST = 32

#: Characters of a ULID.
_ULID = 26

#: Hex digits of the content hash that an id keeps.
_ID_DIGITS = 20


class Text(TypeDecorator[str]):
    """Text that may hold a file's name whose bytes are not UTF-8; such a value is kept as a blob.

    Refusing it would be worse: one folder with such a name would crash its watcher for ever.
    """

    impl = Utf8
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | bytes | None:
        """Return what the driver takes."""
        return stored_text(value)

    def process_result_value(self, value: str | bytes | None, dialect: Dialect) -> str | None:
        """Return what was given."""
        return given_text(value)


def stored_text(value: str | None) -> str | bytes | None:
    """Return a text as `Text` stores it; who writes past SQLAlchemy asks for it here."""
    if value is None or value.isascii():
        return value
    encoded = value.encode("utf-8", "surrogateescape")
    return value if encoded.decode("utf-8", "replace") == value else encoded


def given_text(value: str | bytes | None) -> str | None:
    """Return a text as it was before `stored_text`."""
    return value.decode("utf-8", "surrogateescape") if isinstance(value, bytes) else value


#: A column and the check of what it holds, to be unpacked into a table.
Checked: TypeAlias = tuple[Column[Any], CheckConstraint]


def _checked(
    column: str, kind: Kind, *, check: str, name: str, options: Mapping[str, Any]
) -> Checked:
    """Return a column with a named check; `options` are the column's own, as `nullable`."""
    return Column(column, kind, **options), CheckConstraint(check, name=name)


def one_of(column: str, words: Iterable[str], **options: Any) -> Checked:
    """Return a column that holds one of those words; NULL passes where it may be."""
    known = ", ".join(f"'{word}'" for word in words)
    check, name = f"{column} IN ({known})", f"{column}_is_known"
    return _checked(column, Text, check=check, name=name, options=options)


def yes_or_no(column: str, **options: Any) -> Checked:
    """Return a column that is 0 or 1."""
    check, name = f"{column} IN (0, 1)", f"{column}_is_yes_or_no"
    return _checked(column, Integer, check=check, name=name, options=options)


def share(column: str, **options: Any) -> Checked:
    """Return a column that lies between 0 and 1."""
    check, name = f"{column} BETWEEN 0 AND 1", f"{column}_is_a_share"
    return _checked(column, REAL, check=check, name=name, options=options)


def cosine(column: str, **options: Any) -> Checked:
    """Return a column that is a cosine."""
    check, name = f"{column} BETWEEN -1 AND 1", f"{column}_is_a_cosine"
    return _checked(column, REAL, check=check, name=name, options=options)


def at_least(column: str, least: int, *, kind: Kind = Integer, **options: Any) -> Checked:
    """Return a column that is a number not below another."""
    check, name = f"{column} >= {least}", f"{column}_is_at_least_{least}"
    return _checked(column, kind, check=check, name=name, options=options)


def filled(column: str, **options: Any) -> Checked:
    """Return a column whose text says something."""
    check, name = f"{column} <> ''", f"{column}_is_not_empty"
    return _checked(column, Text, check=check, name=name, options=options)


def digest(column: str, **options: Any) -> Checked:
    """Return a column that is a SHA-256 as bytes."""
    check, name = f"length({column}) = {DIGEST}", f"{column}_is_a_digest"
    return _checked(column, LargeBinary, check=check, name=name, options=options)


def hex_digest(column: str, **options: Any) -> Checked:
    """Return a column that is a SHA-256 as lower-case hex digits."""
    check = f"length({column}) = {2 * DIGEST} AND {column} NOT GLOB '*[^0-9a-f]*'"
    return _checked(column, Text, check=check, name=f"{column}_is_a_digest", options=options)


def id_of_content(prefix: str, **options: Any) -> Checked:
    """Return the id that is the prefix and the first digits of the content hash."""
    check = f"id = '{prefix}' || substr(content_hash, 1, {_ID_DIGITS})"
    return _checked("id", Text, check=check, name="id_is_of_the_content", options=options)


def id_of_moment(prefix: str, **options: Any) -> Checked:
    """Return the id that is the prefix and a ULID."""
    check = f"id GLOB '{prefix}*' AND length(id) = {len(prefix) + _ULID}"
    return _checked("id", Text, check=check, name="id_is_of_the_moment", options=options)


T = TypeVar("T")

#: Values bound to one statement: SQLite takes some 32,000, and a long list costs time to compile.
BOUND = 1_000


def chunks(items: Iterable[T]) -> Iterator[list[T]]:
    """Yield the items in lists of at most `BOUND`; nothing for no items."""
    left = iter(items)
    while found := list(islice(left, BOUND)):
        yield found


def rows_in(
    connection: Connection, query: Select[Any], column: ColumnElement[Any], ids: Iterable[Any]
) -> Iterator[Any]:
    """Yield what a query finds where a column is one of those values, however many they are."""
    for some in chunks(dict.fromkeys(ids)):
        yield from connection.execute(query.where(column.in_(some)))


def entity(cls: Callable[..., T], row: Row[Any] | dict[str, Any], **given: Any) -> T:
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


def as_row(table: Table, value: Any, **given: Any) -> dict[str, Any]:
    """Return a dataclass as a row: what the table has columns for; `given` goes before it."""
    names = [each.name for each in fields(value) if each.name in table.c]
    return {name: getattr(value, name) for name in names if name not in given} | given
