"""Links: how principles stand to one another, one row for each pair.

Every function takes the connection of a transaction it is part of.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from cortex_actors.domain.insight import Decider
from cortex_actors.domain.principle import Link, LinkType
from cortex_actors.storage.ledger.connection import driver_of
from cortex_actors.storage.tables.columns import given_text, stored_text

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Collection, Iterable

    from sqlalchemy import Connection

_COLUMNS = "source_id, target_id, type, strength, decided_by, reason"

#: Links with one of those ends; asked as two, because for OR SQLite may walk all links there are.
_OF = (
    f"SELECT {_COLUMNS} FROM principle_links"  # noqa: S608 - names above
    " WHERE source_id IN (SELECT value FROM json_each(?1))"
    f" UNION SELECT {_COLUMNS} FROM principle_links"
    " WHERE target_id IN (SELECT value FROM json_each(?1))"
)

#: A link to a principle that has gone meanwhile is not written.
_INSERT = (
    f"INSERT INTO principle_links ({_COLUMNS}, linked_at) SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7"  # noqa: S608 - names above
    " WHERE EXISTS (SELECT 1 FROM principles WHERE id = ?1)"
    " AND EXISTS (SELECT 1 FROM principles WHERE id = ?2)"
    " ON CONFLICT (source_id, target_id, type) DO UPDATE SET strength = excluded.strength,"
    " decided_by = excluded.decided_by, reason = excluded.reason"
)

_DELETE = "DELETE FROM principle_links WHERE source_id = ? AND target_id = ? AND type = ?"

#: Whoever loses a neighbour may have another one now.
_DUE = (
    "UPDATE principles SET linked = NULL WHERE id IN ("
    "SELECT target_id FROM principle_links WHERE source_id IN (SELECT value FROM json_each(?1))"
    " UNION"
    " SELECT source_id FROM principle_links WHERE target_id IN (SELECT value FROM json_each(?1)))"
)
_CUT = (
    "DELETE FROM principle_links WHERE source_id IN (SELECT value FROM json_each(?1))",
    "DELETE FROM principle_links WHERE target_id IN (SELECT value FROM json_each(?1))",
)


def of(connection: Connection, ids: Iterable[str]) -> dict[str, list[Link]]:
    """Return the links of each of those principles, told from it, the strongest first.

    Principles without a link are left out.
    """
    wanted = set(ids)
    found: dict[str, list[Link]] = {}
    for each in touching(connection, wanted):
        for end in wanted.intersection(each.pair):
            found.setdefault(end, []).append(each.seen_from(end))
    for end, some in found.items():
        some.sort(key=lambda each, end=end: (-each.strength, each.other(end)))  # type: ignore[misc]
    return found


def touching(connection: Connection, ids: Collection[str]) -> list[Link]:
    """Return the links with one of those ends, as they are kept, in order."""
    rows = driver_of(connection).execute(_OF, (json.dumps(sorted(ids)),))
    return sorted((_link(row) for row in rows), key=lambda each: (each.pair, each.type))


def opposed(connection: Connection) -> list[tuple[str, str]]:
    """Return the pairs of principles that contradict each other, in order."""
    query = "SELECT source_id, target_id FROM principle_links WHERE type = ? ORDER BY 1, 2"
    found = driver_of(connection).execute(query, (str(LinkType.CONTRADICTS),))
    return [(str(source), str(target)) for source, target in found]


def everything(connection: Connection) -> list[Link]:
    """Return all links, as they are kept, in order."""
    rows = driver_of(connection).execute(f"SELECT {_COLUMNS} FROM principle_links")  # noqa: S608 - names above
    return sorted((_link(row) for row in rows), key=lambda each: (each.pair, each.type))


def replace(
    connection: Connection, gone: Collection[Link], found: Collection[Link], *, at: int
) -> None:
    """Delete links and write others; one that was there keeps the time at which it was drawn.

    A link with an end that is no principle any more is left out.
    """
    driver = driver_of(connection)
    driver.executemany(_DELETE, [_key(each) for each in gone])
    driver.executemany(_INSERT, [(*_key(each), *_rest(each), at) for each in found])


def cut(connection: Connection, ids: Collection[str]) -> None:
    """Delete the links of principles, and have those that lose one linked anew."""
    driver, asked = driver_of(connection), (json.dumps(sorted(ids)),)
    driver.execute(_DUE, asked)
    for statement in _CUT:
        driver.execute(statement, asked)


def note(connection: Connection, drawn: Iterable[tuple[str, bytes]]) -> None:
    """Write down of what the links of principles were drawn: (id, digest)."""
    driver_of(connection).executemany(
        "UPDATE principles SET linked = ?2 WHERE id = ?1", list(drawn)
    )


def _key(link: Link) -> tuple[str, str, str]:
    """Return what names a link, as it is kept."""
    kept = link.kept()
    return kept.source_id, kept.target_id, str(kept.type)


def _rest(link: Link) -> tuple[float, str, str | bytes | None]:
    """Return what else is kept of a link."""
    return link.strength, str(link.decided_by), stored_text(link.reason)


def _link(row: sqlite3.Row | tuple[Any, ...]) -> Link:
    """Return a row as a link."""
    source, target, kind, strength, decider, reason = row
    return Link(
        source, target, LinkType(kind), strength, Decider(decider), given_text(reason) or ""
    )
