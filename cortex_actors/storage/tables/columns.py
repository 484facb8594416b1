"""What every table is made of: their one collection, text that may be bytes, and what is allowed.

Whatever a specification closes (a set of words, a range of numbers) is closed here, so that no
caller can forget it. The words of a set come from the domain where it has them.

Long lists in pieces that one statement takes.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, TypeVar

from sqlalchemy import CheckConstraint, MetaData
from sqlalchemy import Text as Utf8
from sqlalchemy.types import TypeDecorator

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from sqlalchemy import Dialect


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


def one_of(column: str, words: Iterable[str]) -> CheckConstraint:
    """Return the check that a column holds one of those words; NULL passes where it may be."""
    known = ", ".join(f"'{word}'" for word in words)
    return CheckConstraint(f"{column} IN ({known})", name=f"{column}_is_known")


def yes_or_no(column: str) -> CheckConstraint:
    """Return the check that a column is 0 or 1."""
    return CheckConstraint(f"{column} IN (0, 1)", name=f"{column}_is_yes_or_no")


def share(column: str) -> CheckConstraint:
    """Return the check that a column lies between 0 and 1."""
    return CheckConstraint(f"{column} BETWEEN 0 AND 1", name=f"{column}_is_a_share")


def cosine(column: str) -> CheckConstraint:
    """Return the check that a column is a cosine."""
    return CheckConstraint(f"{column} BETWEEN -1 AND 1", name=f"{column}_is_a_cosine")


def at_least(column: str, least: int) -> CheckConstraint:
    """Return the check that a column is a number not below another."""
    return CheckConstraint(f"{column} >= {least}", name=f"{column}_is_at_least_{least}")


def filled(column: str) -> CheckConstraint:
    """Return the check that a text says something."""
    return CheckConstraint(f"{column} <> ''", name=f"{column}_is_not_empty")


def digest(column: str) -> CheckConstraint:
    """Return the check that a column is a SHA-256 as bytes."""
    return CheckConstraint(f"length({column}) = {DIGEST}", name=f"{column}_is_a_digest")


def hex_digest(column: str) -> CheckConstraint:
    """Return the check that a column is a SHA-256 as lower-case hex digits."""
    return CheckConstraint(
        f"length({column}) = {2 * DIGEST} AND {column} NOT GLOB '*[^0-9a-f]*'",
        name=f"{column}_is_a_digest",
    )


def id_of_content(prefix: str) -> CheckConstraint:
    """Return the check that an id is the prefix and the first digits of the content hash."""
    return CheckConstraint(
        f"id = '{prefix}' || substr(content_hash, 1, {_ID_DIGITS})", name="id_is_of_the_content"
    )


def id_of_moment(prefix: str) -> CheckConstraint:
    """Return the check that an id is the prefix and a ULID."""
    length = len(prefix) + _ULID
    return CheckConstraint(
        f"id GLOB '{prefix}*' AND length(id) = {length}", name="id_is_of_the_moment"
    )


T = TypeVar("T")

#: Values bound to one statement: SQLite takes some 32,000, and a long list costs time to compile.
BOUND = 1_000


def chunks(items: Iterable[T]) -> Iterator[list[T]]:
    """Yield the items in lists of at most `BOUND`; nothing for no items."""
    left = iter(items)
    while found := list(islice(left, BOUND)):
        yield found
